/**
 * Laws for the order in which one slot is granted, on random traces: both modes and both of their levels agree on the order,
 * and the past is neither credit nor debt (docs/rules/fairshare.md#served-score, docs/rules/fairshare.md#choosing-the-next).
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { FairshareAlgorithm } from "../../../shared/fairshare/entitled-slots.ts";
import { propertyRuns } from "../../../test/harness/property-runs.ts";
import { createScheduler } from "./scheduler.ts";
import type { Scheduler, SchedulerEvent } from "./types.ts";

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

/** What the parties compete for: the only slot of a cell, or of a model in a cell with room. */
const PLACES = { cell: { slots: 1, modelCap: null }, model: { slots: 200, modelCap: 1 } } as const;
const ROUNDS = 100;
const past = fc.record({
  weights: fc.array(fc.constantFrom(50, 100, 300), { minLength: 5, maxLength: 5 }),
  turns: fc.array(turn, { maxLength: 100, size: "max" }),
  /** While all others wait, this party then gets nothing: it leaves, or holds as many slots elsewhere as it may. */
  away: party,
  leaves: fc.boolean(),
});
type Past = typeof past extends fc.Arbitrary<infer T> ? T : never;

/**
 * Plays the past, then keeps every party waiting for the place. Returns what each is granted there from then on, in tokens by
 * weight, and what it is owed because it was charged for requests elsewhere that used nothing while it waited.
 */
function servedAfter(
  algorithm: FairshareAlgorithm,
  as: keyof typeof PARTIES,
  place: keyof typeof PLACES,
  { weights, turns, away, leaves }: Past,
): readonly { readonly weight: number; readonly served: number; readonly owed: number }[] {
  const { slots, modelCap } = PLACES[place];
  const scheduler = createScheduler({ algorithm, maxInFlight: slots });
  const parties = weights.map((weight) => ({ weight, served: 0, owed: 0 }));
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
    const { tenant, group } = PARTIES[as](`p${at}`, weights[at] ?? 100);
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
  const heldElsewhere = () => running.findIndex((id) => of(id).elsewhere);
  const others = [...parties.keys()].filter((at) => at !== away);
  for (let count = 0; count < ROUNDS; count += 1) for (const at of others) arrive(at, 100);
  if (place === "cell" || leaves)
    while (waiting.some((id) => of(id).at === away)) leave(waiting.findIndex((id) => of(id).at === away));
  else {
    arrive(away, 100);
    // Far more than it uses: an estimate is no credit either.
    arrive(away, 20 * LARGEST, true);
    const held = running.filter((id) => of(id).at === away && of(id).elsewhere).length;
    apply({ type: "tenant", id: `p${away}`, maxInFlight: held });
  }
  for (let round = 0; round < ROUNDS; round += 1)
    release(running.findIndex((id) => place === "cell" || !of(id).elsewhere));
  if (place === "model")
    for (let held = heldElsewhere(); held >= 0; held = heldElsewhere()) {
      const { at, cost } = of(running[held] ?? "");
      const party = parties[at];
      if (party !== undefined && at !== away) party.owed += cost / party.weight;
      release(held, 0);
    }
  for (let count = 0; count < ROUNDS; count += 1) for (const at of parties.keys()) arrive(at, 100);
  for (const party of parties) party.served = 0;
  for (let round = 0; round < ROUNDS; round += 1) release(0);
  return parties;
}

const CONTESTS = [
  ["weighted", "tenants", "cell"],
  ["weighted", "tenants", "model"],
  ["hierarchical", "tenants", "cell"],
  ["hierarchical", "tenants", "model"],
  ["hierarchical", "groups", "cell"],
  ["hierarchical", "groups", "model"],
] as const;

describe("competitors that wait for the same", () => {
  it.each(CONTESTS)(
    "are served by weight, whatever happened before: %s, %s, the slot of a %s",
    (algorithm, as, place) => {
      fc.assert(
        fc.property(past, (given) => {
          const parties = servedAfter(algorithm, as, place, given);
          for (const one of parties)
            for (const other of parties)
              expect(one.served - one.owed - other.served).toBeLessThanOrEqual(
                LARGEST * (1 / one.weight + 1 / other.weight),
              );
        }),
        { numRuns: propertyRuns(100), endOnFailure: true },
      );
    },
  );
});

/** Tenants that each keep 200 requests waiting for a place. */
class Contest {
  readonly #scheduler: Scheduler;
  readonly #modelCap: number | null;
  #running = "";

  constructor(algorithm: FairshareAlgorithm, place: keyof typeof PLACES) {
    this.#scheduler = createScheduler({ algorithm, maxInFlight: PLACES[place].slots });
    this.#modelCap = PLACES[place].modelCap;
  }

  joins({ tenant, group }: ReturnType<(typeof PARTIES)["tenants"]>): void {
    const model = { name: "m", admissionWeight: 100, maxInFlight: this.#modelCap };
    for (let at = 0; at < 200; at += 1) {
      const owner = { ...tenant, name: tenant.id, maxInFlight: null };
      const arrival = { requestId: `${tenant.id}/${at}`, tenant: owner, group, model, costTokens: 100 };
      this.apply({ type: "arrive", arrival });
    }
  }

  apply(event: SchedulerEvent): void {
    for (const { requestId } of this.#scheduler.apply(event, 0)) this.#running = requestId;
  }

  /** The tenants of the next grants. */
  next(grants: number): readonly string[] {
    return Array.from({ length: grants }, () => {
      this.apply({ type: "release", requestId: this.#running, actualTokens: 100 });
      return this.#running.split("/")[0] ?? "";
    });
  }
}

const countOf = (granted: readonly string[], who: string): number => granted.filter((name) => name === who).length;

describe("a lead over the others", () => {
  it.each(CONTESTS)("is rescaled by a new weight: %s, %s, the slot of a %s", (algorithm, as, place) => {
    const contest = new Contest(algorithm, place);
    contest.joins(PARTIES[as]("heavy", 100));
    contest.joins(PARTIES[as]("light", 1));
    // One request of the light one counts as much as a hundred of the heavy one.
    while (contest.next(1)[0] !== "light");
    const { tenant, group } = PARTIES[as]("light", 100);
    contest.apply({ type: "tenant", ...tenant, group });
    expect(Math.abs(countOf(contest.next(40), "light") - 20)).toBeLessThanOrEqual(2);
  });

  it.each(["cell", "model"] as const)("is taken along to another group: the slot of a %s", (place) => {
    const contest = new Contest("hierarchical", place);
    const inGroup = (id: string, weight: number, name: string) => ({
      tenant: { id, weight },
      group: { name, weight: 100 },
    });
    contest.joins(inGroup("heavy", 100, "g"));
    contest.joins(inGroup("light", 1, "g"));
    contest.joins(inGroup("other", 100, "h"));
    while (contest.next(1)[0] !== "light");
    contest.apply({ type: "tenant", id: "light", group: { name: "h", weight: 100 } });
    const granted = contest.next(100);
    expect({ light: countOf(granted, "light"), heavy: Math.abs(countOf(granted, "heavy") - 50) <= 1 }).toEqual({
      light: 0,
      heavy: true,
    });
  });

  it.each(["cell", "model"] as const)("is none in a group that was served more: the slot of a %s", (place) => {
    const contest = new Contest("hierarchical", place);
    const more = { name: "h", weight: 300 };
    contest.joins({ tenant: { id: "moves", weight: 100 }, group: { name: "g", weight: 100 } });
    contest.joins({ tenant: { id: "stays", weight: 100 }, group: more });
    contest.next(100);
    contest.apply({ type: "tenant", id: "moves", group: more });
    expect(Math.abs(countOf(contest.next(40), "moves") - 20)).toBeLessThanOrEqual(2);
  });
});
