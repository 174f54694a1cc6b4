/**
 * The admission controller with the real scheduler and the real budgets, under any order of arrivals, repeats, settlements,
 * departures, adoptions, capacity changes and late answers of the budget object.
 */
import fc from "fast-check";
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { Caps } from "../../../test/harness/edge/budget/simulation.ts";
import { type AdmissionHarness, admissionHarnessOf } from "../../../test/harness/edge/cell/admission-harness.ts";
import { admissionRequestOf as plainAsk, subCallOf } from "../../../test/harness/edge/cell/admission-requests.ts";
import type { AdmissionRequest } from "../../domain/admission/rpc.ts";
import type { AdmissionEntry } from "./admission-entry.ts";

/** Tenant 0 is free, tenant 1 has a small bucket, tenant 2 a small term budget. */
const CAPS: readonly Caps[] = [{}, { tokensPerMinute: 40 }, { tenantTokens: 60 }];

beforeEach(() => vi.useFakeTimers());

function requestOf(number: number, tenant: number, rev = 0): AdmissionRequest {
  const revs = [{ kind: "tenant", id: `t${tenant}`, rev }] as const;
  return plainAsk(`r${number}`, `t${tenant}`, { revs }, CAPS[tenant]);
}

/** The same, every other one from an isolate of a cluster, whose decisions may be lost. */
function anyRequestOf(number: number, tenant: number, rev = 0): AdmissionRequest {
  const request = requestOf(number, tenant, rev);
  return number % 2 === 0 ? request : { ...request, holder: "isolate" };
}

const event = fc.oneof(
  { weight: 5, arbitrary: fc.record({ type: fc.constant("arrive" as const), tenant: fc.nat(2) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constantFrom(
        "settle" as const,
        "report" as const,
        "abandon" as const,
        "again" as const,
        "elsewhere" as const,
      ),
      who: fc.nat(1_000),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("capacity" as const), max: fc.integer({ min: 1, max: 6 }) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("adopt" as const), tenant: fc.nat(2) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("sub-call" as const), tenant: fc.nat(2) }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant("turn" as const) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("change" as const), tenant: fc.nat(2) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("back" as const), who: fc.nat(1_000) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant("reach" as const),
      reach: fc.constantFrom("up" as const, "down" as const),
    }),
  },
);

/** The end of a request, handed in together with the adoption of another request and the end of that request. */
const ADOPTED_BEHIND_AN_END = [
  { type: "arrive" as const, tenant: 2 },
  { type: "turn" as const },
  { type: "settle" as const, who: 0 },
  { type: "adopt" as const, tenant: 2 },
];

describe("the Cell's admission controller", () => {
  it("never grants above its cap, ends every entry once, and gives every token back", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("weighted" as const, "hierarchical" as const),
        fc.array(event, { maxLength: 80 }),
        async (algorithm, events) => {
          const world = admissionHarnessOf(algorithm, 2);
          const { admission, scheduler, rows, budgets, revisions } = world;
          const entries: AdmissionEntry[] = [];
          const elsewhere = new Set<string>();
          const revs = [0, 0, 0];
          let refused = 0;
          for (const step of events) {
            world.nowMs += 1;
            const before = scheduler.inFlight;
            if (step.type === "arrive")
              entries.push(admission.arrive(anyRequestOf(entries.length, step.tenant, revs[step.tenant])));
            else if (step.type === "adopt")
              entries.push(admission.adopt(anyRequestOf(entries.length, step.tenant, revs[step.tenant])));
            else if (step.type === "sub-call")
              entries.push(admission.adopt(subCallOf(anyRequestOf(entries.length, step.tenant, revs[step.tenant]))));
            else if (step.type === "capacity") admission.apply({ type: "capacity", maxInFlight: step.max });
            else if (step.type === "change") {
              revs[step.tenant] = world.nowMs;
              revisions.note([{ kind: "tenant", id: `t${step.tenant}`, rev: world.nowMs }], world.nowMs);
            } else if (step.type === "back") {
              const at = entries.findIndex((entry) => isOpen(entry) && entry.decision?.verdict === "stale");
              const tenant = Number(entries[at]?.request.tenant.id.slice(1));
              if (at >= 0) entries[at] = admission.arrive(anyRequestOf(at, tenant, revs[tenant]));
            } else if (step.type === "turn") await vi.advanceTimersByTimeAsync(0);
            else if (step.type === "reach") budgets.reach = step.reach;
            else {
              const entry = entries[step.who % Math.max(1, entries.length)];
              if (entry === undefined) continue;
              const { requestId, row } = entry.request;
              const ended = rows.some((one) => one.request_id === requestId) || elsewhere.has(requestId);
              if (step.type === "settle") void admission.settle(entry, { row, actualTokens: 5 });
              else if (step.type === "report" && entry.decision?.verdict === "granted") admission.watched(entry);
              else if (step.type === "abandon") admission.abandon(entry);
              else if (step.type === "again" && !ended && row.admission !== "boon")
                entries[entries.indexOf(entry)] = admission.arrive(entry.request);
              else if (step.type === "elsewhere" && !ended) {
                elsewhere.add(requestId);
                admission.settledElsewhere(row);
              }
              // The replaced permit is disposed later; that must not affect its successor.
              admission.settle({ ...entry }, { row, actualTokens: 5 }).catch(() => undefined);
            }
            if (step.type !== "adopt")
              expect(scheduler.inFlight).toBeLessThanOrEqual(Math.max(before, scheduler.maxInFlight));
            refused = entries.filter((entry) => isOpen(entry) && entry.decision?.verdict === "refused").length;
            const subCalls = entries.filter((entry) => isOpen(entry) && entry.request.row.admission === "boon").length;
            expect(admission.entryCount).toBe(scheduler.inFlight + scheduler.queued + refused + subCalls);
          }
          for (const entry of entries) admission.abandon(entry);
          expect({ inFlight: scheduler.inFlight, queued: scheduler.queued, entryCount: admission.entryCount }).toEqual({
            inFlight: 0,
            queued: 0,
            entryCount: 0,
          });
          await vi.advanceTimersByTimeAsync(6_000);
          const written = [...rows.map((row) => row.request_id), ...elsewhere].sort();
          expect(written).toEqual(entries.map((entry) => entry.request.requestId).sort());
          budgets.reach = "up";
          await drain(world);
          for (const tenant of [0, 1, 2]) {
            const { reserved } = budgets.core(`t${tenant}`).read("tenant", requestOf(0, tenant).limits, world.nowMs);
            expect(reserved).toEqual({ bucketTokens: 0, requests: 0, termTokens: 0, nanoUsd: 0 });
          }

          function isOpen(entry: AdmissionEntry): boolean {
            const { requestId } = entry.request;
            const hasRow = elsewhere.has(requestId) || rows.some((row) => row.request_id === requestId);
            // The row of one that may come back is written later.
            return !hasRow && (entry.request.holder === undefined || admission.holds(entry));
          }
        },
      ),
      { numRuns: 200, examples: [["weighted", ADOPTED_BEHIND_AN_END]] },
    );
  });

  it("keeps the slot of an adopted request that its Cell never lost, for nobody else", async () => {
    const { admission, scheduler, rows } = admissionHarnessOf("weighted", 1);
    const holder = admission.arrive(requestOf(0, 1));
    await admission.decision(holder);
    const waiting = admission.arrive(requestOf(1, 0));
    const adopted = admission.adopt(holder.request);
    expect({
      inFlight: scheduler.inFlight,
      queued: scheduler.queued,
      decision: waiting.decision,
      entryCount: admission.entryCount,
    }).toEqual({ inFlight: 1, queued: 1, decision: null, entryCount: 2 });
    admission.abandon(holder);
    expect({ inFlight: scheduler.inFlight, rows }).toEqual({ inFlight: 1, rows: [] });
    await admission.settle(adopted, { row: holder.request.row, actualTokens: 5 });
    expect(await admission.decision(waiting)).toMatchObject({ verdict: "granted" });
    expect({ inFlight: scheduler.inFlight, rowCount: rows.length }).toEqual({ inFlight: 1, rowCount: 1 });
  });

  it("charges a request that is adopted after its permit was lost, and refunds nothing twice", async () => {
    const world = admissionHarnessOf("weighted", 1);
    const { admission, budgets } = world;
    const entry = admission.arrive(requestOf(0, 1));
    await admission.decision(entry);
    admission.abandon(entry);
    await admission.settle(admission.adopt(entry.request), { row: entry.request.row, actualTokens: 10 });
    world.nowMs += 3_000;
    await vi.advanceTimersByTimeAsync(3_000);
    const refilled = (3 * 40) / 60;
    expect(
      budgets.core("t1").buckets(requestOf(0, 1).limits, world.nowMs).tenant.tokens.levelTokens,
    ).toBeLessThanOrEqual(30 + refilled);
  });

  it("charges such a request only for what its lost permit was not charged", async () => {
    const world = admissionHarnessOf("weighted", 1);
    const { admission, budgets } = world;
    const entry = admission.arrive(requestOf(0, 2));
    await admission.decision(entry);
    admission.inUse(entry);
    admission.abandon(entry); // at the estimate, 10
    await admission.settle(admission.adopt(entry.request), { row: entry.request.row, actualTokens: 13 });
    await drain(world);
    expect(budgets.core("t2").read("tenant", requestOf(0, 2).limits, world.nowMs).account.usedTokens).toBe(13);
  });

  it("charges such a request once, too, when it asks again and the answer is lost", async () => {
    const world = admissionHarnessOf("weighted", 1);
    const { admission, budgets } = world;
    const entry = admission.arrive(requestOf(0, 2));
    await admission.decision(entry);
    admission.inUse(entry);
    admission.abandon(entry); // at the estimate, 10
    const again = { ...entry.request, waitedMs: 0 };
    await admission.decision(admission.arrive(again));
    const last = admission.arrive(again);
    await admission.decision(last);
    await admission.settle(last, { row: again.row, actualTokens: 5 });
    await drain(world);
    expect(budgets.core("t2").read("tenant", again.limits, world.nowMs).account.usedTokens).toBe(10);
  });

  it.each([
    ["and is charged no more when it asks again and uses less", 5, 10],
    ["and is charged the rest when it asks again and uses more", 13, 13],
  ])(
    "charges a request at the estimate at once, too, whose row waits for its isolate, %s",
    async (_, uses, charged) => {
      const world = admissionHarnessOf("weighted", 1);
      const { admission, budgets } = world;
      const request = { ...requestOf(0, 2), holder: "cut off" };
      const lost = admission.arrive(request);
      await admission.decision(lost);
      admission.inUse(lost, false);
      admission.abandon(lost);
      const used = () => budgets.core("t2").read("tenant", request.limits, world.nowMs).account.usedTokens;
      const again = admission.arrive({ ...request, waitedMs: 0 });
      await admission.decision(again);
      await admission.settle(again, { row: request.row, actualTokens: uses });
      await drain(world);
      expect({ usedTokens: used(), rowCount: world.rows.length }).toEqual({ usedTokens: charged, rowCount: 1 });
    },
  );

  it("gives no slot, no charge and no row to a late message of a request that has ended", async () => {
    const world = admissionHarnessOf("weighted", 1);
    const { admission, scheduler, budgets, rows } = world;
    const { request } = admission.arrive(requestOf(0, 2));
    await admission.decision(admission.adopt(request));
    await admission.settle(admission.adopt(request), { row: request.row, actualTokens: 5 });
    for (const late of [admission.adopt(request), admission.arrive(request)]) {
      expect({
        inFlight: scheduler.inFlight,
        entryCount: admission.entryCount,
        hold: admission.hold(request.requestId),
      }).toEqual({ inFlight: 0, entryCount: 0, hold: null });
      await expect(admission.decision(late)).rejects.toThrow("the permit has ended");
      admission.abandon(late);
    }
    await drain(world);
    expect(rows).toHaveLength(1);
    expect(budgets.core("t2").read("tenant", request.limits, world.nowMs).account.usedTokens).toBe(5);
  });

  it("marks the row of a request that an earlier life may have ended as a possible duplicate", async () => {
    const { admission, orphans } = admissionHarnessOf("weighted", 8);
    const [plain, waited, adopted, left] = [
      requestOf(0, 0),
      { ...requestOf(1, 0), waitedMs: 5 },
      requestOf(2, 0),
      requestOf(3, 0),
    ];
    for (const request of [plain, waited]) {
      const entry = admission.arrive(request);
      await admission.decision(entry);
      await admission.settle(entry, { row: request.row, actualTokens: 1 });
    }
    await admission.settle(admission.adopt(adopted), { row: adopted.row, actualTokens: 1 });
    admission.abandon(admission.adopt(left));
    expect(orphans).toEqual([waited, adopted, left].map((request) => request.requestId));
  });

  it("rejects the calls that wait for the decision on an entry that ends", async () => {
    const { admission } = admissionHarnessOf("weighted", 1);
    admission.arrive(requestOf(0, 0));
    const waiting = admission.arrive(requestOf(1, 0));
    const decision = admission.decision(waiting);
    admission.abandon(waiting);
    await expect(decision).rejects.toThrow("the permit has ended");
    await expect(admission.decision(waiting)).rejects.toThrow("the permit has ended");
  });

  it("holds the slot while the budget object decides, and frees it in the turn of a refusal", async () => {
    const { admission, scheduler } = admissionHarnessOf("weighted", 1);
    const first = admission.arrive({ ...requestOf(0, 1), need: { bucketTokens: 41, termTokens: 41, nanoUsd: 0 } });
    const next = admission.arrive(requestOf(1, 0));
    expect({
      firstDecision: first.decision,
      nextDecision: next.decision,
      inFlight: scheduler.inFlight,
      queued: scheduler.queued,
    }).toEqual({ firstDecision: null, nextDecision: null, inFlight: 1, queued: 1 });
    expect(await admission.decision(first)).toMatchObject({
      verdict: "refused",
      refusal: { code: "token_budget_exceeded", retryAfterMs: 1 },
    });
    expect(await admission.decision(next)).toMatchObject({ verdict: "granted", grant: { admission: "queued" } });
    expect({ inFlight: scheduler.inFlight, queued: scheduler.queued, entryCount: admission.entryCount }).toEqual({
      inFlight: 1,
      queued: 0,
      entryCount: 2,
    });
    expect(scheduler.snapshot(0).tenants.find((tenant) => tenant.tenantId === "t1")?.servedTokens).toBe(0);
  });

  it("refuses thousands of waiting requests in one turn", async () => {
    const { admission, scheduler } = admissionHarnessOf("weighted", 1);
    const holder = admission.arrive(requestOf(0, 0));
    const waiting = Array.from({ length: 5_000 }, (_, index) => admission.arrive(requestOf(index + 1, 2)));
    await vi.advanceTimersByTimeAsync(0);
    await admission.settle(holder, { row: holder.request.row, actualTokens: 1 });
    for (const entry of waiting.slice(0, 7)) {
      const decision = await admission.decision(entry);
      if (decision.verdict === "granted") await admission.settle(entry, { row: entry.request.row, actualTokens: 10 });
    }
    const verdicts = await Promise.all(
      waiting.slice(7).map(async (entry) => (await admission.decision(entry)).verdict),
    );
    expect(new Set(verdicts)).toEqual(new Set(["refused"]));
    expect({ inFlight: scheduler.inFlight, queued: scheduler.queued }).toEqual({ inFlight: 0, queued: 0 });
  });

  it("bills a request whose holder is gone if its grant was used at once or reported in use", () => {
    const { admission, rows } = admissionHarnessOf("weighted", 1);
    const [atOnce, waited, said] = [1, 2, 3].map((number) => admission.arrive(requestOf(number, 0)));
    if (atOnce === undefined || waited === undefined || said === undefined) throw new Error("three arrive");
    admission.abandon(atOnce);
    admission.abandon(waited);
    admission.inUse(said);
    admission.abandon(said);
    expect(rows.map((row) => [row.request_id, row.total_tokens])).toEqual([
      ["r1", 10],
      ["r2", 0],
      ["r3", 10],
    ]);
  });
});

describe("10,000 waiting requests", () => {
  it("are not examined for 1,000 changed keys; each is compared once, at its turn", () => {
    const { admission, scheduler, revisions } = admissionHarnessOf("weighted", 1, 0);
    const compared = vi.spyOn(revisions, "staleAmong");
    const looked = vi.spyOn(scheduler, "apply");
    const first = admission.arrive(requestOf(0, 0));
    for (let number = 1; number <= 10_000; number += 1) admission.arrive(requestOf(number, 0));
    looked.mockClear();
    for (let at = 0; at < 1_000; at += 1) revisions.note([{ kind: "key", id: `k${at}`, rev: 2 }], 0);
    expect({ comparisonCount: compared.mock.calls.length, applyCount: looked.mock.calls.length }).toEqual({
      comparisonCount: 0,
      applyCount: 0,
    });
    admission.abandon(first);
    expect(scheduler.queued).toBe(9_999);
    expect(compared).toHaveBeenCalledTimes(1);
  });
});

/** Lets every tenant's budget send the reports that it still has to send. */
async function drain(world: AdmissionHarness): Promise<void> {
  for (let second = 0; second < 30; second += 1) {
    world.nowMs += 1_000;
    await vi.advanceTimersByTimeAsync(1_000);
  }
}
