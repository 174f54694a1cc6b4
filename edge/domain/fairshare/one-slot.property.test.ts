/**
 * Laws of whom one slot goes to, on random traces: both modes and both levels of them agree on the order, and nothing that
 * happened before is credit or debt (docs/rules/fairshare.md#served-score, docs/rules/fairshare.md#choosing-the-next).
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { FairshareAlgorithm } from "../../../shared/fairshare/entitled-slots.ts";
import { propertyRuns } from "../../../test/harness/property-runs.ts";
import { createScheduler } from "./scheduler.ts";
import type { SchedulerEvent } from "./types.ts";

/** What competes: the tenants of one group, or groups of one tenant each. */
const PARTIES = {
  tenants: (id: string, weight: number) => ({ tenant: { id, weight }, group: { name: "g", weight: 100 } }),
  groups: (id: string, weight: number) => ({ tenant: { id, weight: 100 }, group: { name: id, weight } }),
} as const;
const LARGEST = 500;
const party = fc.nat(4);
const turn = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant("arrive" as const),
      party,
      cost: fc.integer({ min: 1, max: LARGEST }),
      elsewhere: fc.boolean(),
    }),
  },
  { weight: 8, arbitrary: fc.record({ do: fc.constant("release" as const), pick: fc.nat(), actual: fc.nat(LARGEST) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("leave" as const), pick: fc.nat() }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("weigh" as const), party, weight: fc.constantFrom(1, 50, 100, 300) }),
  },
);
type Turn = typeof turn extends fc.Arbitrary<infer T> ? T : never;

/** The order in which one slot is granted. No slot cap binds then, so only scores and arrivals decide. */
function orderOnOneSlot(
  algorithm: FairshareAlgorithm,
  as: keyof typeof PARTIES,
  turns: readonly Turn[],
): readonly string[] {
  const scheduler = createScheduler({ algorithm, maxInFlight: 1 });
  const weights = [100, 100, 100, 100, 100];
  const waiting: string[] = [];
  const order: string[] = [];
  const placed = (at: number) => PARTIES[as](`p${at}`, weights[at] ?? 100);
  const apply = (event: SchedulerEvent): void => {
    for (const { requestId } of scheduler.apply(event, order.length)) {
      waiting.splice(waiting.indexOf(requestId), 1);
      order.push(requestId);
    }
  };
  for (const [at, given] of turns.entries()) {
    if (given.do === "arrive") {
      const { tenant, group } = placed(given.party);
      waiting.push(`r${at}`);
      apply({
        type: "arrive",
        arrival: {
          requestId: `r${at}`,
          tenant: { ...tenant, name: tenant.id, maxInFlight: null },
          group,
          model: { name: `m${given.party % 3}`, admissionWeight: 100, maxInFlight: given.party % 3 === 0 ? 1 : null },
          costTokens: given.cost,
        },
      });
    } else if (given.do === "release") {
      const running = order.at(-1);
      if (running !== undefined) apply({ type: "release", requestId: running, actualTokens: given.actual });
    } else if (given.do === "leave") {
      const [requestId] = waiting.splice(given.pick % Math.max(1, waiting.length), 1);
      if (requestId !== undefined) apply({ type: "leave", requestId });
    } else {
      weights[given.party] = given.weight;
      const { tenant, group } = placed(given.party);
      apply({ type: "tenant", ...tenant, group });
    }
  }
  return order;
}

describe("one slot", () => {
  it.each(["tenants", "groups"] as const)(
    "is granted to %s in hierarchical mode in the order of weighted mode",
    (as) => {
      fc.assert(
        fc.property(fc.array(turn, { maxLength: 150, size: "max" }), (turns) => {
          expect(orderOnOneSlot("hierarchical", as, turns)).toEqual(orderOnOneSlot("weighted", "tenants", turns));
        }),
        { numRuns: propertyRuns(300) },
      );
    },
  );
});

/** What the parties compete for: the only slot of a cell, or that of a model in a cell with room. */
const PLACES = { cell: { slots: 1, modelCap: null }, model: { slots: 100, modelCap: 1 } } as const;
const ROUNDS = 100;
const past = fc.record({
  weights: fc.array(fc.constantFrom(50, 100, 300), { minLength: 5, maxLength: 5 }),
  turns: fc.array(turn, { maxLength: 100, size: "max" }),
  /** This party then leaves for a while in which all others wait. */
  away: party,
});
type Past = typeof past extends fc.Arbitrary<infer T> ? T : never;

/** Plays the past, then keeps every party waiting for the place: what each is granted there from then on, in tokens by weight. */
function servedAfter(
  algorithm: FairshareAlgorithm,
  as: keyof typeof PARTIES,
  place: keyof typeof PLACES,
  { weights, turns, away }: Past,
): readonly { readonly weight: number; readonly served: number }[] {
  const { slots, modelCap } = PLACES[place];
  const scheduler = createScheduler({ algorithm, maxInFlight: slots });
  const parties = weights.map((weight, at) => ({ ...PARTIES[as](`p${at}`, weight), weight, served: 0 }));
  const known: { readonly at: number; readonly cost: number; readonly elsewhere: boolean }[] = [];
  const waiting: string[] = [];
  const running: string[] = [];
  const of = (requestId: string) => known[Number(requestId)] ?? { at: 0, cost: 0, elsewhere: false };
  const apply = (event: SchedulerEvent): void => {
    for (const { requestId } of scheduler.apply(event, known.length)) {
      waiting.splice(waiting.indexOf(requestId), 1);
      running.push(requestId);
      const party = parties[of(requestId).at];
      if (party !== undefined) party.served += of(requestId).cost / party.weight;
    }
  };
  const arrive = (at: number, costTokens: number, elsewhere = false): void => {
    const { tenant = { id: "", weight: 0 }, group = { name: "", weight: 0 } } = parties[at] ?? {};
    const requestId = String(known.push({ at, cost: costTokens, elsewhere }) - 1);
    waiting.push(requestId);
    const model = { name: `elsewhere: ${elsewhere}`, admissionWeight: 100, maxInFlight: elsewhere ? null : modelCap };
    const arrival = { requestId, group, model, costTokens, tenant: { ...tenant, name: tenant.id, maxInFlight: null } };
    apply({ type: "arrive", arrival });
  };
  const release = (at: number, actualTokens?: number): void => {
    for (const requestId of running.splice(at, 1))
      apply({ type: "release", requestId, actualTokens: actualTokens ?? of(requestId).cost });
  };
  const leave = (at: number): void => {
    for (const requestId of waiting.splice(at, 1)) apply({ type: "leave", requestId });
  };
  for (const given of turns) {
    if (given.do === "arrive") arrive(given.party, given.cost, given.elsewhere);
    else if (given.do === "release") release(given.pick % Math.max(1, running.length), given.actual);
    else if (given.do === "leave") leave(given.pick % Math.max(1, waiting.length));
  }
  const others = [...parties.keys()].filter((at) => at !== away);
  for (let count = 0; count < ROUNDS; count += 1) for (const at of others) arrive(at, 100);
  while (waiting.some((id) => of(id).at === away)) leave(waiting.findIndex((id) => of(id).at === away));
  for (let round = 0; round < ROUNDS; round += 1) release(0);
  for (let count = 0; count < ROUNDS; count += 1) for (const at of parties.keys()) arrive(at, 100);
  if (place === "model")
    while (running.some((id) => of(id).elsewhere)) release(running.findIndex((id) => of(id).elsewhere));
  for (const party of parties) party.served = 0;
  for (let round = 0; round < ROUNDS; round += 1) release(0);
  return parties;
}

describe("competitors that wait for the same", () => {
  it.each([
    ["weighted", "tenants", "cell"],
    ["weighted", "tenants", "model"],
    ["hierarchical", "tenants", "cell"],
    ["hierarchical", "tenants", "model"],
    ["hierarchical", "groups", "cell"],
    ["hierarchical", "groups", "model"],
  ] as const)("are served by weight, whatever happened before: %s, %s, the slot of a %s", (algorithm, as, place) => {
    fc.assert(
      fc.property(past, (given) => {
        const parties = servedAfter(algorithm, as, place, given);
        for (const one of parties)
          for (const other of parties)
            expect(one.served - other.served).toBeLessThanOrEqual(LARGEST * (1 / one.weight + 1 / other.weight));
      }),
      { numRuns: propertyRuns(100), endOnFailure: true },
    );
  });
});
