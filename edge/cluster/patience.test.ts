import { describe, expect, it } from "vitest";
import { GatewayError } from "../../shared/errors.ts";
import { clustered, untilAborted } from "../../test/harness/edge/clustered.ts";
import { keyOf } from "../../test/harness/edge/pipeline/records.ts";
import { TestPermit, TestPipeline } from "../../test/harness/edge/pipeline/world.ts";
import { waitFor } from "../../test/harness/wait-for.ts";
import { run } from "../pipeline/run.ts";
import type { AdmissionOutcome } from "../ports.ts";

/** A pipeline whose Cell has no owner for `lostFor` calls; its pauses pass at once. */
function betweenOwners(lostFor: number, patienceMs: number) {
  const world = new TestPipeline();
  world.upstream = async () => new Response(null, { status: 404 });
  const client = new AbortController();
  const received = world.received({ signal: client.signal });
  const { admission, clock } = received.ports;
  const seen = {
    client,
    calls: 0,
    asking: false,
    /** The calls that find no owner, in addition to the first ones. */
    failing: new Set<number>(),
    pausesMs: [] as number[],
    nowMs: clock(),
    onPause: () => undefined as unknown,
    /** How the time passes for which a Cell does not answer: it does not, because an answer comes. */
    silence: async (_ms: number, signal: AbortSignal) => await untilAborted(signal),
  };
  const late = { until: null as { readonly promise: Promise<void>; readonly resolve: () => void } | null };
  const waited: (number | null)[] = [];
  const reported: boolean[] = [];
  const cell = {
    ...admission,
    admit: async (request: Parameters<typeof admission.admit>[0]) => {
      seen.calls += 1;
      reported.push(request.again === true);
      waited.push(request.waitedMs);
      seen.asking = true;
      await late.until?.promise;
      seen.asking = false;
      if (seen.calls <= lostFor || seen.failing.has(seen.calls)) throw new GatewayError("scheduler_unavailable");
      return await admission.admit(request);
    },
  };
  const sleep = async (ms: number, signal: AbortSignal): Promise<void> => {
    if (seen.asking) return await seen.silence(ms, signal);
    seen.pausesMs.push(ms);
    seen.nowMs += ms;
    seen.onPause();
  };
  const now = () => seen.nowMs;
  const inCluster = clustered(cell, world, { patienceMs, clock: now, sleep });
  const ports = { ...received.ports, clock: now, admission: patienceMs === 0 ? cell : inCluster };
  const answer = async (): Promise<number> => {
    const response = await run({ ...received, ports });
    await response.text();
    await world.settled();
    return response.status;
  };
  return { world, seen, late, waited, reported, answer };
}

describe("a Cell without an owner", () => {
  it("is waited for, and told how long the request has waited", async () => {
    const { world, seen, waited, reported, answer } = betweenOwners(6, 25_000);
    expect(await answer()).toBe(404);
    expect(world.upstreamCalls).toHaveLength(1);
    expect(seen.pausesMs).toEqual([100, 200, 400, 800, 1_000, 1_000]);
    expect(waited).toEqual([null, 100, 300, 700, 1_500, 2_500, 3_500]);
    // so that the log and the operator learn of it once for each request
    expect(reported).toEqual([false, true, true, true, true, true, true]);
  });

  it("is waited for as long as the patience lasts, and not a millisecond longer", async () => {
    const { world, seen, answer } = betweenOwners(Number.POSITIVE_INFINITY, 2_050);
    expect(await answer()).toBe(503);
    expect(seen.pausesMs).toEqual([100, 200, 400, 800, 550]);
    expect(world.orphans).toMatchObject([{ status_code: 503, admission: "rejected" }]);
  });

  it("is not waited for without patience, and not after the clock was set back", async () => {
    const impatient = betweenOwners(1, 0);
    expect({ status: await impatient.answer(), pausesMs: impatient.seen.pausesMs }).toEqual({
      status: 503,
      pausesMs: [],
    });
    const back = betweenOwners(Number.POSITIVE_INFINITY, 25_000);
    back.seen.onPause = () => (back.seen.nowMs -= 10_000);
    expect({ status: await back.answer(), pausesMs: back.seen.pausesMs }).toEqual({ status: 503, pausesMs: [100] });
  });

  it("is waited for afresh after an owner has answered, however long ago the first was lost", async () => {
    const { world, seen, reported, answer } = betweenOwners(6, 4_000);
    const first = new TestPermit();
    world.answers.push({ verdict: "waiting", permit: first });
    // the second owner lets it wait for half a minute, and is lost like the first: its successor knows of no place
    first.decision = async () => {
      seen.nowMs += 30_000;
      seen.calls = 0;
      return { verdict: "stale", items: [] };
    };
    expect(await answer()).toBe(404);
    expect(seen.pausesMs).toEqual([100, 200, 400, 800, 1_000, 1_000, 100, 200, 400, 800, 1_000, 1_000]);
    const each = [false, true, true, true, true, true, true];
    expect(reported).toEqual(each.concat(each));
    expect(world.permit.settlement?.row).toMatchObject({ status_code: 404 });
  });

  it("gets the row of a client that leaves meanwhile", async () => {
    const { world, seen, answer } = betweenOwners(Number.POSITIVE_INFINITY, 25_000);
    seen.onPause = () => {
      if (seen.pausesMs.length === 3) seen.client.abort();
    };
    expect(await answer()).toBe(499);
    expect(world.orphans).toMatchObject([{ status_code: 499, admission: "queued", queue_wait_ms: 700 }]);
    expect(world.recorded).toEqual([]);
  });

  it("writes one row without its permit when a queued client disconnects or is refused", async () => {
    for (const [leaves, status, admission] of [
      [true, 499, "queued"],
      [false, 503, "rejected"],
    ] as const) {
      const { world, seen, answer } = betweenOwners(6, 250);
      const lost = new TestPermit();
      world.answers.push({ verdict: "waiting", permit: lost });
      seen.calls = 6;
      lost.decision = async () => {
        seen.calls = 0;
        return { verdict: "stale", items: [] };
      };
      if (leaves) seen.onPause = () => seen.client.abort();
      expect(await answer()).toBe(status);
      expect(world.orphans).toMatchObject([{ status_code: status, admission }]);
      expect({ settlement: lost.settlement, recorded: world.recorded }).toEqual({ settlement: null, recorded: [] });
    }
  });

  it("is waited for until patience ends if its owner is silent, whose late grant is not used", async () => {
    const { world, seen, answer, late } = betweenOwners(0, 25_000);
    const silences: number[] = [];
    seen.silence = async (ms) => {
      silences.push(ms);
      seen.nowMs += ms;
    };
    const permit = new TestPermit();
    world.answers.push({ verdict: "granted", grant: { admission: "fast", queueWaitMs: 0, level: null }, permit });
    const until = Promise.withResolvers<void>();
    late.until = until;
    const answered = answer();
    await waitFor(
      () => world.orphans,
      ({ length }) => length > 0,
    );
    expect(world.orphans).toMatchObject([{ status_code: 503, total_ms: 25_000 }]);
    expect({ silences, pausesMs: seen.pausesMs, upstreamCalls: world.upstreamCalls }).toEqual({
      silences: [1_000, 24_000],
      pausesMs: [],
      upstreamCalls: [],
    });
    expect(await answered).toBe(503);
    // the row that is handed in returns a grant that comes after it
    until.resolve();
    await world.settled();
    expect({ rows: world.orphans.length, settlement: permit.settlement, upstreamCalls: world.upstreamCalls }).toEqual({
      rows: 1,
      settlement: null,
      upstreamCalls: [],
    });
  });

  it("is waited for as well by a request that has read its records again", async () => {
    const { world, seen, waited, answer } = betweenOwners(0, 25_000);
    const changed: AdmissionOutcome = { verdict: "stale", items: [{ kind: "key", id: "hash", rev: 9 }] };
    // the first owner calls it stale and is lost, the next one calls it stale again
    world.answers.push(changed, changed);
    seen.failing = new Set([2, 3]);
    expect(await answer()).toBe(404);
    expect({ pausesMs: seen.pausesMs, waited }).toEqual({ pausesMs: [100, 200], waited: [null, null, 100, 300, 300] });
  });

  it("is not asked again when the patience ended by a timer that was early", async () => {
    const { world, seen, answer, late } = betweenOwners(0, 25_000);
    seen.silence = async (ms) => {
      seen.nowMs += ms - 1;
    };
    const until = Promise.withResolvers<void>();
    late.until = until;
    const answered = answer();
    await waitFor(
      () => world.orphans,
      ({ length }) => length > 0,
    );
    expect(world.orphans).toMatchObject([{ status_code: 503 }]);
    expect({ calls: seen.calls, pausesMs: seen.pausesMs }).toEqual({ calls: 1, pausesMs: [] });
    until.resolve();
    expect(await answered).toBe(503);
  });

  it("has a second for the last attempt", async () => {
    const { seen, answer } = betweenOwners(1, 50);
    const silences: number[] = [];
    seen.silence = async (ms, signal) => {
      silences.push(ms);
      await untilAborted(signal);
    };
    expect({ status: await answer(), pausesMs: seen.pausesMs, silences }).toEqual({
      status: 404,
      pausesMs: [50],
      silences: [1_000, 1_000],
    });
  });

  it("gets no request whose key was disabled meanwhile", async () => {
    const { world, seen, answer } = betweenOwners(1, 25_000);
    seen.onPause = () => Object.assign(world, { key: keyOf({ disabled: true }) });
    expect({ status: await answer(), calls: seen.calls }).toEqual({ status: 403, calls: 1 });
    expect(world.upstreamCalls).toEqual([]);
  });
});

describe("budgets without an owner", () => {
  const refused = (code: "budget_check_failed" | "key_budget_check_failed", permit: TestPermit): AdmissionOutcome => ({
    verdict: "refused",
    refusal: { code, retryAfterMs: null, level: null },
    permit,
  });

  it("are waited for like the Cell, and the refused admission request leaves no row", async () => {
    const { world, seen, waited, answer } = betweenOwners(0, 25_000);
    const [first, second] = [new TestPermit(), new TestPermit()];
    world.answers.push(refused("budget_check_failed", first), refused("key_budget_check_failed", second));
    expect(await answer()).toBe(404);
    expect({ pausesMs: seen.pausesMs, waited }).toEqual({ pausesMs: [100, 200], waited: [null, 100, 300] });
    // by asking again the request returns its refusal
    expect(world.requests.map(({ anew }) => anew)).toEqual([false, true, true]);
    expect([first, second].map(({ settlement }) => settlement)).toEqual([null, null]);
    expect(world.upstreamCalls).toHaveLength(1);
  });

  it("refuse when the patience is over, even if the request has to queue each time", async () => {
    const { world, seen, answer } = betweenOwners(0, 250);
    const permits = [new TestPermit(), new TestPermit(), new TestPermit()];
    for (const permit of permits)
      permit.decided.resolve({
        verdict: "refused",
        refusal: { code: "budget_check_failed", retryAfterMs: null, level: null },
      });
    world.answers.push(...permits.map((permit) => ({ verdict: "waiting", permit }) as const));
    expect({ status: await answer(), pausesMs: seen.pausesMs }).toEqual({ status: 503, pausesMs: [100, 150] });
  });

  it("refuse when the patience is over, and at once without any", async () => {
    const patient = betweenOwners(0, 250);
    const permits = [new TestPermit(), new TestPermit(), new TestPermit()];
    patient.world.answers.push(...permits.map((permit) => refused("budget_check_failed", permit)));
    expect({ status: await patient.answer(), pausesMs: patient.seen.pausesMs }).toEqual({
      status: 503,
      pausesMs: [100, 150],
    });
    expect(permits.map(({ settlement }) => settlement?.row.status_code)).toEqual([undefined, undefined, 503]);
    const impatient = betweenOwners(0, 0);
    impatient.world.answers.push(refused("budget_check_failed", new TestPermit()));
    expect({ status: await impatient.answer(), pausesMs: impatient.seen.pausesMs }).toEqual({
      status: 503,
      pausesMs: [],
    });
  });
});
