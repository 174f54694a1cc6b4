/**
 * A request that waited is checked again at its turn (docs/rules/admission.md#checked-again): by newer records, by the
 * clock, and after its tokens came.
 */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { AdmissionHarness } from "../../../test/harness/edge/cell/admission-harness.ts";
import { admissionRequestOf as plainAsk } from "../../../test/harness/edge/cell/admission-requests.ts";
import { REVISION_KEEP_MS } from "../cell/revisions.ts";
import type { AdmissionRequest } from "./rpc.ts";

beforeEach(() => vi.useFakeTimers());

/** `tokensPerMinute`: a cap, so that the request must fetch tokens; 0: no cap. */
function requestOf(requestId: string, tenant: string, rev = 1, tokensPerMinute = 0): AdmissionRequest {
  const revs = [
    { kind: "tenant", id: tenant, rev },
    { kind: "model", id: "m", rev: 1 },
  ] as const;
  return plainAsk(requestId, tenant, { revs }, { tokensPerMinute, rev });
}

function change(world: AdmissionHarness, tenant: string, rev: number): void {
  world.revisions.note([{ kind: "tenant", id: tenant, rev }], world.nowMs);
}

function reservedOf(world: AdmissionHarness, request: AdmissionRequest): number {
  return world.budgets.core(request.tenant.id).read("tenant", request.limits, world.nowMs).reserved.bucketTokens;
}

describe("a waiting request whose tenant changed", () => {
  it("learns it at its turn, holds nothing, and the slot goes to the next request", async () => {
    const world = new AdmissionHarness("weighted", 1);
    const { ask, end, scheduler, rows } = world;
    const holder = ask(requestOf("holder", "h"));
    const [stale, next] = [ask(requestOf("stale", "a")), ask(requestOf("next", "b"))];
    change(world, "a", 2);
    expect(stale.decision).toBeNull();
    await end(holder, 10);
    expect(stale.decision).toEqual({ verdict: "stale", items: [{ kind: "tenant", id: "a", rev: 2 }] });
    expect({
      state: stale.state,
      verdict: next.decision?.verdict,
      inFlight: scheduler.inFlight,
      queued: scheduler.queued,
    }).toEqual({ state: "stale", verdict: "granted", inFlight: 1, queued: 1 });
    expect(scheduler.snapshot(0).tenants.find(({ tenantId }) => tenantId === "a")?.servedTokens).toBe(0);
    expect(rows.map(({ request_id }) => request_id)).toEqual(["holder"]);
  });

  it("learns it however long it has waited, even after other changes were forgotten", async () => {
    const world = new AdmissionHarness("weighted", 1);
    const { ask, end, revisions } = world;
    const holder = ask(requestOf("holder", "h"));
    const parked = ask(requestOf("parked", "a"));
    change(world, "a", 2);
    world.nowMs += REVISION_KEEP_MS + 1;
    revisions.prune(world.admission.oldestArrivalMs(world.nowMs));
    await end(holder, 10);
    expect(parked.decision?.verdict).toBe("stale");
    await end(parked, 0);
    revisions.prune(world.admission.oldestArrivalMs(world.nowMs));
    expect(revisions.size).toBe(0);
  });

  it("learns it too when it was given up twice and came back with its old records", () => {
    const world = new AdmissionHarness("weighted", 1);
    const { admission } = world;
    const old = requestOf("old", "a");
    world.ask(old);
    change(world, "a", 2);
    for (let time = 0; time < 2; time += 1) {
      admission.giveUp("old");
      if (time === 0) admission.ask(old, "here");
    }
    expect(admission.waits("old")).toMatchObject({ verdict: "stale" });
  });

  it("takes its place again with newer records, ahead of later ones, and counts its whole wait", async () => {
    const world = new AdmissionHarness("weighted", 1);
    const { ask, end } = world;
    const holder = ask(requestOf("holder", "h"));
    ask(requestOf("1", "a"));
    ask(requestOf("2", "a"));
    change(world, "a", 2);
    world.nowMs = 30;
    await end(holder, 10);
    world.nowMs = 40;
    const back = ask(requestOf("1", "a", 2));
    expect(back.decision).toMatchObject({ verdict: "granted", grant: { admission: "queued", queueWaitMs: 40 } });
    await end(back, 3);
    expect(world.rows.map((one) => [one.request_id, one.queue_wait_ms])).toEqual([
      ["holder", 0],
      ["1", 40],
    ]);
  });

  it("may find its records changed again and again, and is served in the end", async () => {
    const world = new AdmissionHarness("weighted", 1);
    const { ask, end } = world;
    let holder = ask(requestOf("holder", "h"));
    let entry = ask(requestOf("1", "a"));
    for (let rev = 2; rev < 5; rev += 1) {
      change(world, "a", rev);
      await end(holder, 10);
      expect(entry.decision?.verdict).toBe("stale");
      // another request has the slot while this one reads its records
      holder = ask(requestOf(`other${rev}`, "b"));
      entry = ask(requestOf("1", "a", rev));
      expect({ verdict: holder.decision?.verdict, decision: entry.decision }).toEqual({
        verdict: "granted",
        decision: null,
      });
    }
    await end(holder, 10);
    expect(entry.decision?.verdict).toBe("granted");
  });

  it("writes one row for its refusal or lost client, and leaves its place to the next request", async () => {
    const world = new AdmissionHarness("weighted", 1);
    const { ask, end, rows } = world;
    const holder = ask(requestOf("holder", "h"));
    const [refused, gone] = [ask(requestOf("refused", "a")), ask(requestOf("gone", "a"))];
    change(world, "a", 2);
    await end(holder, 10);
    world.nowMs = 7;
    await end(refused, 0, { status_code: 403, admission: "rejected" });
    expect(gone.decision?.verdict).toBe("stale");
    await end(gone, 0, { status_code: 499, admission: "queued" });
    expect(world.load).toEqual({ inFlight: 0, queued: 0, entries: 0 });
    expect(rows.slice(1).map((one) => [one.request_id, one.status_code, one.admission, one.queue_wait_ms])).toEqual([
      ["refused", 403, "rejected", 7],
      ["gone", 499, "queued", 7],
    ]);
    expect(rows.map((one) => one.total_tokens)).toEqual([0, 0, 0]);
  });

  it("returns the tokens that were fetched for it", async () => {
    const world = new AdmissionHarness("weighted", 1);
    const { ask, end } = world;
    const holder = ask(requestOf("holder", "h"));
    const stale = ask(requestOf("stale", "a", 1, 100));
    await vi.advanceTimersByTimeAsync(0);
    change(world, "a", 2);
    await end(holder, 10);
    expect(stale.decision?.verdict).toBe("stale");
    await end(stale, 0, { status_code: 401, admission: "rejected" });
    for (let second = 0; second < 30; second += 1) {
      world.nowMs += 1_000;
      await vi.advanceTimersByTimeAsync(1_000);
    }
    expect(reservedOf(world, stale.request)).toBe(0);
    expect(world.budgets.core("a").buckets(stale.request.limits, world.nowMs).tenant.tokens.levelTokens).toBe(100);
  });
});

describe("a request whose tenant changed while its tokens were on their way", () => {
  it.each([
    ["came", 100],
    ["were refused", 5],
  ])("is checked again though they %s, keeps its place, and the slot goes to the next", async (_, tokensPerMinute) => {
    const world = new AdmissionHarness("weighted", 1);
    const { ask, end, scheduler } = world;
    const first = ask(requestOf("first", "a", 1, tokensPerMinute));
    const next = ask(requestOf("next", "b"));
    expect({ decision: first.decision, inFlight: scheduler.inFlight }).toEqual({ decision: null, inFlight: 1 });
    change(world, "a", 2);
    await vi.advanceTimersByTimeAsync(0);
    expect(first.decision).toMatchObject({ verdict: "stale" });
    expect({ verdict: next.decision?.verdict, inFlight: scheduler.inFlight, queued: scheduler.queued }).toEqual({
      verdict: "granted",
      inFlight: 1,
      queued: 1,
    });
    const back = ask(requestOf("first", "a", 2));
    await end(next, 10);
    await vi.advanceTimersByTimeAsync(0);
    expect(back.decision).toMatchObject({ verdict: "granted", grant: { admission: "queued" } });
    await end(back, 10);
    for (let second = 0; second < 30; second += 1) {
      world.nowMs += 1_000;
      await vi.advanceTimersByTimeAsync(1_000);
    }
    expect(reservedOf(world, back.request)).toBe(0);
  });
});

describe("a waiting request whose access window ends", () => {
  it("is checked again from that instant on, not before, and not in the turn of its arrival", async () => {
    const world = new AdmissionHarness("weighted", 2);
    const { ask, end } = world;
    const until = { openUntilMs: 100 };
    const holders = ["h1", "h2"].map((id) => ask(requestOf(id, "h")));
    const waiting = ["in time", "late"].map((id) => ask({ ...requestOf(id, "a"), ...until }));
    const [one, two] = holders;
    if (one === undefined || two === undefined) throw new Error("two hold slots");
    world.nowMs = 99;
    await end(one, 10);
    world.nowMs = 100;
    await end(two, 10);
    expect(waiting.map((entry) => entry.decision)).toMatchObject([
      { verdict: "granted" },
      { verdict: "stale", items: [] },
    ]);
    expect(ask({ ...requestOf("late", "a"), openUntilMs: 90 }).decision?.verdict).toBe("granted");
  });
});

describe("checking again", () => {
  it("compares nothing before a record changes, and each waiting request once after that", async () => {
    const world = new AdmissionHarness("weighted", 1);
    const { ask, end, revisions } = world;
    let holder = ask(requestOf("0", "a"));
    const entries = Array.from({ length: 20 }, (_, at) => ask(requestOf(`${at + 1}`, "a")));
    const compared = vi.spyOn(revisions, "staleAmong");
    const next = async (): Promise<void> => {
      await end(holder, 10);
      holder = entries.shift() ?? holder;
    };
    for (let at = 0; at < 10; at += 1) await next();
    expect(compared).not.toHaveBeenCalled();
    change(world, "b", 2);
    for (let at = 0; at < 5; at += 1) await next();
    expect(compared).toHaveBeenCalledTimes(5);
  });

  it("costs nothing when 1,000 keys change under 10,000 requests, then one comparison a turn", async () => {
    const world = new AdmissionHarness("weighted", 1);
    const { ask, end, admission, revisions } = world;
    const ofKey = (id: string, key: number, rev: number): AdmissionRequest => ({
      ...requestOf(id, "a"),
      revs: [{ kind: "key", id: `k${key}`, rev }],
    });
    let holder = ask(ofKey("holder", 0, 2));
    const waiting = Array.from({ length: 10_000 }, (_, at) => ask(ofKey(`r${at}`, at % 1000, 1)));
    const compared = vi.spyOn(revisions, "staleAmong");
    const trips = world.budgets.calls;
    const changes = Array.from({ length: 1000 }, (_, key) => ({ kind: "key" as const, id: `k${key}`, rev: 2 }));
    revisions.note(changes, 1);
    for (const { id } of changes) admission.apply({ type: "tenant", id });
    expect({ comparisonCount: compared.mock.calls.length, budgetCalls: world.budgets.calls }).toEqual({
      comparisonCount: 0,
      budgetCalls: trips,
    });
    for (let turn = 0; turn < 50; turn += 1) {
      const before = compared.mock.calls.length;
      await end(holder, 10);
      const sentBack = waiting.filter((entry) => entry.decision?.verdict === "stale");
      expect(sentBack.map(({ request }) => request.requestId)).toEqual([`r${turn}`]);
      // the request that is sent back, its items, and the request after it
      expect(compared.mock.calls.length - before).toBeLessThanOrEqual(3);
      holder = ask(ofKey(`r${turn}`, turn % 1000, 2));
      expect(holder.decision?.verdict).toBe("granted");
    }
  });
});

describe("a tenant's requests per minute", () => {
  const LIMIT = 5;
  const oneOf = (requestId: string, rev = 1): AdmissionRequest => {
    const request = requestOf(requestId, "a", rev);
    const need = { ...request.need, requests: 1 };
    return {
      ...request,
      need,
      limits: { ...request.limits, tenant: { ...request.limits.tenant, requestsPerMinute: LIMIT } },
    };
  };
  /** How many remain, once the free tokens of the Cell have come back; seven seconds refill half of one. */
  async function left(world: AdmissionHarness): Promise<number> {
    for (let second = 0; second < 7; second += 1) {
      world.nowMs += 1_000;
      await vi.advanceTimersByTimeAsync(1_000);
    }
    const { tenant } = world.budgets.core("a").buckets(oneOf("any").limits, world.nowMs);
    return Math.floor(tenant.requests.levelTokens);
  }

  it("count one that its Worker asks for again before it has the answer", async () => {
    const world = new AdmissionHarness("weighted", 4);
    world.ask(oneOf("asks twice"));
    await vi.advanceTimersByTimeAsync(0);
    const again = world.ask(oneOf("asks twice"));
    await vi.advanceTimersByTimeAsync(0);
    await world.end(again, 10);
    expect(await left(world)).toBe(LIMIT - 1);
  });

  it("count none that is sent back at its turn, and none that gives its grant back", async () => {
    const world = new AdmissionHarness("weighted", 1);
    const stale = world.ask(oneOf("stale"));
    change(world, "a", 2);
    await vi.advanceTimersByTimeAsync(0);
    expect(stale.decision?.verdict).toBe("stale");
    world.admission.giveUp("stale");
    const holder = world.ask(requestOf("holder", "h"));
    const granted = world.ask(oneOf("granted", 2));
    await world.end(holder, 10);
    await vi.advanceTimersByTimeAsync(0);
    expect(granted.decision?.verdict).toBe("granted");
    const next = world.ask(requestOf("next", "h"));
    world.ask({ ...oneOf("granted", 2), waitedMs: 0, anew: true });
    expect(next.decision?.verdict).toBe("granted");
    world.admission.giveUp("granted");
    expect(await left(world)).toBe(LIMIT);
  });
});
