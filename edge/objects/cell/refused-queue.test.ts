/** A tenant without budget and with a long queue: it must not hold up, nor slow down, those who have one. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Caps } from "../../domain/budget/testing/simulation.ts";
import { admissionHarnessOf } from "./testing/admission-harness.ts";
import { admissionRequestOf } from "./testing/admission-requests.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

const SPENT: readonly Caps[] = [{ tenantTokens: 0 }, { keyTokens: 0 }, { tokensPerMinute: 5 }];

const CASES = (["weighted", "hierarchical"] as const).flatMap((algorithm) =>
  SPENT.map((caps) => [algorithm, caps] as const),
);

describe("a long queue of a tenant without budget", () => {
  it.each(CASES)("is refused in the few trips that its first requests need: %s %o", async (algorithm, caps) => {
    const world = admissionHarnessOf(algorithm, 2);
    const { desk, scheduler, budgets } = world;
    const holder = desk.arrive(admissionRequestOf("holder", "rich"));
    const other = desk.arrive(admissionRequestOf("other", "rich"));
    const poor = Array.from({ length: 500 }, (_, index) =>
      desk.arrive(admissionRequestOf(`p${index}`, "poor", {}, caps)),
    );
    const rich = Array.from({ length: 2 }, (_, index) => desk.arrive(admissionRequestOf(`r${index}`, "rich")));
    await desk.settle(holder, { row: holder.ask.row, actualTokens: 10 });
    await desk.settle(other, { row: other.ask.row, actualTokens: 10 });
    await vi.advanceTimersByTimeAsync(0);
    expect(poor.map((seat) => seat.decision?.verdict)).toEqual(poor.map(() => "refused"));
    expect(rich.map((seat) => seat.decision?.verdict)).toEqual(["granted", "granted"]);
    expect(budgets.calls).toBeLessThan(6);
    expect([scheduler.inFlight, scheduler.queued]).toEqual([2, 0]);
  });

  it("is refused with the first of it when its budget object is silent", async () => {
    const world = admissionHarnessOf("weighted", 2);
    const { desk, scheduler, budgets } = world;
    budgets.reach = "silent";
    const holders = ["a", "b"].map((id) => desk.arrive(admissionRequestOf(id, "rich")));
    const poor = Array.from({ length: 50 }, (_, index) =>
      desk.arrive(admissionRequestOf(`p${index}`, "poor", {}, { tenantTokens: 9 })),
    );
    const rich = ["c", "d"].map((id) => desk.arrive(admissionRequestOf(id, "rich")));
    for (const seat of holders) await desk.settle(seat, { row: seat.ask.row, actualTokens: 10 });
    for (let second = 0; second < 3; second += 1) {
      world.nowMs += 1_000;
      await vi.advanceTimersByTimeAsync(1_000);
    }
    expect(poor.map((seat) => seat.decision?.verdict)).toEqual(poor.map(() => "refused"));
    expect(rich.map((seat) => seat.decision?.verdict)).toEqual(["granted", "granted"]);
    expect([scheduler.inFlight, scheduler.queued]).toEqual([2, 0]);
  });
});
