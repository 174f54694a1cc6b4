/**
 * A decision costs O(h log n + slots), however many requests wait and models are full; h: models that one tenant waits for.
 * Comparisons are counted, never time.
 *
 * @module-tag check
 */
import { describe, expect, it } from "vitest";
import type { FairshareAlgorithm } from "../../../shared/fairshare/entitled-slots.ts";
import { propertyRuns } from "../../../test/harness/property-runs.ts";
import { createScheduler } from "./scheduler.ts";
import type { Arrival } from "./types.ts";

const DECISIONS = 300;
/** How many tenants wait, where a crowd does not say. */
const TENANTS = propertyRuns(10_000);

/** What one tenant of many is and waits for. */
interface Crowd {
  readonly groups: number;
  readonly tenantCap: number | null;
  /** Models that a tenant waits for, in order. */
  readonly models: (tenant: number) => readonly string[];
  /** Full models in addition to `full`: `busy0`, `busy1` and so on. The requests that end are for one of them. */
  readonly busy?: number;
  /** How many wait; by default {@link TENANTS}. */
  readonly tenants?: number;
}

/** `full` and `busy<n>` have one slot, which is taken; `tight` has two; the rest have no cap. */
const modelCap = (model: string): number | null => (/^(?:full|busy)/.test(model) ? 1 : model === "tight" ? 2 : null);
/** Every model except the plain ones has its own weight. */
const admissionWeight = (model: string): number => 100 + 10 * Number(model.replaceAll(/\D/g, "") || 0);

/** The most comparisons that one event and the grants it causes take, with `tenants` waiting. */
function worstDecision(algorithm: FairshareAlgorithm, slots: number, tenants: number, crowd: Crowd): number {
  let comparisons = 0;
  let made = 0;
  const scheduler = createScheduler({
    algorithm,
    maxInFlight: slots,
    probe: () => {
      comparisons += 1;
    },
  });
  const known = new Map<string, { readonly tenant: number; readonly model: string }>();
  const arrivalOf = (tenant: number, model: string): Arrival => {
    made += 1;
    return {
      requestId: `r${made}`,
      tenant: { id: `t${tenant}`, name: `t${tenant}`, weight: 100 + (tenant % 5), maxInFlight: crowd.tenantCap },
      group: { name: `g${tenant % crowd.groups}`, weight: 100 + ((tenant % crowd.groups) % 7) },
      model: { name: model, admissionWeight: admissionWeight(model), maxInFlight: modelCap(model) },
      costTokens: 10 + (tenant % 90),
    };
  };
  const arrive = (tenant: number, model: string): readonly string[] => {
    const arrival = arrivalOf(tenant, model);
    known.set(arrival.requestId, { tenant, model });
    return scheduler.apply({ type: "arrive", arrival }, 0).map((grant) => grant.requestId);
  };
  scheduler.apply({ type: "hold", on: true }, 0);
  scheduler.apply({ type: "adopt", arrival: arrivalOf(tenants, "full") }, 0);
  const busy = Array.from({ length: crowd.busy ?? 0 }, (_, at): string => {
    const arrival = arrivalOf(tenants, `busy${at}`);
    known.set(arrival.requestId, { tenant: at, model: `busy${at}` });
    scheduler.apply({ type: "adopt", arrival }, 0);
    return arrival.requestId;
  });
  for (let tenant = 0; tenant < tenants; tenant += 1) for (const model of crowd.models(tenant)) arrive(tenant, model);
  const running = [...busy, ...scheduler.apply({ type: "hold", on: false }, 0).map((grant) => grant.requestId)];
  let worst = 0;
  const count = (decide: () => void): void => {
    comparisons = 0;
    decide();
    worst = Math.max(worst, comparisons);
  };
  for (let decision = 0; decision < DECISIONS; decision += 1) {
    const done = running.shift();
    const { tenant, model } = known.get(done ?? "") ?? { tenant: 0, model: "m" };
    count(() => {
      const granted = scheduler.apply({ type: "release", requestId: done ?? "", actualTokens: 50 }, 1);
      running.push(...granted.map((grant) => grant.requestId));
    });
    count(() => running.push(...arrive(tenant, model)));
    count(() => running.push(...arrive((decision * 37) % tenants, model)));
    count(() => scheduler.apply({ type: "leave", requestId: `r${made}` }, 1));
    count(() => {
      const pushed = { id: `t${(decision * 53) % tenants}`, weight: 100 + (decision % 5) };
      scheduler.apply({ type: "tenant", ...pushed, maxInFlight: crowd.tenantCap }, 1);
    });
  }
  return worst;
}

const CROWDS: readonly (readonly [string, Crowd])[] = [
  ["one model", { groups: 4, tenantCap: null, models: () => ["m"] }],
  ["tenants at their caps", { groups: 4, tenantCap: 1, models: () => ["m"] }],
  ["several models each", { groups: 4, tenantCap: null, models: () => ["m", "n", "o"] }],
  [
    "many models of different weights",
    { groups: 4, tenantCap: null, models: (at) => [`m${at % 97}`, `m${(at * 7) % 101}`, `m${(at * 3) % 53}`] },
  ],
  ["a full model before all others", { groups: 4, tenantCap: null, models: () => ["full", "m"] }],
  ["models full one moment and not the next", { groups: 4, tenantCap: null, models: () => ["tight", "full", "m9"] }],
  [
    "all but a few blocked by one full model",
    { groups: 4, tenantCap: null, models: (at) => (at % 100 === 0 ? ["m"] : ["full"]) },
  ],
  [
    "everybody behind three of 30 full models",
    { groups: 4, tenantCap: null, busy: 30, models: (at) => [0, 7, 19].map((off) => `busy${(at + off) % 30}`) },
  ],
  [
    "everybody behind all of 30 full models",
    {
      groups: 4,
      tenantCap: null,
      busy: 30,
      tenants: propertyRuns(2000),
      models: () => Array.from({ length: 30 }, (_, at) => `busy${at}`),
    },
  ],
  ["one group for each tenant", { groups: TENANTS, tenantCap: null, models: () => ["m"] }],
  [
    "groups blocked by one full model",
    { groups: TENANTS, tenantCap: null, models: (at) => (at % 100 === 0 ? ["m"] : ["full"]) },
  ],
];

/**
 * A dozen competitors are moved at most; and when a full model gets a slot, every competitor that waits there with each of
 * its heads.
 */
const movedAtMost = (crowd: Crowd): number => 12 + (crowd.busy === undefined ? 0 : 3 * crowd.models(0).length);

describe.each(["weighted", "hierarchical"] as const)("the work of a decision (%s)", (algorithm) => {
  it.each(CROWDS)("is O(log n + slots): %s", (_name, crowd) => {
    const moved = movedAtMost(crowd);
    const { tenants = TENANTS } = crowd;
    const few = worstDecision(algorithm, 16, tenants / 10, crowd);
    const many = worstDecision(algorithm, 16, tenants, crowd);
    // Ten times the tenants: every heap is log2(10) levels deeper.
    expect(many - few).toBeLessThanOrEqual(moved * Math.log2(10));
    expect(many).toBeLessThanOrEqual(bound(moved, 16, tenants));
  });

  it.each(CROWDS)("is O(log n + slots) with 128 slots: %s", { tags: ["long"] }, (_name, crowd) => {
    const moved = movedAtMost(crowd);
    const { tenants = TENANTS } = crowd;
    expect(worstDecision(algorithm, 128, tenants, crowd)).toBeLessThanOrEqual(bound(moved, 128, tenants));
  });
});

/** Competitors moved, and the heaviest `2 * slots` put in order, for the slot caps of groups and of tenants. */
function bound(moved: number, slots: number, tenants: number): number {
  return moved * Math.log2(tenants) + 2 * (2 * slots) * Math.log2(2 * slots);
}
