/**
 * Fairness on random cells and loads, as the simulator measures it: shares, equality, and waits bounded by weights.
 *
 * @module-tag check
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { propertyRuns } from "../harness/property-runs.ts";
import { measure } from "./measure.ts";
import { runScenario, type ShareRun } from "./run.ts";
import type { Range, Scenario, TenantPlan } from "./scenarios.ts";
import { printedSeed } from "./seed.ts";

fc.configureGlobal({ seed: printedSeed("fairness.property.test.ts") });

const ALGORITHMS = ["weighted", "hierarchical"] as const;
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const seed = fc.integer();
const weight = fc.integer({ min: 1, max: 10 }).map((value) => 50 * value);

function rangeOf(low: number, high: number): fc.Arbitrary<Range> {
  return fc
    .tuple(fc.integer({ min: low, max: high }), fc.integer({ min: low, max: high }))
    .map(([a, b]) => [Math.min(a, b), Math.max(a, b)]);
}

function planOf(id: string, plan: Partial<TenantPlan> & Pick<TenantPlan, "source">): TenantPlan {
  const plain = { set: id, group: "g", groupWeight: 100, weight: 100, startMs: 0 };
  return { id, ...plain, serviceMs: [200, 600], tokens: [200, 2000], ...plan };
}

function cellOf(scenario: Omit<Scenario, "name" | "title" | "joinMs">): Scenario {
  return { name: "random", title: "random", joinMs: 0, ...scenario };
}

describe("long-run shares", () => {
  // Counted from the first request on: the first tenant finds every slot free, and what it uses then counts like everything
  // else.
  it("weighted: of served tokens, within 5 % for requests of any size and length", () => {
    const tenant = fc.record({ weight, tokens: rangeOf(100, 1000), serviceMs: rangeOf(50, 500) });
    fc.assert(
      fc.property(
        fc.array(tenant, { minLength: 2, maxLength: 5, size: "max" }),
        fc.integer({ min: 1, max: 12 }),
        seed,
        (given, slots, chance) => {
          const tenants = given.map((one, at) => planOf(`t${at}`, { ...one, source: { kind: "backlog", depth: 30 } }));
          const weights = sum(given.map((one) => one.weight));
          // Long enough that the lightest tenant is served forty of the largest requests; one request more or less is half
          // the tolerance.
          const tokens = (40 * 1000 * weights) / Math.min(...given.map((one) => one.weight));
          const pace =
            (slots * weights) / sum(given.map((one) => (one.weight * mean(one.serviceMs)) / mean(one.tokens)));
          const scenario = cellOf({ algorithm: "weighted", slots, tenants, endMs: tokens / pace });
          const { windows } = runScenario(scenario, chance);
          const total = sum(windows.flatMap((window) => [...window.tokens.values()]));
          for (const { id, weight: own } of tenants) {
            const share = sum(windows.map((window) => window.tokens.get(id) ?? 0)) / total;
            expect(Math.abs(share - own / weights)).toBeLessThanOrEqual(0.05 * (own / weights));
          }
        },
      ),
      { numRuns: propertyRuns(15) },
    );
  });

  it("hierarchical: of slots by group caps, within 5 % for any number of tenants", () => {
    const group = fc.record({ weight, tenants: fc.integer({ min: 1, max: 12 }), serviceMs: rangeOf(100, 900) });
    fc.assert(
      fc.property(
        // Equal groups take turns by tokens at a slot that cannot be divided, so what each gets of it depends on its
        // requests.
        fc.uniqueArray(group, { minLength: 2, maxLength: 5, size: "max", selector: (one) => one.weight }),
        fc.integer({ min: 5, max: 24 }),
        seed,
        (groups, slots, chance) => {
          const tenants = groups.flatMap(({ tenants: count, weight: groupWeight, serviceMs }, at) =>
            Array.from({ length: count }, (_, index) =>
              planOf(`t${at}/${index}`, {
                set: `g${at}`,
                group: `g${at}`,
                groupWeight,
                serviceMs,
                source: { kind: "backlog", depth: 30 },
              }),
            ),
          );
          const scenario = cellOf({ algorithm: "hierarchical", slots, tenants, endMs: 60_000 });
          for (const { got, due } of slotShares(scenario, runScenario(scenario, chance), 0))
            expect(Math.abs(got - due)).toBeLessThanOrEqual(0.05 * due);
        },
      ),
      { numRuns: propertyRuns(15) },
    );
  });

  it("hierarchical: of a group's slots by its tenants' caps within 5 %", () => {
    const request = fc.record({ serviceMs: rangeOf(100, 900), tokens: rangeOf(100, 2000) });
    fc.assert(
      fc.property(
        fc.tuple(request, request, request),
        fc.integer({ min: 1, max: 3 }),
        seed,
        (requests, each, chance) => {
          // The group of the first two has half of the slots, so each tenant is due a whole number of them.
          const due = [3 * each, each, 4 * each];
          const tenants = requests.map((given, at) =>
            planOf(`t${at}`, {
              ...given,
              weight: at === 0 ? 300 : 100,
              group: at === 2 ? "alone" : "two",
              source: { kind: "backlog", depth: 40 },
            }),
          );
          const scenario = cellOf({ algorithm: "hierarchical", slots: 8 * each, tenants, endMs: 60_000 });
          const windows = runScenario(scenario, chance).windows.slice(2);
          for (const [at, slots] of due.entries()) {
            const held = sum(windows.map((window) => window.held.get(`t${at}`) ?? 0)) / (1000 * windows.length);
            expect(Math.abs(held - slots)).toBeLessThanOrEqual(0.05 * slots);
          }
        },
      ),
      { numRuns: propertyRuns(15) },
    );
  });

  it("hierarchical: of slots by group caps, within 5 % while ten tenants come and go together", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(50, 100, 300),
        fc.integer({ min: 4, max: 16 }),
        fc.integer({ min: 15, max: 30 }),
        seed,
        (groupWeight, slots, requests, chance) => {
          const guests = Array.from({ length: 10 }, (_, at) =>
            planOf(`guest${at}`, {
              set: "guests",
              group: "guests",
              groupWeight,
              source: { kind: "visits", requests, everyMs: 40_000 },
            }),
          );
          const steady = planOf("steady", { group: "steady", source: { kind: "backlog", depth: 40 } });
          const scenario = cellOf({ algorithm: "hierarchical", slots, tenants: [steady, ...guests], endMs: 200_000 });
          // Slots that were lent come back within one service time after the absent tenants return.
          for (const { got, due } of slotShares(scenario, runScenario(scenario, chance), 1))
            expect(Math.abs(got - due)).toBeLessThanOrEqual(0.05 * due);
        },
      ),
      { numRuns: propertyRuns(15) },
    );
  });

  it.each(ALGORITHMS)("are equal among equals, however many there are for however many slots (%s)", (algorithm) => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 24 }), fc.integer({ min: 1, max: 16 }), seed, (count, slots, chance) => {
        const tenants = Array.from({ length: count }, (_, at) =>
          planOf(`t${at}`, { source: { kind: "backlog", depth: 20 } }),
        );
        const scenario = cellOf({ algorithm, slots, tenants, endMs: (60_000 * count) / slots });
        expect(measure(scenario, runScenario(scenario, chance)).jain).toBeGreaterThanOrEqual(0.99);
      }),
      { numRuns: propertyRuns(25) },
    );
  });
});

describe("credit", () => {
  it.each(ALGORITHMS)(
    "is not saved up by an idle tenant: at no time is the tenant ahead of its share (%s)",
    (algorithm) => {
      fc.assert(
        fc.property(
          fc.integer({ min: 1, max: 8 }),
          fc.integer({ min: 1, max: 12 }),
          fc.integer({ min: 5, max: 60 }),
          fc.boolean(),
          seed,
          (busy, slots, idleSeconds, ownGroup, chance) => {
            const late = planOf("late", {
              startMs: 1000 * idleSeconds,
              group: ownGroup ? "late" : "g",
              source: { kind: "backlog", depth: 30 },
            });
            const others = Array.from({ length: busy }, (_, at) =>
              planOf(`t${at}`, { source: { kind: "backlog", depth: 30 } }),
            );
            const endMs = late.startMs + 30_000;
            const scenario = cellOf({ algorithm, slots, tenants: [...others, late], endMs });
            const parties = algorithm === "hierarchical" && ownGroup ? 2 : busy + 1;
            const bySlots = algorithm === "hierarchical" && parties <= slots;
            // There are free slots until the late tenant comes, so tokens were not shared out before, and its rivals differ
            // in them.
            fc.pre(algorithm === "weighted" || ownGroup || bySlots || busy > slots);
            let ahead = 0;
            const { windows } = runScenario(scenario, chance);
            for (const { endMs: atMs, tokens, held } of windows.filter((window) => window.endMs > late.startMs)) {
              ahead += (tokens.get("late") ?? 0) - sum([...tokens.values()]) / parties;
              if (bySlots) expect((held.get("late") ?? 0) / 1000).toBeLessThanOrEqual(Math.ceil(slots / parties));
              // Each tenant holds at most one round of slots and is one request ahead or behind; the largest request has
              // 2000 tokens.
              else expect([atMs, Math.max(0, ahead - 2000 * (slots + 2))]).toEqual([atMs, 0]);
            }
          },
        ),
        { numRuns: propertyRuns(40) },
      );
    },
  );
});

describe("no tenant starves", () => {
  const SERVICE: Range = [100, 400];
  const TOKENS: Range = [500, 1000];
  /**
   * What `rivals` may be granted before a tenant of weight `own` is next: its last charge in their weights, and two
   * requests each.
   */
  const turns = (own: number, rivals: readonly number[]): number =>
    sum(rivals.map((rival) => (TOKENS[1] * rival) / own + 2 * TOKENS[1])) / TOKENS[0];

  it.each(ALGORITHMS)("every wait is bounded by the weights of those who compete (%s)", (algorithm) => {
    const tenant = fc.record({
      weight: fc.constantFrom(1, 10, 100, 1000),
      group: fc.nat(3),
      source: fc.constantFrom<TenantPlan["source"]>(
        { kind: "backlog", depth: 1 },
        { kind: "backlog", depth: 40 },
        { kind: "visits", requests: 20, everyMs: 7000 },
      ),
    });
    fc.assert(
      fc.property(
        fc.array(tenant, { minLength: 2, maxLength: 12, size: "max" }),
        fc.array(weight, { minLength: 4, maxLength: 4 }),
        fc.integer({ min: 1, max: 10 }),
        seed,
        (given, groupWeights, slots, chance) => {
          const tenants = given.map(({ group, ...one }, at) =>
            planOf(`t${at}`, {
              ...one,
              group: `g${group}`,
              groupWeight: groupWeights[group] ?? 100,
              serviceMs: SERVICE,
              tokens: TOKENS,
            }),
          );
          const scenario = cellOf({ algorithm, slots, tenants, endMs: 60_000 });
          const { waits } = runScenario(scenario, chance);
          for (const one of tenants.filter((plan) => plan.source.kind === "backlog" && plan.source.depth === 1)) {
            const rivals = tenants.filter((other) => other !== one);
            const near = algorithm === "weighted" ? rivals : rivals.filter((other) => other.group === one.group);
            const far = [...new Set(rivals.filter((other) => !near.includes(other)).map((other) => other.group))];
            const farWeights = far.map((name) => groupWeights[Number(name.slice(1))] ?? 100);
            const inside = turns(
              one.weight,
              near.map((other) => other.weight),
            );
            const across = turns(one.groupWeight, farWeights) / slots;
            const bound =
              algorithm === "weighted" ? SERVICE[1] * (2 + inside / slots) : SERVICE[1] * (3 + across) * (1 + inside);
            expect(Math.max(0, ...(waits.get(one.id) ?? []))).toBeLessThanOrEqual(bound);
          }
        },
      ),
      { numRuns: propertyRuns(60) },
    );
  });
});

function mean([low, high]: Range): number {
  return (low + high) / 2;
}

/**
 * For every set: the slot time it had, and the slot time to which its groups' caps entitle it, over the seconds in which
 * all groups wait throughout.
 */
function slotShares(scenario: Scenario, run: ShareRun, settling: number): readonly { got: number; due: number }[] {
  const groups = new Set(scenario.tenants.map((plan) => plan.group));
  const windows = run.windows.filter((_, at) => {
    const span = run.windows.slice(Math.max(0, at - 1 - settling), at + 1);
    return span.length === 2 + settling && span.every((window) => window.waiting.size === groups.size);
  });
  expect(windows.length).toBeGreaterThan(10);
  const total = sum(windows.flatMap((window) => [...window.held.values()]));
  return [...new Set(scenario.tenants.map((plan) => plan.set))].map((set) => {
    const ids = scenario.tenants.filter((plan) => plan.set === set).map((plan) => plan.id);
    const got = sum(windows.flatMap((window) => ids.map((id) => window.held.get(id) ?? 0))) / total;
    const due = sum(windows.flatMap((window) => ids.map((id) => window.entitled.get(id) ?? 0))) / windows.length;
    return { got, due };
  });
}
