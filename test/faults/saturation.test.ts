/**
 * A cell of eight slots that two groups of weight 500 and 50 both want all of (decisions §20.5), on a stack of its own: what
 * a slot is worth is seen only where nobody else asks.
 */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { type Stack, startStack } from "../../infra/local/stack.ts";
import { Gateway, type Minted } from "../harness/gateway.ts";
import { stackEnv } from "../harness/global-setup.ts";
import { startTestUpstream, type TestUpstream } from "../harness/test-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";

const SLOTS = 8;
const CLIENTS_OF_EACH = 16;
const RUN_MS = 15_000;

let folder: string;
let stack: Stack;
let upstream: TestUpstream;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "gateway-saturation-"));
  upstream = await startTestUpstream();
});
afterEach(async () => {
  await stack.stop();
});
afterAll(async () => {
  await upstream.close();
  rmSync(folder, { recursive: true, force: true });
});

it.each([1, 3])(
  "is shared 7 to 1, always full and never more, and fails nobody: %i Worker processes",
  async (workers) => {
    const env = { GATEWAY_GLOBAL_MAX_IN_FLIGHT: String(SLOTS), GATEWAY_WORKERS: String(workers) };
    stack = await startStack({ env: stackEnv(join(folder, String(workers)), env) });
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
    const completions = tenants.map(() => 0);
    const others: number[] = [];
    const client = async (minted: Minted, at: number): Promise<void> => {
      while (running) {
        const response = await gateway.chat(minted, {
          body: { messages: [{ role: "user", content: `hello ${mark}` }], max_tokens: 20 },
        });
        await response.text();
        if (response.status !== 200) others.push(response.status);
        else if (running) completions[at] = (completions[at] ?? 0) + 1;
      }
    };
    const clients = tenants.flatMap((minted, at) =>
      Array.from({ length: CLIENTS_OF_EACH }, async () => await client(minted, at)),
    );
    // from here on: while clients are still arriving, a group has what the other does not ask for yet
    await waitFor(
      async () => await gateway.stats(),
      ({ in_flight, queued }) => in_flight + queued > 2 * CLIENTS_OF_EACH - SLOTS,
    );
    completions.fill(0);
    const held: number[] = [];
    const endMs = Date.now() + RUN_MS;
    while (Date.now() < endMs) held.push((await gateway.stats()).in_flight);
    running = false;
    await Promise.all(clients);

    const [heavy = 0, light = 0] = completions;
    expect(others).toEqual([]);
    expect(upstream.peak(mark)).toBe(SLOTS);
    expect(held.reduce((sum, slots) => sum + slots, 0) / held.length / SLOTS).toBeGreaterThanOrEqual(0.95);
    expect(heavy / light).toBeGreaterThanOrEqual(6.3);
    expect(heavy / light).toBeLessThanOrEqual(7.7);
  },
);
