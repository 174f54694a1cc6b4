/** A tenant with no budget left and a long queue: it must not delay tenants that have budget. */

import { beforeEach, describe, expect, it, vi } from "vitest";
import type { Caps } from "../../../test/harness/edge/budget/simulation.ts";
import { AdmissionHarness } from "../../../test/harness/edge/cell/admission-harness.ts";
import { admissionRequestOf } from "../../../test/harness/edge/cell/admission-requests.ts";
import { waitingForBudget } from "./admission-entry.ts";

beforeEach(() => vi.useFakeTimers());

const SPENT: readonly Caps[] = [{ tenantTokens: 0 }, { keyTokens: 0 }, { tokensPerMinute: 5 }];

const CASES = (["weighted", "hierarchical"] as const).flatMap((algorithm) =>
  SPENT.map((caps) => [algorithm, caps] as const),
);

describe("a long queue of a tenant with no budget left", () => {
  it.each(CASES)("is refused in the few calls that its first requests need: %s %o", async (algorithm, caps) => {
    const world = new AdmissionHarness(algorithm, 2);
    const { ask, end, scheduler, budgets } = world;
    const holder = ask(admissionRequestOf("holder", "rich"));
    const other = ask(admissionRequestOf("other", "rich"));
    const poor = Array.from({ length: 500 }, (_, index) => ask(admissionRequestOf(`p${index}`, "poor", {}, caps)));
    const rich = Array.from({ length: 2 }, (_, index) => ask(admissionRequestOf(`r${index}`, "rich")));
    await end(holder, 10);
    await end(other, 10);
    await vi.advanceTimersByTimeAsync(0);
    expect(poor.map((entry) => entry.decision?.verdict)).toEqual(poor.map(() => "refused"));
    expect(rich.map((entry) => entry.decision?.verdict)).toEqual(["granted", "granted"]);
    expect(budgets.calls).toBeLessThan(6);
    expect({ inFlight: scheduler.inFlight, queued: scheduler.queued }).toEqual({ inFlight: 2, queued: 0 });
  });

  it("is refused together with its first request when its budget object does not answer", async () => {
    const world = new AdmissionHarness("weighted", 2);
    const { ask, end, scheduler, budgets } = world;
    budgets.reach = "silent";
    const holders = ["a", "b"].map((id) => ask(admissionRequestOf(id, "rich")));
    const poor = Array.from({ length: 50 }, (_, index) =>
      ask(admissionRequestOf(`p${index}`, "poor", {}, { tenantTokens: 9 })),
    );
    const rich = ["c", "d"].map((id) => ask(admissionRequestOf(id, "rich")));
    for (const entry of holders) await end(entry, 10);
    for (let second = 0; second < 3; second += 1) {
      world.nowMs += 1_000;
      await vi.advanceTimersByTimeAsync(1_000);
    }
    expect(poor.map((entry) => entry.decision?.verdict)).toEqual(poor.map(() => "refused"));
    expect(rich.map((entry) => entry.decision?.verdict)).toEqual(["granted", "granted"]);
    expect({ inFlight: scheduler.inFlight, queued: scheduler.queued }).toEqual({ inFlight: 2, queued: 0 });
  });

  it("is shown as waiting for its budget while it holds slots", () => {
    const world = new AdmissionHarness("hierarchical", 1);
    const { ask, scheduler, budgets } = world;
    budgets.reach = "silent";
    const caps = { tenantTokens: 9 };
    for (const id of ["p0", "p1", "p2"]) ask(admissionRequestOf(id, "poor", {}, caps));
    world.nowMs += 250;
    const row = { tenant_id: "poor", tenant: "poor", group: "g", model: "m", oldest_wait_ms: 250 };
    expect([...world.admission.entries].flatMap((entry) => waitingForBudget(entry, world.nowMs))).toEqual([
      { ...row, queued: 1, reason: "budget" },
    ]);
    expect(scheduler.waiting(world.nowMs)).toEqual([{ ...row, queued: 2, reason: "cell_full" }]);
  });
});

it("a request that its budgets refused has waited only for its slot, though it was given up", async () => {
  const world = new AdmissionHarness("weighted", 1);
  const one = world.ask(admissionRequestOf("one", "t", {}, { tenantTokens: 0 }));
  world.nowMs += 2_000;
  await vi.advanceTimersByTimeAsync(2_000);
  expect(one.state).toBe("refused");
  world.admission.giveUp("one");
  await world.end(one, 0, { status_code: 403, admission: "rejected" });
  expect(world.rows).toMatchObject([{ status_code: 403, admission: "rejected", queue_wait_ms: 0 }]);
});

it("a request that its budgets refused, and that is lost, was never admitted", async () => {
  const world = new AdmissionHarness("weighted", 1);
  const one = world.ask(admissionRequestOf("one", "t", {}, { tenantTokens: 0 }));
  await vi.advanceTimersByTimeAsync(2_000);
  expect(one.state).toBe("refused");
  world.admission.giveUp("one");
  world.nowMs += 6_000;
  await vi.advanceTimersByTimeAsync(6_000);
  expect(world.rows).toMatchObject([{ status_code: 499, admission: "rejected", total_tokens: 0, cost_usd: 0 }]);
});
