/**
 * What ends a realtime session from the gateway's side (docs/rules/realtime.md#limits-of-a-session,
 * docs/rules/realtime.md#back-pressure): its time, a client that does not read, a stop.
 *
 * @module-tag check
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Stack } from "../../infra/local/stack.ts";
import { Gateway, type Minted } from "../harness/gateway.ts";
import { openRealtime } from "../harness/realtime-client.ts";
import { startRealtimeUpstream } from "../harness/realtime-upstream.ts";
import { startTestStack } from "../harness/test-stack.ts";
import { useStarted } from "../harness/use-started.ts";

const upstream = useStarted(startRealtimeUpstream);
let stack: Stack;
let gateway: Gateway;

beforeAll(async () => {
  stack = await startTestStack({ GATEWAY_REALTIME_MAX_SECS: "15", GATEWAY_DRAIN_SECS: "1" });
  gateway = new Gateway(stack);
});
afterAll(async () => await stack.stop());

async function rowOf(minted: Minted, requestId: string) {
  const { status_code: status, error_code: error } = await gateway.row(minted.tenant.id, requestId);
  return { status, error };
}

it("a session ends when its time is over, and says so", async () => {
  const minted = await gateway.mint(upstream().url, "limits-time");
  const client = await openRealtime(stack.proxyUrl, minted);
  expect(await client.end()).toEqual({ code: 1001, reason: "realtime_session_expired" });
  expect(client.of("error")).toMatchObject([{ error: { code: "realtime_session_expired" } }]);
  expect(await rowOf(minted, client.requestId)).toEqual({ status: 101, error: "realtime_session_expired" });
});

it("a session ends when its client does not read what comes for it", async () => {
  const minted = await gateway.mint(upstream().url, "limits-backlog,floods");
  const client = await openRealtime(stack.proxyUrl, minted);
  client.socket.pause();
  expect(await rowOf(minted, client.requestId)).toEqual({ status: 101, error: "realtime_backlog" });
  client.socket.terminate();
});

it("a session ends with a stop, at the end of the drain", async () => {
  const minted = await gateway.mint(upstream().url, "limits-stop");
  const client = await openRealtime(stack.proxyUrl, minted);
  await client.got("session.created");
  const stopped = stack.stop();
  expect(await client.end()).toEqual({ code: 1012, reason: "gateway_stopping" });
  await stopped;
});
