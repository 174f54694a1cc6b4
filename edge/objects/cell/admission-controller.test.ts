/**
 * The admission controller with the real scheduler and the real budgets, under any order of arrivals, repeats, settlements,
 * departures, adoptions, capacity changes and late answers of the budget object.
 */
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { AdmissionRequest } from "../../domain/admission/rpc.ts";
import type { Caps } from "../../domain/budget/testing/simulation.ts";
import type { AdmissionEntry } from "./admission-entry.ts";
import { type AdmissionHarness, admissionHarnessOf } from "./testing/admission-harness.ts";
import { admissionRequestOf as plainAsk } from "./testing/admission-requests.ts";

/** Tenant 0 is free, tenant 1 has a small bucket, tenant 2 a small term budget. */
const CAPS: readonly Caps[] = [{}, { tokensPerMinute: 40 }, { tenantTokens: 60 }];

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

function askOf(number: number, tenant: number, rev = 0): AdmissionRequest {
  const revs = [{ kind: "tenant", id: `t${tenant}`, rev }] as const;
  return plainAsk(`r${number}`, `t${tenant}`, { revs }, CAPS[tenant]);
}

const event = fc.oneof(
  { weight: 5, arbitrary: fc.record({ type: fc.constant("arrive" as const), tenant: fc.nat(2) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constantFrom("settle" as const, "abandon" as const, "again" as const, "elsewhere" as const),
      who: fc.nat(1_000),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("capacity" as const), max: fc.integer({ min: 1, max: 6 }) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("adopt" as const), tenant: fc.nat(2) }) },
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

/** The end of a request, told in one batch with the adoption of another and its end. */
const ADOPTED_BEHIND_AN_END = [
  { type: "arrive" as const, tenant: 2 },
  { type: "turn" as const },
  { type: "settle" as const, who: 0 },
  { type: "adopt" as const, tenant: 2 },
];

describe("the Cell's front desk", () => {
  it("never holds more than its cap by granting, ends every seat once, and gives every token back", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("weighted" as const, "hierarchical" as const),
        fc.array(event, { maxLength: 80 }),
        async (algorithm, events) => {
          const world = admissionHarnessOf(algorithm, 2);
          const { desk, scheduler, rows, budgets, revisions } = world;
          const seats: AdmissionEntry[] = [];
          const elsewhere = new Set<string>();
          const revs = [0, 0, 0];
          let refused = 0;
          for (const step of events) {
            world.nowMs += 1;
            const before = scheduler.inFlight;
            if (step.type === "arrive") seats.push(desk.arrive(askOf(seats.length, step.tenant, revs[step.tenant])));
            else if (step.type === "adopt") seats.push(desk.adopt(askOf(seats.length, step.tenant, revs[step.tenant])));
            else if (step.type === "capacity") desk.apply({ type: "capacity", maxInFlight: step.max });
            else if (step.type === "change") {
              revs[step.tenant] = world.nowMs;
              revisions.note([{ kind: "tenant", id: `t${step.tenant}`, rev: world.nowMs }], world.nowMs);
            } else if (step.type === "back") {
              const at = seats.findIndex((seat) => isOpen(seat) && seat.decision?.verdict === "stale");
              const tenant = Number(seats[at]?.ask.tenant.id.slice(1));
              if (at >= 0) seats[at] = desk.arrive(askOf(at, tenant, revs[tenant]));
            } else if (step.type === "turn") await vi.advanceTimersByTimeAsync(0);
            else if (step.type === "reach") budgets.reach = step.reach;
            else {
              const seat = seats[step.who % Math.max(1, seats.length)];
              if (seat === undefined) continue;
              const { requestId, row } = seat.ask;
              const ended = rows.some((one) => one.request_id === requestId) || elsewhere.has(requestId);
              if (step.type === "settle") void desk.settle(seat, { row, actualTokens: 5 });
              else if (step.type === "abandon") desk.abandon(seat);
              else if (step.type === "again" && !ended) seats[seats.indexOf(seat)] = desk.arrive(seat.ask);
              else if (step.type === "elsewhere" && !ended) {
                elsewhere.add(requestId);
                desk.settledElsewhere(row);
              }
              // The replaced permit dies later; it must not touch its successor.
              desk.settle({ ...seat }, { row, actualTokens: 5 }).catch(() => undefined);
            }
            if (step.type !== "adopt")
              expect(scheduler.inFlight).toBeLessThanOrEqual(Math.max(before, scheduler.maxInFlight));
            refused = seats.filter((seat) => isOpen(seat) && seat.decision?.verdict === "refused").length;
            expect(desk.seated).toBe(scheduler.inFlight + scheduler.queued + refused);
          }
          for (const seat of seats) desk.abandon(seat);
          expect([scheduler.inFlight, scheduler.queued, desk.seated]).toEqual([0, 0, 0]);
          await vi.advanceTimersByTimeAsync(6_000);
          const told = [...rows.map((row) => row.request_id), ...elsewhere].sort();
          expect(told).toEqual(seats.map((seat) => seat.ask.requestId).sort());
          budgets.reach = "up";
          await drain(world);
          for (const tenant of [0, 1, 2]) {
            const { reserved } = budgets.core(`t${tenant}`).read("tenant", askOf(0, tenant).limits, world.nowMs);
            expect(reserved).toEqual({ bucketTokens: 0, termTokens: 0, nanoUsd: 0 });
          }

          function isOpen(seat: AdmissionEntry): boolean {
            const { requestId } = seat.ask;
            return !elsewhere.has(requestId) && !rows.some((row) => row.request_id === requestId);
          }
        },
      ),
      { numRuns: 200, examples: [["weighted", ADOPTED_BEHIND_AN_END]] },
    );
  });

  it("keeps the slot of a request that is adopted though its Cell never lost it, and grants it to nobody else", async () => {
    const { desk, scheduler, rows } = admissionHarnessOf("weighted", 1);
    const holder = desk.arrive(askOf(0, 1));
    await desk.decision(holder);
    const waiting = desk.arrive(askOf(1, 0));
    const adopted = desk.adopt(holder.ask);
    expect([scheduler.inFlight, scheduler.queued, waiting.decision, desk.seated]).toEqual([1, 1, null, 2]);
    desk.abandon(holder);
    expect([scheduler.inFlight, rows]).toEqual([1, []]);
    await desk.settle(adopted, { row: holder.ask.row, actualTokens: 5 });
    expect(await desk.decision(waiting)).toMatchObject({ verdict: "granted" });
    expect([scheduler.inFlight, rows.length]).toEqual([1, 1]);
  });

  it("charges a request that is adopted after its permit was lost, and gives back nothing twice", async () => {
    const world = admissionHarnessOf("weighted", 1);
    const { desk, budgets } = world;
    const seat = desk.arrive(askOf(0, 1));
    await desk.decision(seat);
    desk.abandon(seat);
    await desk.settle(desk.adopt(seat.ask), { row: seat.ask.row, actualTokens: 10 });
    world.nowMs += 3_000;
    await vi.advanceTimersByTimeAsync(3_000);
    const refilled = (3 * 40) / 60;
    expect(budgets.core("t1").bucket(askOf(0, 1).limits, world.nowMs).levelTokens).toBeLessThanOrEqual(30 + refilled);
  });

  it("charges such a request only for what its lost permit was not charged", async () => {
    const world = admissionHarnessOf("weighted", 1);
    const { desk, budgets } = world;
    const seat = desk.arrive(askOf(0, 2));
    await desk.decision(seat);
    desk.inUse(seat);
    desk.abandon(seat); // at the estimate, 10
    await desk.settle(desk.adopt(seat.ask), { row: seat.ask.row, actualTokens: 13 });
    await drain(world);
    expect(budgets.core("t2").read("tenant", askOf(0, 2).limits, world.nowMs).account.usedTokens).toBe(13);
  });

  it("charges such a request once, too, when it asks anew and the answer is lost", async () => {
    const world = admissionHarnessOf("weighted", 1);
    const { desk, budgets } = world;
    const seat = desk.arrive(askOf(0, 2));
    await desk.decision(seat);
    desk.inUse(seat);
    desk.abandon(seat); // at the estimate, 10
    const again = { ...seat.ask, waitedMs: 0 };
    await desk.decision(desk.arrive(again));
    const last = desk.arrive(again);
    await desk.decision(last);
    await desk.settle(last, { row: again.row, actualTokens: 5 });
    await drain(world);
    expect(budgets.core("t2").read("tenant", again.limits, world.nowMs).account.usedTokens).toBe(10);
  });

  it("has no slot, no charge and no row for a word of a request that comes after its end", async () => {
    const world = admissionHarnessOf("weighted", 1);
    const { desk, scheduler, budgets, rows } = world;
    const { ask } = desk.arrive(askOf(0, 2));
    await desk.decision(desk.adopt(ask));
    await desk.settle(desk.adopt(ask), { row: ask.row, actualTokens: 5 });
    for (const late of [desk.adopt(ask), desk.arrive(ask)]) {
      expect([scheduler.inFlight, desk.seated, desk.hold(ask.requestId)]).toEqual([0, 0, null]);
      await expect(desk.decision(late)).rejects.toThrow("the permit has ended");
      desk.abandon(late);
    }
    await drain(world);
    expect(rows).toHaveLength(1);
    expect(budgets.core("t2").read("tenant", ask.limits, world.nowMs).account.usedTokens).toBe(5);
  });

  it("says of the row of a request that an earlier life may have ended that it may have come before", async () => {
    const { desk, orphans } = admissionHarnessOf("weighted", 8);
    const [plain, waited, adopted, left] = [askOf(0, 0), { ...askOf(1, 0), waitedMs: 5 }, askOf(2, 0), askOf(3, 0)];
    for (const ask of [plain, waited]) {
      const seat = desk.arrive(ask);
      await desk.decision(seat);
      await desk.settle(seat, { row: ask.row, actualTokens: 1 });
    }
    await desk.settle(desk.adopt(adopted), { row: adopted.row, actualTokens: 1 });
    desk.abandon(desk.adopt(left));
    expect(orphans).toEqual([waited, adopted, left].map((ask) => ask.requestId));
  });

  it("rejects those who wait for the decision on a seat that ends", async () => {
    const { desk } = admissionHarnessOf("weighted", 1);
    desk.arrive(askOf(0, 0));
    const waiting = desk.arrive(askOf(1, 0));
    const decision = desk.decision(waiting);
    desk.abandon(waiting);
    await expect(decision).rejects.toThrow("the permit has ended");
    await expect(desk.decision(waiting)).rejects.toThrow("the permit has ended");
  });

  it("holds the slot while the budget object is asked, and frees it in the turn of a refusal", async () => {
    const { desk, scheduler } = admissionHarnessOf("weighted", 1);
    const first = desk.arrive({ ...askOf(0, 1), need: { bucketTokens: 41, termTokens: 41, nanoUsd: 0 } });
    const next = desk.arrive(askOf(1, 0));
    expect([first.decision, next.decision, scheduler.inFlight, scheduler.queued]).toEqual([null, null, 1, 1]);
    expect(await desk.decision(first)).toMatchObject({
      verdict: "refused",
      refusal: { code: "token_budget_exceeded", retryAfterMs: 1 },
    });
    expect(await desk.decision(next)).toMatchObject({ verdict: "granted", grant: { admission: "queued" } });
    expect([scheduler.inFlight, scheduler.queued, desk.seated]).toEqual([1, 0, 2]);
    expect(scheduler.snapshot(0).tenants.find((tenant) => tenant.tenantId === "t1")?.servedTokens).toBe(0);
  });

  it("refuses thousands who wait in one turn", async () => {
    const { desk, scheduler } = admissionHarnessOf("weighted", 1);
    const holder = desk.arrive(askOf(0, 0));
    const waiting = Array.from({ length: 5_000 }, (_, index) => desk.arrive(askOf(index + 1, 2)));
    await vi.advanceTimersByTimeAsync(0);
    await desk.settle(holder, { row: holder.ask.row, actualTokens: 1 });
    for (const seat of waiting.slice(0, 7)) {
      const decision = await desk.decision(seat);
      if (decision.verdict === "granted") await desk.settle(seat, { row: seat.ask.row, actualTokens: 10 });
    }
    const told = await Promise.all(waiting.slice(7).map(async (seat) => (await desk.decision(seat)).verdict));
    expect(new Set(told)).toEqual(new Set(["refused"]));
    expect([scheduler.inFlight, scheduler.queued]).toEqual([0, 0]);
  });

  it("bills a holder that is gone when its grant was used at once, or when it had said so", () => {
    const { desk, rows } = admissionHarnessOf("weighted", 1);
    const [atOnce, waited, said] = [1, 2, 3].map((number) => desk.arrive(askOf(number, 0)));
    if (atOnce === undefined || waited === undefined || said === undefined) throw new Error("three arrive");
    desk.abandon(atOnce);
    desk.abandon(waited);
    desk.inUse(said);
    desk.abandon(said);
    expect(rows.map((row) => [row.request_id, row.total_tokens])).toEqual([
      ["r1", 10],
      ["r2", 0],
      ["r3", 10],
    ]);
  });
});

describe("10,000 requests that wait", () => {
  it("are not looked at for 1,000 pushed keys; each is compared once, at its turn", () => {
    const { desk, scheduler, revisions } = admissionHarnessOf("weighted", 1, 0);
    const compared = vi.spyOn(revisions, "staleAmong");
    const looked = vi.spyOn(scheduler, "apply");
    const first = desk.arrive(askOf(0, 0));
    for (let number = 1; number <= 10_000; number += 1) desk.arrive(askOf(number, 0));
    looked.mockClear();
    for (let at = 0; at < 1_000; at += 1) revisions.note([{ kind: "key", id: `k${at}`, rev: 2 }], 0);
    expect([compared.mock.calls.length, looked.mock.calls.length]).toEqual([0, 0]);
    desk.abandon(first);
    expect(scheduler.queued).toBe(9_999);
    expect(compared).toHaveBeenCalledTimes(1);
  });
});

/** Lets the budget of every tenant tell what it has to tell. */
async function drain(world: AdmissionHarness): Promise<void> {
  for (let second = 0; second < 30; second += 1) {
    world.nowMs += 1_000;
    await vi.advanceTimersByTimeAsync(1_000);
  }
}
