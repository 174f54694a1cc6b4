/**
 * A runtime that stands still for a while, or gets next to no processor time, and continues: nobody is taken to be gone, so each
 * request that was answered has the row of its answer (docs/rules/admission.md#membership).
 *
 * @module-tag check
 */

import { afterAll, beforeAll, expect, it } from "vitest";
import type { Stack } from "../../infra/local/stack.ts";
import { sleep } from "../../shared/time/sleep.ts";
import { Gateway } from "../harness/gateway.ts";
import { startLoad } from "../harness/ledger-load.ts";
import { startTestStack } from "../harness/test-stack.ts";
import { startTestUpstream, type TestUpstream } from "../harness/test-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";

const CLIENTS = 32;
const ENOUGH = 100;
/** The launcher must not take the runtime to be hung. */
const PATIENT = { graceMs: 0, everyMs: 1_000, answerWithinMs: 60_000, checks: 60 };

let upstream: TestUpstream;
let stack: Stack;
let gateway: Gateway;

beforeAll(async () => {
  upstream = await startTestUpstream();
  stack = await startTestStack({}, { liveness: PATIENT });
  gateway = new Gateway(stack);
});
afterAll(async () => {
  await stack.stop();
  await upstream.close();
});

/** It is stopped three times, each time with other requests under way. */
async function stopsAndGoesOn(pid: number): Promise<void> {
  for (let pause = 0; pause < 3; pause += 1) {
    process.kill(pid, "SIGSTOP");
    await sleep(3_500);
    process.kill(pid, "SIGCONT");
    await sleep(700);
  }
}

/** It runs for 2 of every 100 ms. */
async function starves(pid: number): Promise<void> {
  for (let pause = 0; pause < 100; pause += 1) {
    process.kill(pid, "SIGSTOP");
    await sleep(98);
    process.kill(pid, "SIGCONT");
    await sleep(2);
  }
}

it.each([
  ["stands still for 3.5 s", stopsAndGoesOn],
  ["gets 2 % of a core", starves],
])("leaves the row of its answer for each answered request when it %s", async (_, fault) => {
  const minted = await gateway.mint(upstream.url);
  const load = startLoad(gateway, minted, CLIENTS);
  await load.more(ENOUGH);
  await fault(stack.parts.get("workerd")?.pid as number);
  await load.more(ENOUGH);
  const answered = (await load.stop()).map(({ requestId }) => requestId);
  const rows = await waitFor(
    async () => new Map((await gateway.allRows(minted.tenant.id)).map((row) => [row.request_id, row])),
    (found) => answered.every((id) => found.has(id)),
  );
  // A call that the upstream did not wait for may have failed: its row is not looked at here.
  expect(answered.map((id) => rows.get(id)).filter((row) => row?.status_code !== 200)).toEqual([]);
});
