/**
 * The operations of a request whose records the gateway has in memory: its part of an exchange with the Cell, and no
 * read of the key-value store (docs/rules/freshness.md#no-store-on-the-path, docs/rules/admission.md#exchanges). They
 * are counted on a stack of its own.
 *
 * @module-tag check
 */

import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { startRedisBridge } from "../../infra/local/redis/bridge.ts";
import { memoryBackend } from "../../infra/local/redis/memory-backend.ts";
import type { Stack } from "../../infra/local/stack.ts";
import { storeKeys } from "../../shared/records.ts";
import { lessOf, type Operations } from "../bench/counting/operations.ts";
import { Gateway, type Minted } from "../harness/gateway.ts";
import { startTestStack } from "../harness/test-stack.ts";
import { startTestUpstream, type TestUpstream } from "../harness/test-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";

const REQUESTS = 60;
const AT_ONCE = 6;
/** The prefixes of hot copies in the store. */
const COPIES = [storeKeys.key(""), storeKeys.model(""), "settings:"];
/** The calls that a request may make to its Cell. */
const ASKED_OF_CELL = ["openSession", "record", "settleOrphan", "staleAmong", "level"].map((name) => `Cell.${name}`);
/** Requests that take seconds, all at once. */
const LONG = 40;
const LONG_MS = 3_000;

let reads = 0;
let upstream: TestUpstream;
let bridge: Awaited<ReturnType<typeof startRedisBridge>> | undefined;
let stack: Stack | undefined;
let gateway: Gateway;
let minted: Minted;

async function start(): Promise<void> {
  const memory = memoryBackend();
  const call: typeof memory.call = async (command) => {
    const [name, ...keys] = command;
    const isCopy = (key: string | undefined): boolean => COPIES.some((prefix) => key?.startsWith(prefix));
    if (/^m?get$/i.test(name) && keys.some(isCopy)) reads += 1;
    return await memory.call(command);
  };
  bridge = await startRedisBridge({ backend: { ...memory, call }, token: "token" });
  stack = await startTestStack(
    {
      GATEWAY_REDIS_URL: bridge.url,
      GATEWAY_REDIS_TOKEN: "token",
    },
    { workerEntry: "test/bench/counting/worker.ts" },
  );
  gateway = new Gateway(stack);
  minted = await gateway.mint(upstream.url);
  const tenant = `/tenants/${minted.tenant.id}`;
  await gateway.must("PUT", `${tenant}/quota`, { tokens_per_minute: 1e9, max_in_flight: 1000 });
  await gateway.must("PATCH", `${tenant}/budget`, { budget_tokens: 1e12, budget_period: "monthly" });
}

beforeAll(async () => {
  upstream = await startTestUpstream();
});
afterEach(async () => {
  await stack?.stop();
  await bridge?.close();
});
afterAll(async () => await upstream.close());

async function send(requests: number): Promise<void> {
  const one = async (): Promise<void> => {
    const response = await gateway.chat(minted);
    expect({ status: response.status, body: await response.text() }).toEqual({
      status: 200,
      body: expect.stringContaining("choices"),
    });
  };
  for (let sent = 0; sent < requests; sent += AT_ONCE) await Promise.all(Array.from({ length: AT_ONCE }, one));
}

async function operations(): Promise<Operations> {
  return (await (await fetch(`${gateway.proxyUrl}/bench/operations`)).json()) as Operations;
}

/** The calls that requests made to the Cell. */
function askedOf(objectCalls: Operations["objectCalls"]): Record<string, number> {
  return Object.fromEntries(Object.entries(objectCalls).filter(([name]) => ASKED_OF_CELL.includes(name)));
}

it("warm requests use exchanges with their Cell, without calls of their own or store reads", async () => {
  await start();
  await send(AT_ONCE);
  expect(reads).toBeGreaterThan(0); // a request with empty memory does read
  const round = async (): Promise<Record<string, number>> => {
    const [before, readsBefore] = [await operations(), reads];
    await send(REQUESTS);
    const { objectCalls } = lessOf(await operations(), before);
    return { ...askedOf(objectCalls), reads: reads - readsBefore };
  };
  // A session lasts some seconds. A request that finds no tokens in the lease pool waits for a lease, and the control service,
  // which has just started, calls everything old once.
  await waitFor(
    round,
    ({ "Cell.openSession": sessions = 0, ...others }) =>
      sessions * AT_ONCE < REQUESTS && Object.values(others).every((count) => count === 0),
  );
});

it("long requests that run at once make far fewer calls to their Cell than one each", async () => {
  await start();
  const slow = await gateway.mint(upstream.url, `delay=${LONG_MS}`);
  const round = async (): Promise<number> => {
    const before = await operations();
    const statuses = await Promise.all(Array.from({ length: LONG }, async () => (await gateway.chat(slow)).status));
    expect(new Set(statuses)).toEqual(new Set([200]));
    const { objectCalls, sessionCalls } = lessOf(await operations(), before);
    return Object.values({ ...askedOf(objectCalls), ...sessionCalls }).reduce((sum, count) => sum + count, 0);
  };
  // Requests whose records are not in memory yet come one after another.
  await waitFor(round, (calls) => calls > 0 && calls < LONG / 2);
});
