/**
 * Changes that a cell or the key-value store cannot take: the answer of the write says that it is pending, and the
 * outbox tries again until every cell and the store have the newest record (docs/rules/freshness.md#write-path).
 * @module-tag check
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startRedisBridge } from "../../infra/local/redis/bridge.ts";
import { memoryBackend } from "../../infra/local/redis/memory-backend.ts";
import { type Stack, startStack } from "../../infra/local/stack.ts";
import { Gateway, type Minted } from "../harness/gateway.ts";
import { stackEnv } from "../harness/global-setup.ts";
import { ownPort } from "../harness/own-port.ts";
import { startedAgain } from "../harness/started-again.ts";
import { startTestUpstream, type TestUpstream } from "../harness/test-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";

const backend = memoryBackend();
const folder = mkdtempSync(join(tmpdir(), "gateway-outbox-"));
let upstream: TestUpstream;
let bridge: Awaited<ReturnType<typeof startRedisBridge>>;
let stack: Stack;
let gateway: Gateway;

beforeAll(async () => {
  upstream = await startTestUpstream();
  bridge = await startRedisBridge({ backend, token: "token", port: await ownPort() });
  stack = await startStack({
    env: stackEnv(folder, { GATEWAY_REDIS_URL: bridge.url, GATEWAY_REDIS_TOKEN: "token" }),
  });
  gateway = new Gateway(stack);
});
afterAll(async () => {
  await stack.stop();
  await bridge.close();
  await upstream.close();
  rmSync(folder, { recursive: true, force: true });
});

async function statusOf(minted: Minted): Promise<number> {
  const response = await gateway.chat(minted);
  await response.text();
  return response.status;
}

/** Makes a write that cannot be confirmed. */
async function pending(method: string, path: string, body: object): Promise<void> {
  const response = await gateway.admin(method, path, body);
  await response.text();
  expect({ status: response.status, "x-gateway-sync": response.headers.get("x-gateway-sync") }).toEqual({
    status: 200,
    "x-gateway-sync": "pending",
  });
}

/** Waits until every change has been confirmed by the store and every cell. */
async function drained(): Promise<void> {
  await waitFor(
    async () => {
      const text = await (await fetch(`${stack.metricsUrl}/metrics`)).text();
      return /^gateway_outbox_pending (\d+)/m.exec(text)?.[1];
    },
    (count) => count === "0",
  );
}

describe("a cell that was killed", () => {
  it("keeps its capacity, and gets the changes of the meantime when it is back", async () => {
    const minted = await gateway.mint(upstream.url);
    expect(await statusOf(minted)).toBe(200);
    await gateway.must("PUT", "/capacity", { max_in_flight: 3 });
    const pid = stack.parts.get("workerd")?.pid ?? 0;
    expect(pid).toBeGreaterThan(0);
    process.kill(pid, "SIGKILL");
    await pending("PUT", `/keys/${minted.key.id}/disabled`, { disabled: true });
    await startedAgain(stack.parts.get("workerd"), pid);
    await drained();
    expect(await statusOf(minted)).toBe(403);
    expect(await gateway.must("GET", "/capacity")).toEqual({ max_in_flight: 3, cell: "local" });
    await gateway.must("PUT", "/capacity", { max_in_flight: null });
    await gateway.must("PUT", `/keys/${minted.key.id}/disabled`, { disabled: false });
    expect(await statusOf(minted)).toBe(200);
  });
});

describe("a store that is down", () => {
  it("gets the newest of several changes of one record, never an earlier one", async () => {
    const minted = await gateway.mint(upstream.url);
    expect(await statusOf(minted)).toBe(200);
    const port = Number(new URL(bridge.url).port);
    await bridge.close();
    const { api_base, id } = minted.model;
    for (const upstream_model of ["status=418", "status=409", "status=404"])
      await pending("PUT", `/models/${id}`, { upstream_model, api_base });
    expect(await statusOf(minted)).toBe(503);
    bridge = await startRedisBridge({ backend, token: "token", port });
    const seen = new Set<number>();
    await waitFor(
      async () => {
        const status = await statusOf(minted);
        seen.add(status);
        return status;
      },
      (status) => status === 404,
    );
    expect([...seen].filter((status) => status !== 503)).toEqual([404]);
    await drained();
    await gateway.must("PUT", `/models/${id}`, { upstream_model: "plain", api_base });
    expect(await statusOf(minted)).toBe(200);
  });
});
