/**
 * Thousands of tenants that wait for models which are all full: a decision examines models, not tenants.
 *
 * @module-tag check
 */
import { describe, expect, it } from "vitest";
import type { FairshareAlgorithm } from "../../../shared/fairshare/entitled-slots.ts";
import { propertyRuns } from "../../../test/harness/property-runs.ts";
import { createScheduler } from "./scheduler.ts";
import type { Arrival } from "./types.ts";

const MODELS = 30;
const DECISIONS = 300;
const TENANTS = propertyRuns(2000);

/** The models that the tenants wait for, and their weights. */
interface Scarcity {
  /** Models that a tenant waits for, in order of arrival; -1: one that has room, while the cell has none. */
  readonly models: (tenant: number) => readonly number[];
  readonly groups: number;
  readonly admissionWeight: (model: number) => number;
}

/** A permutation of the models that differs from tenant to tenant. */
const shuffled = (tenant: number): number[] => {
  const order = Array.from({ length: MODELS }, (_, at) => at);
  let state = tenant + 1;
  for (let at = MODELS - 1; at > 0; at -= 1) {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    const other = state % (at + 1);
    [order[at], order[other]] = [order[other] ?? 0, order[at] ?? 0];
  }
  return order;
};

/** The most that is compared or examined in one event and the grants it causes. */
function worstDecision(algorithm: FairshareAlgorithm, tenants: number, scarcity: Scarcity): number {
  let looks = 0;
  let made = 0;
  const scheduler = createScheduler({
    algorithm,
    maxInFlight: MODELS,
    probe: () => {
      looks += 1;
    },
  });
  const arrivalOf = (tenant: number, model: number): Arrival => {
    made += 1;
    return {
      requestId: `r${made}/${model}`,
      tenant: { id: `t${tenant}`, name: `t${tenant}`, weight: 100 + (tenant % 5), maxInFlight: null },
      group: { name: `g${tenant % scarcity.groups}`, weight: 100 + ((tenant % scarcity.groups) % 7) },
      model: {
        name: `m${model}`,
        admissionWeight: scarcity.admissionWeight(model),
        maxInFlight: model === -1 ? null : 1,
      },
      costTokens: 10 + (tenant % 90),
    };
  };
  const running: string[] = [];
  for (let model = 0; model < MODELS; model += 1) {
    const grants = scheduler.apply({ type: "arrive", arrival: arrivalOf(tenants + model, model) }, 0);
    running.push(...grants.map((grant) => grant.requestId));
  }
  for (let tenant = 0; tenant < tenants; tenant += 1)
    for (const model of scarcity.models(tenant))
      scheduler.apply({ type: "arrive", arrival: arrivalOf(tenant, model) }, 0);
  let worst = 0;
  for (let decision = 0; decision < DECISIONS; decision += 1) {
    looks = 0;
    const [done = ""] = running.splice((decision * 7) % running.length, 1);
    const grants = scheduler.apply({ type: "release", requestId: done, actualTokens: 50 }, 1);
    running.push(...grants.map((grant) => grant.requestId));
    worst = Math.max(worst, looks);
    expect(grants.length).toBeLessThanOrEqual(1);
  }
  return worst;
}

const even = () => 100;
const SCARCITIES: readonly (readonly [string, Scarcity])[] = [
  ["one model each", { models: (at) => [at % MODELS], groups: 4, admissionWeight: even }],
  ["all of them, in many orders", { models: shuffled, groups: 4, admissionWeight: even }],
  [
    "many of them, of different weights",
    { models: (at) => shuffled(at).slice(0, 10), groups: 4, admissionWeight: (model) => 100 + 10 * model },
  ],
  [
    "some of them, and one that has room",
    { models: (at) => [...shuffled(at).slice(0, 5), -1], groups: 4, admissionWeight: even },
  ],
  ["the same two, and one that has room", { models: () => [0, 1, -1], groups: 4, admissionWeight: even }],
  [
    "the same two of others' weights, and one that has room",
    {
      models: (at) => (at % 2 === 0 ? [0, 1, -1] : [1, 0, -1]),
      groups: 4,
      admissionWeight: (model) => 110 + 10 * model,
    },
  ],
  [
    "many of them, a group for each tenant",
    { models: (at) => shuffled(at).slice(0, 10), groups: TENANTS, admissionWeight: even },
  ],
];

/**
 * The tenant whose request ended and the granted one have a place at the bottleneck of every model that they wait for, on
 * one level or two; in addition each model is examined, and a few heads that others hold back are moved.
 */
function bound(algorithm: FairshareAlgorithm, tenants: number, { models }: Scarcity): number {
  const levels = algorithm === "weighted" ? 1 : 2;
  return 4 * levels * (models(0).length + MODELS) * Math.log2(tenants);
}

describe.each(["weighted", "hierarchical"] as const)("a release with 30 full models (%s)", (algorithm) => {
  it.each(SCARCITIES)("looks at models, however many tenants wait: %s", (_name, scarcity) => {
    const [few, many] = [TENANTS / 10, TENANTS].map((tenants) => worstDecision(algorithm, tenants, scarcity));
    expect(many).toBeLessThanOrEqual(bound(algorithm, TENANTS, scarcity));
    expect((many ?? 0) - (few ?? 0)).toBeLessThanOrEqual(bound(algorithm, 10, scarcity));
  });
});
