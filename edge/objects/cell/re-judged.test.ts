/**
 * A request that waited is judged again at its turn (docs/rules/admission.md#judged-again): by newer records, by the
 * clock, and after its tokens came.
 */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { type AdmissionHarness, admissionHarnessOf } from "../../../test/harness/edge/cell/admission-harness.ts";
import { admissionRequestOf as plainAsk } from "../../../test/harness/edge/cell/admission-requests.ts";
import type { AdmissionRequest } from "../../domain/admission/rpc.ts";
import { REVISION_KEEP_MS } from "../../domain/cell/revisions.ts";

beforeEach(() => vi.useFakeTimers());

/** `tokensPerMinute`: a cap, so that the request's tokens have to be fetched; 0: no cap. */
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

const row = (request: AdmissionRequest, status: number) => ({
  ...request.row,
  status_code: status,
  admission: "rejected" as const,
});

describe("a waiting request whose tenant changed", () => {
  it("learns it at its turn, holds nothing, and the slot goes to the next request", async () => {
    const world = admissionHarnessOf("weighted", 1);
    const { admission, scheduler, rows } = world;
    const holder = admission.arrive(requestOf("holder", "h"));
    const [stale, next] = [admission.arrive(requestOf("stale", "a")), admission.arrive(requestOf("next", "b"))];
    change(world, "a", 2);
    expect(stale.decision).toBeNull();
    await admission.settle(holder, { row: holder.request.row, actualTokens: 10 });
    expect(await admission.decision(stale)).toEqual({ verdict: "stale", items: [{ kind: "tenant", id: "a", rev: 2 }] });
    expect({
      slot: stale.slot,
      verdict: next.decision?.verdict,
      inFlight: scheduler.inFlight,
      queued: scheduler.queued,
    }).toEqual({ slot: null, verdict: "granted", inFlight: 1, queued: 1 });
    expect(scheduler.snapshot(0).tenants.find(({ tenantId }) => tenantId === "a")?.servedTokens).toBe(0);
    expect(rows.map(({ request_id }) => request_id)).toEqual(["holder"]);
  });

  it("learns it however long it has waited, even after other changes were forgotten", async () => {
    const world = admissionHarnessOf("weighted", 1);
    const { admission, revisions } = world;
    const holder = admission.arrive(requestOf("holder", "h"));
    const parked = admission.arrive(requestOf("parked", "a"));
    change(world, "a", 2);
    world.nowMs += REVISION_KEEP_MS + 1;
    revisions.prune(world.entries.oldestArrivalMs(world.nowMs));
    await admission.settle(holder, { row: holder.request.row, actualTokens: 10 });
    expect(parked.decision?.verdict).toBe("stale");
    admission.abandon(parked);
    revisions.prune(world.entries.oldestArrivalMs(world.nowMs));
    expect(revisions.size).toBe(0);
  });

  it("takes its place again with newer records, ahead of later ones, and counts its whole wait", async () => {
    const world = admissionHarnessOf("weighted", 1);
    const { admission } = world;
    const holder = admission.arrive(requestOf("holder", "h"));
    const first = admission.arrive(requestOf("1", "a"));
    admission.arrive(requestOf("2", "a"));
    change(world, "a", 2);
    world.nowMs = 30;
    await admission.settle(holder, { row: holder.request.row, actualTokens: 10 });
    world.nowMs = 40;
    const back = admission.arrive(requestOf("1", "a", 2));
    expect(back.decision).toMatchObject({ verdict: "granted", grant: { admission: "queued", queueWaitMs: 40 } });
    // the replaced permit is disposed later and has no effect
    admission.abandon(first);
    await admission.settle(back, { row: back.request.row, actualTokens: 3 });
    expect(world.rows.map((one) => [one.request_id, one.queue_wait_ms])).toEqual([
      ["holder", 0],
      ["1", 40],
    ]);
  });

  it("may find its records changed again and again, and is served in the end", async () => {
    const world = admissionHarnessOf("weighted", 1);
    const { admission } = world;
    let holder = admission.arrive(requestOf("holder", "h"));
    let entry = admission.arrive(requestOf("1", "a"));
    for (let rev = 2; rev < 5; rev += 1) {
      change(world, "a", rev);
      await admission.settle(holder, { row: holder.request.row, actualTokens: 10 });
      expect((await admission.decision(entry)).verdict).toBe("stale");
      // another request has the slot while this one reads its records
      holder = admission.arrive(requestOf(`other${rev}`, "b"));
      entry = admission.arrive(requestOf("1", "a", rev));
      expect({ verdict: holder.decision?.verdict, decision: entry.decision }).toEqual({
        verdict: "granted",
        decision: null,
      });
    }
    await admission.settle(holder, { row: holder.request.row, actualTokens: 10 });
    expect(entry.decision?.verdict).toBe("granted");
  });

  it("writes one row for its refusal or lost client, and leaves its place to the next request", async () => {
    const world = admissionHarnessOf("weighted", 1);
    const { admission, scheduler, rows } = world;
    const holder = admission.arrive(requestOf("holder", "h"));
    const [refused, gone] = [admission.arrive(requestOf("refused", "a")), admission.arrive(requestOf("gone", "a"))];
    change(world, "a", 2);
    await admission.settle(holder, { row: holder.request.row, actualTokens: 10 });
    world.nowMs = 7;
    await admission.settle(refused, { row: row(refused.request, 403), actualTokens: 0 });
    expect((await admission.decision(gone)).verdict).toBe("stale");
    await admission.settle(gone, {
      row: { ...gone.request.row, status_code: 499, admission: "queued" },
      actualTokens: 0,
    });
    expect({ inFlight: scheduler.inFlight, queued: scheduler.queued, entryCount: admission.entryCount }).toEqual({
      inFlight: 0,
      queued: 0,
      entryCount: 0,
    });
    expect(rows.slice(1).map((one) => [one.request_id, one.status_code, one.admission, one.queue_wait_ms])).toEqual([
      ["refused", 403, "rejected", 7],
      ["gone", 499, "queued", 7],
    ]);
    expect(rows.map((one) => one.total_tokens)).toEqual([0, 0, 0]);
  });

  it("returns the tokens that were fetched for it", async () => {
    const world = admissionHarnessOf("weighted", 1);
    const { admission } = world;
    const holder = admission.arrive(requestOf("holder", "h"));
    const stale = admission.arrive(requestOf("stale", "a", 1, 100));
    await vi.advanceTimersByTimeAsync(0);
    change(world, "a", 2);
    await admission.settle(holder, { row: holder.request.row, actualTokens: 10 });
    expect((await admission.decision(stale)).verdict).toBe("stale");
    await admission.settle(stale, { row: row(stale.request, 401), actualTokens: 0 });
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
  ])("is judged again though they %s, keeps its place, and the slot goes to the next", async (_, tokensPerMinute) => {
    const world = admissionHarnessOf("weighted", 1);
    const { admission, scheduler } = world;
    const first = admission.arrive(requestOf("first", "a", 1, tokensPerMinute));
    const next = admission.arrive(requestOf("next", "b"));
    expect({ decision: first.decision, inFlight: scheduler.inFlight }).toEqual({ decision: null, inFlight: 1 });
    change(world, "a", 2);
    expect(await admission.decision(first)).toMatchObject({ verdict: "stale" });
    expect({ verdict: next.decision?.verdict, inFlight: scheduler.inFlight, queued: scheduler.queued }).toEqual({
      verdict: "granted",
      inFlight: 1,
      queued: 1,
    });
    const back = admission.arrive(requestOf("first", "a", 2));
    await admission.settle(next, { row: next.request.row, actualTokens: 10 });
    expect(await admission.decision(back)).toMatchObject({ verdict: "granted", grant: { admission: "queued" } });
    await admission.settle(back, { row: back.request.row, actualTokens: 10 });
    for (let second = 0; second < 30; second += 1) {
      world.nowMs += 1_000;
      await vi.advanceTimersByTimeAsync(1_000);
    }
    expect(reservedOf(world, back.request)).toBe(0);
  });
});

describe("a waiting request whose access window ends", () => {
  it("is judged again from that instant on, not before, and not in the turn of its arrival", async () => {
    const world = admissionHarnessOf("weighted", 2);
    const { admission } = world;
    const until = { openUntilMs: 100 };
    const holders = ["h1", "h2"].map((id) => admission.arrive(requestOf(id, "h")));
    const waiting = ["in time", "late"].map((id) => admission.arrive({ ...requestOf(id, "a"), ...until }));
    const [one, two] = holders;
    if (one === undefined || two === undefined) throw new Error("two hold slots");
    world.nowMs = 99;
    await admission.settle(one, { row: one.request.row, actualTokens: 10 });
    world.nowMs = 100;
    await admission.settle(two, { row: two.request.row, actualTokens: 10 });
    expect(waiting.map((entry) => entry.decision)).toMatchObject([
      { verdict: "granted" },
      { verdict: "stale", items: [] },
    ]);
    expect(admission.arrive({ ...requestOf("late", "a"), openUntilMs: 90 }).decision?.verdict).toBe("granted");
  });
});

describe("judging again", () => {
  it("compares nothing before a record changes, and each waiting request once after that", async () => {
    const world = admissionHarnessOf("weighted", 1);
    const { admission, revisions } = world;
    const compared = vi.spyOn(revisions, "staleAmong");
    let holder = admission.arrive(requestOf("0", "a"));
    const entries = Array.from({ length: 20 }, (_, at) => admission.arrive(requestOf(`${at + 1}`, "a")));
    const next = async (): Promise<void> => {
      await admission.settle(holder, { row: holder.request.row, actualTokens: 10 });
      holder = entries.shift() ?? holder;
    };
    for (let at = 0; at < 10; at += 1) await next();
    expect(compared).not.toHaveBeenCalled();
    change(world, "b", 2);
    for (let at = 0; at < 5; at += 1) await next();
    expect(compared).toHaveBeenCalledTimes(5);
  });

  it("costs nothing when 1,000 keys change under 10,000 requests, then one comparison a turn", async () => {
    const world = admissionHarnessOf("weighted", 1);
    const { admission, revisions } = world;
    const compared = vi.spyOn(revisions, "staleAmong");
    const ofKey = (id: string, key: number, rev: number): AdmissionRequest => ({
      ...requestOf(id, "a"),
      revs: [{ kind: "key", id: `k${key}`, rev }],
    });
    let holder = admission.arrive(ofKey("holder", 0, 2));
    const waiting = Array.from({ length: 10_000 }, (_, at) => admission.arrive(ofKey(`r${at}`, at % 1000, 1)));
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
      await admission.settle(holder, { row: holder.request.row, actualTokens: 10 });
      const sentBack = waiting.filter((entry) => entry.decision?.verdict === "stale");
      expect(sentBack).toHaveLength(turn + 1);
      // the request that is sent back, its items, and the request behind it
      expect(compared.mock.calls.length - before).toBeLessThanOrEqual(3);
      holder = admission.arrive(ofKey(`r${turn}`, turn % 1000, 2));
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
  /** How many of them are left, once what is free in the Cell has come back; seven seconds refill half a one. */
  async function left(world: AdmissionHarness): Promise<number> {
    for (let second = 0; second < 7; second += 1) {
      world.nowMs += 1_000;
      await vi.advanceTimersByTimeAsync(1_000);
    }
    const { tenant } = world.budgets.core("a").buckets(oneOf("any").limits, world.nowMs);
    return Math.floor(tenant.requests.levelTokens);
  }

  it("count one that its Worker asks for again before it has the answer", async () => {
    const world = admissionHarnessOf("weighted", 4);
    const { admission } = world;
    admission.arrive(oneOf("asks twice"));
    await vi.advanceTimersByTimeAsync(0);
    const again = admission.arrive(oneOf("asks twice"));
    await vi.advanceTimersByTimeAsync(0);
    await admission.settle(again, { row: again.request.row, actualTokens: 10 });
    expect(await left(world)).toBe(LIMIT - 1);
  });

  it("count none that is sent back at its turn, and none that is lost before it is used", async () => {
    const world = admissionHarnessOf("weighted", 1);
    const { admission } = world;
    const stale = admission.arrive(oneOf("stale"));
    change(world, "a", 2);
    await vi.advanceTimersByTimeAsync(0);
    expect(stale.decision?.verdict).toBe("stale");
    admission.abandon(stale);
    const holder = admission.arrive(requestOf("holder", "h"));
    const granted = admission.arrive(oneOf("granted", 2));
    await admission.settle(holder, { row: holder.request.row, actualTokens: 10 });
    await vi.advanceTimersByTimeAsync(0);
    expect({ verdict: granted.decision?.verdict, inUse: granted.inUse }).toEqual({ verdict: "granted", inUse: false });
    admission.disconnected(granted);
    expect(await left(world)).toBe(LIMIT);
  });
});
