/**
 * A Worker process, one of three, or the process with the objects is killed or stands still under load: no row is lost, doubled or
 * wrong, all slots come back, and budgets are the sum of the rows (docs/rules/admission.md#membership).
 *
 * @module-tag long
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Stack } from "../../infra/local/stack.ts";
import { sleep } from "../../shared/time/sleep.ts";
import { Gateway } from "../harness/gateway.ts";
import { LOSSES, loseProcess, pauseFor } from "../harness/process-loss.ts";
import { startedAgain } from "../harness/started-again.ts";
import { startTestStack } from "../harness/test-stack.ts";
import { startTestUpstream, type TestUpstream } from "../harness/test-upstream.ts";

const BETWEEN_MS = 700;

let upstream: TestUpstream;

beforeAll(async () => {
  upstream = await startTestUpstream();
});
afterAll(async () => {
  await upstream.close();
});

describe.each([
  { name: "the only Worker process", workers: 1, part: "workerd" },
  { name: "one of three Worker processes", workers: 3, part: "worker-1" },
  { name: "the object process", workers: 3, part: "workerd" },
])("$name", ({ name, workers, part }) => {
  let stack: Stack;
  let gateway: Gateway;
  beforeAll(async () => {
    stack = await startTestStack({ GATEWAY_WORKERS: String(workers) });
    gateway = new Gateway(stack);
  });
  afterAll(async () => await stack.stop());

  it.each(LOSSES)("%s: each answered call has its true row, and nothing stays held", async (what, pauseMs) => {
    const byPort = new Map<string, Gateway>();
    const gateways = (): readonly Gateway[] =>
      stack.runtimeUrls().map((proxyUrl) => {
        const one = byPort.get(proxyUrl) ?? new Gateway({ ...stack, proxyUrl });
        byPort.set(proxyUrl, one);
        return one;
      });
    // Each pause meets other calls under way.
    const pauses = pauseMs === 10_000 ? 1 : 3;
    const pid = stack.parts.get(part)?.pid as number;
    const isObjects = workers > 1 && part === "workerd";
    const { others, own, hasSlotBack } = await loseProcess({
      fault: `${name} ${what}`,
      upstream,
      pausedMs: pauseMs === null ? null : pauses * (pauseMs + BETWEEN_MS),
      gateways,
      lost: isObjects ? [] : gateways().slice(0, 1),
      ends: () => pauseMs === null,
      losesCell: workers === 1,
      reader: () => gateway,
      how: async () => {
        for (let pause = 0; pauseMs !== null && pause < pauses; pause += 1) {
          await pauseFor(pauseMs, (signal) => process.kill(pid, signal));
          await sleep(BETWEEN_MS);
        }
        if (pauseMs !== null) return;
        process.kill(pid, "SIGKILL");
        await startedAgain(stack.parts.get(part), pid);
      },
    });
    // A Cell that is away refuses those that ask, and after 5 s those that wait (docs/rules/admission.md#reset).
    const refused = isObjects && pauseMs !== 1_000 && pauseMs !== 3_500 ? [503] : [];
    expect(others.filter((status) => !refused.includes(status))).toEqual([]);
    if (pauseMs !== null) expect(own).toEqual([]);
    else if (part === "worker-1") expect(hasSlotBack).toBe(true);
  });
});
