/**
 * Parts that hang and do not end: the launcher notices it, ends them and starts them again; nothing is lost
 * (docs/rules/local-stack.md#supervision).
 */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { processStart } from "../../control/db/process-start.mjs";
import type { Stack } from "../../infra/local/stack.ts";
import { Gateway, type Minted } from "../harness/gateway.ts";
import { startedAgain } from "../harness/started-again.ts";
import { startTestStack } from "../harness/test-stack.ts";
import { startTestUpstream, type TestUpstream } from "../harness/test-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";

let stack: Stack;
let upstream: TestUpstream;
let gateway: Gateway;
let minted: Minted;
const log: string[] = [];

beforeAll(async () => {
  upstream = await startTestUpstream();
  stack = await startTestStack(
    {},
    { log: (line) => void log.push(line), liveness: { graceMs: 0, everyMs: 200, answerWithinMs: 1_000, checks: 5 } },
  );
  gateway = new Gateway(stack);
  minted = await gateway.mint(upstream.url, "plain");
});
afterAll(async () => {
  await stack.stop();
  await upstream.close();
});

describe("a part that is alive and hangs", () => {
  const comesBack = async (name: string): Promise<void> => {
    const part = stack.parts.get(name);
    const pid = part?.pid as number;
    process.kill(pid, "SIGSTOP");
    await startedAgain(part, pid);
    expect(processStart(pid)).toBeUndefined();
    expect(log.filter((line) => line.startsWith(`stack | ${name} did not answer for`))).toHaveLength(1);
    const answer = await gateway.chat(minted);
    expect(answer.status).toBe(200);
    await gateway.row(minted.tenant.id, answer.headers.get("x-gateway-request-id"));
  };
  it("is started again: workerd", async () => await comesBack("workerd"));
  it.each(["control", "clickhouse"])("is started again: %s", { tags: ["long"] }, comesBack);

  it("ends the requests that wait for it, and no slot stays taken", { tags: ["long"] }, async () => {
    const held = await gateway.mint(upstream.url, "hang");
    const cut = gateway.chat(held).catch(() => null);
    await waitFor(
      async () => await gateway.loadOf(held.model.model_name),
      ({ inFlight }) => inFlight === 1,
    );
    const part = stack.parts.get("workerd");
    const pid = part?.pid as number;
    process.kill(pid, "SIGSTOP");
    await cut;
    // Its connections end before the launcher knows of its end.
    await startedAgain(part, pid);
    await waitFor(
      async () => await gateway.loadOf(held.model.model_name).catch(() => null),
      (load) => load?.inFlight === 0,
    );
    expect((await gateway.chat(minted)).status).toBe(200);
  });
});
