/**
 * A cell of eight slots; two groups of weight 500 and 50 each want all of them
 * (docs/rules/fairshare.md#required-behaviour). The test has a stack of its own, because shares can be measured only
 * when no other request comes. It measures slots held, not requests served: the number of requests that pass through a
 * slot depends on how long each one takes, which is not guaranteed.
 */
import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import type { Stack } from "../../infra/local/stack.ts";
import type { FairshareLive } from "../../shared/schema/load.ts";
import { Gateway, type Minted } from "../harness/gateway.ts";
import { startTestStack } from "../harness/test-stack.ts";
import { startTestUpstream, type TestUpstream } from "../harness/test-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";

const SLOTS = 8;
/** Enough that both groups always have waiting requests, however slowly answered clients send the next one. */
const CLIENTS_OF_EACH = 32;
const RUN_MS = 15_000;

let stack: Stack;
let upstream: TestUpstream;

beforeAll(async () => {
  upstream = await startTestUpstream();
});
afterEach(async () => {
  await stack.stop();
});
afterAll(async () => {
  await upstream.close();
});

it.each([1, 3])(
  "is shared 7 to 1, always full and never more, and no request fails: %i Worker processes",
  async (workers) => {
    const env = { GATEWAY_GLOBAL_MAX_IN_FLIGHT: String(SLOTS), GATEWAY_WORKERS: String(workers) };
    stack = await startTestStack(env);
    const gateway = new Gateway(stack);
    const mark = `mark-${randomUUID()}`;
    const tenants: Minted[] = [];
    for (const weight of [500, 50]) {
      const minted = await gateway.mint(upstream.url, "delay=150");
      const name = `group-${weight}`;
      await gateway.must("POST", "/fairshare/groups", { name, weight });
      await gateway.must("PATCH", `/tenants/${minted.tenant.id}/group`, { fairshare_group: name });
      tenants.push(minted);
    }
    let running = true;
    const others: number[] = [];
    const client = async (minted: Minted): Promise<void> => {
      while (running) {
        const response = await gateway.chat(minted, {
          body: { messages: [{ role: "user", content: `hello ${mark}` }], max_tokens: 20 },
        });
        await response.text();
        if (response.status !== 200) others.push(response.status);
      }
    };
    const clients = tenants.flatMap((minted) =>
      Array.from({ length: CLIENTS_OF_EACH }, async () => await client(minted)),
    );
    const live = async (): Promise<FairshareLive> => await gateway.must<FairshareLive>("GET", "/fairshare/live");
    // Measured from here on. While clients are still arriving, a group is lent the slots that the other does not use yet,
    // and keeps them until those requests have ended.
    await waitFor(
      live,
      ({ global_in_flight, global_queued, groups }) =>
        global_in_flight + global_queued > 2 * CLIENTS_OF_EACH - SLOTS &&
        groups.every(({ in_flight, slot_cap }) => in_flight <= slot_cap),
    );
    const seen: FairshareLive[] = [];
    const endMs = Date.now() + RUN_MS;
    while (Date.now() < endMs) seen.push(await live());
    running = false;
    await Promise.all(clients);

    const mean = (slots: (at: FairshareLive) => number): number =>
      seen.reduce((sum, at) => sum + slots(at), 0) / seen.length;
    const [heavy = 0, light = 0] = ["group-500", "group-50"].map((name) =>
      mean(({ groups }) => groups.find((group) => group.name === name)?.in_flight ?? 0),
    );
    expect(others).toEqual([]);
    expect(upstream.peak(mark)).toBe(SLOTS);
    expect(mean(({ global_in_flight }) => global_in_flight) / SLOTS).toBeGreaterThanOrEqual(0.95);
    expect(heavy / 7).toBeGreaterThanOrEqual(0.95);
    expect(heavy / 7).toBeLessThanOrEqual(1.05);
    expect(light).toBeGreaterThanOrEqual(0.95);
    expect(light).toBeLessThanOrEqual(1.05);
  },
);
