/**
 * The runtime ends the context of one request alone, as at a limit of the platform, in an isolate that continues: what the request
 * held comes back, its row is there, and nobody else notices (docs/rules/admission.md#membership).
 *
 * @module-tag long
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Stack } from "../../infra/local/stack.ts";
import { AccountedCalls } from "../harness/accounted-calls.ts";
import { END_CONTEXT_AFTER_HEADER } from "../harness/ended-contexts.ts";
import { Gateway } from "../harness/gateway.ts";
import { startedAgain } from "../harness/started-again.ts";
import { startTestStack } from "../harness/test-stack.ts";
import { startTestUpstream } from "../harness/test-upstream.ts";
import { useStarted } from "../harness/use-started.ts";
import { waitFor } from "../harness/wait-for.ts";

const ENDED = { [END_CONTEXT_AFTER_HEADER]: "1500" };

const upstream = useStarted(startTestUpstream);

describe.each([
  { where: "beside others in its isolate", workers: 1 },
  { where: "alone in its isolate", workers: 2 },
])("a context that ends $where", ({ where, workers }) => {
  let stack: Stack;
  let gateway: Gateway;
  beforeAll(async () => {
    stack = await startTestStack(
      { GATEWAY_WORKERS: String(workers) },
      { workerEntry: "test/objects/ended-contexts/worker.ts" },
    );
    gateway = new Gateway(stack);
  });
  afterAll(async () => await stack.stop());

  const [own, other] = [0, workers - 1];
  const through = (at: number): Gateway => new Gateway({ ...stack, proxyUrl: stack.runtimeUrls()[at] ?? "" });

  async function quiet(): Promise<void> {
    await waitFor(
      async () => await gateway.stats(),
      ({ in_flight, queued }) => in_flight === 0 && queued === 0,
    );
  }

  it.each([
    ["streams its answer", "chunks=1000,pace=100,fails=1", false],
    ["waits for its upstream", "hang,fails=1", false],
    ["waits in the session of a request that has ended", "hang,fails=1", true],
  ])("gives its slot to the next, and leaves one row, while it %s", async (what, behaviour, followsOne) => {
    const minted = await gateway.mint(upstream().url, behaviour, { max_in_flight: 1 });
    const beside = {
      ...minted,
      model: (await gateway.mint(upstream().url, "chunks=120,pace=100")).model,
      mark: "beside",
    };
    const calls = new AccountedCalls();
    // The first request in an isolate has the session of all others.
    if (followsOne) await through(own).chat(await gateway.mint(upstream().url));
    const ended = calls.send(through(own), minted, { stream: true, headers: ENDED });
    await waitFor(
      () => upstream().seen(minted.mark).length,
      (seen) => seen === 1,
    );
    const [waiter, stream] = [calls.send(through(other), minted), calls.send(through(other), beside, { stream: true })];
    const { isWhole, untilMs } = await ended;
    expect(isWhole).toBe(false);
    const served = await waiter;
    expect({ waiter: served.isWhole, stream: (await stream).isWhole }).toEqual({ waiter: true, stream: true });
    expect(upstream().seen(minted.mark)[0]?.cutOff).toBe(true);
    await quiet();
    const servedAfterMs = served.untilMs - untilMs;
    await calls.account(minted, { fault: `context ended ${where}: ${what}`, gateway, clients: 3, servedAfterMs });
    const [row] = (await gateway.allRows(minted.tenant.id)).filter(({ status_code }) => status_code === 499);
    expect(row?.total_tokens).toBe(row?.estimated_tokens);
  });

  it("gives its place to the next, and leaves one row, while it waits in the queue", async () => {
    const minted = await gateway.mint(upstream().url, "chunks=30,pace=100,fails=1", { max_in_flight: 1 });
    const calls = new AccountedCalls();
    const isQueued = async (queued: number): Promise<void> => {
      await waitFor(
        async () => await gateway.loadOf(minted.model.model_name),
        (load) => load.inFlight === 1 && load.queued === queued,
      );
    };
    const holder = calls.send(through(other), minted, { stream: true });
    await isQueued(0);
    const ended = calls.send(through(own), minted, { headers: ENDED });
    await isQueued(1);
    const next = calls.send(through(other), minted);
    const [{ untilMs }, served] = [await ended, await next];
    expect({ holder: (await holder).isWhole, next: served.isWhole }).toEqual({ holder: true, next: true });
    expect(upstream().seen(minted.mark)).toHaveLength(2);
    await quiet();
    const servedAfterMs = served.untilMs - untilMs;
    await calls.account(minted, { fault: `context ended ${where}: queued`, gateway, clients: 3, servedAfterMs });
  });

  it.runIf(workers > 1)("leaves the row of a refusal to the others when the objects are lost with it", async () => {
    const [refused, served] = [await gateway.mint(upstream().url), await gateway.mint(upstream().url)];
    await gateway.must("PATCH", `/tenants/${refused.tenant.id}/status`, { status: "suspended" });
    const objects = stack.parts.get("workerd");
    const pid = objects?.pid ?? 0;
    process.kill(pid, "SIGSTOP");
    const answer = await through(own).chat(refused, { headers: ENDED });
    // Began later, so that both contexts have ended when it is cut off.
    const later = await new AccountedCalls().send(through(own), served, { headers: ENDED });
    process.kill(pid, "SIGKILL");
    await startedAgain(objects, pid);
    const next = await through(own).chat(served);
    expect({ answer: answer.status, later: later.isWhole, next: next.status }).toEqual({
      answer: 403,
      later: false,
      next: 200,
    });
    const rows = await waitFor(
      async () => await gateway.allRows(refused.tenant.id),
      (found) => found.length > 0,
    );
    expect(rows).toMatchObject([{ request_id: answer.headers.get("x-gateway-request-id"), status_code: 403 }]);
  });
});
