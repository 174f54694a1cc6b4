/**
 * Whoever parks a request, trickles, leaves and comes back, states estimates that are too high or too low, or cancels what
 * it was granted, gains nothing by it (decisions §20.1): it is never ahead of its share by more than two rounds of slots, and
 * those beside it wait no longer than weights and slots say.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runScenario, type ShareRun } from "./run.ts";
import type { Range, Scenario, Source, TenantPlan } from "./scenarios.ts";
import { printedSeed } from "./seed.ts";

const SERVICE: Range = [100, 400];
const TOKENS: Range = [500, 1000];
const seed = printedSeed("adversary.property.test.ts");
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

const source: fc.Arbitrary<Source> = fc.oneof(
  fc.record({
    kind: fc.constant("held" as const),
    requests: fc.integer({ min: 1, max: 3 }),
    holdMs: fc.constantFrom(20_000, 60_000),
    depth: fc.constant(30),
  }),
  fc.record({ kind: fc.constant("trickle" as const), pauseMs: fc.constantFrom(0, 50, 1000) }),
  fc.record({
    kind: fc.constant("comeback" as const),
    depth: fc.constantFrom(1, 30),
    onMs: fc.integer({ min: 500, max: 20_000 }),
    offMs: fc.integer({ min: 500, max: 20_000 }),
  }),
  fc.record({ kind: fc.constant("backlog" as const), depth: fc.constantFrom(1, 30) }),
);
const weight = fc.constantFrom(50, 100, 300);
const play = fc.record({
  source,
  estimate: fc.constantFrom<Range>([1, 1], [5, 50], [0.05, 0.2], [0.1, 20]),
  cancelled: fc.constantFrom(0, 0.3),
  weight,
  rivals: fc.array(weight, { minLength: 1, maxLength: 3, size: "max" }),
  slots: fc.integer({ min: 4, max: 10 }),
  ownGroup: fc.boolean(),
  chance: fc.integer(),
});
type Play = typeof play extends fc.Arbitrary<infer Given> ? Given : never;

function scenarioOf(algorithm: Scenario["algorithm"], given: Play): Scenario {
  const plain = { set: "", groupWeight: 100, startMs: 0, serviceMs: SERVICE, tokens: TOKENS };
  const rivals = given.rivals.map(
    (own, at): TenantPlan => ({
      ...plain,
      id: `rival${at}`,
      group: "g",
      weight: own,
      source: { kind: "backlog", depth: 30 },
    }),
  );
  const { source: asks, estimate, cancelled, weight: own, ownGroup } = given;
  const adversary: TenantPlan = {
    ...plain,
    id: "adversary",
    group: ownGroup ? "adversary" : "g",
    weight: own,
    // Everybody is at work before it comes.
    startMs: 2000,
    source: asks,
    estimate,
    cancelled,
  };
  return {
    name: "adversary",
    title: "adversary",
    algorithm,
    slots: given.slots,
    endMs: 180_000,
    joinMs: 0,
    tenants: [...rivals, adversary],
  };
}

/** By how much the adversary got ahead of its share of what was served, over any time, in tokens. */
function mostAhead({ windows }: ShareRun, share: number): number {
  let ahead = 0;
  let least = 0;
  let most = 0;
  for (const { tokens } of windows) {
    ahead += (tokens.get("adversary") ?? 0) - share * sum([...tokens.values()]);
    least = Math.min(least, ahead);
    most = Math.max(most, ahead - least);
  }
  return most;
}

function longestWait({ waits, stillWaitingMs }: ShareRun, id: string): number {
  return Math.max(0, stillWaitingMs.get(id) ?? 0, ...(waits.get(id) ?? []));
}

/** What `rivals` may be granted before one of `own` weight is next: its last charge in their weights, and two each. */
const turns = (own: number, rivals: readonly number[]): number =>
  sum(rivals.map((rival) => (TOKENS[1] * rival) / own + 2 * TOKENS[1])) / TOKENS[0];

describe("a tenant that plays with what it is charged (weighted)", () => {
  it("is ahead of its share by two rounds of slots at most, over any time, and holds up nobody", () => {
    fc.assert(
      fc.property(play, (given) => {
        const run = runScenario(scenarioOf("weighted", given), given.chance);
        const weights = given.weight + sum(given.rivals);
        // One round of requests whose size is not known before they end, and one to make up for it; whoever is charged too
        // much while it waits makes up for one such charge, and is charged as much again meanwhile.
        const rounds = 2 * TOKENS[1] * (given.slots + 2 + Math.max(0, given.estimate[1] - 1));
        expect(mostAhead(run, given.weight / weights)).toBeLessThanOrEqual(rounds);
        for (const [at, own] of given.rivals.entries()) {
          const others = [given.weight, ...given.rivals.filter((_, other) => other !== at)];
          // Thirty of its own wait before each of its requests; three slots may be held for good.
          const own30 = (30 * (own + sum(others))) / own;
          const bound = SERVICE[1] * (4 + (turns(own, others) + 2 * own30) / (given.slots - 3));
          expect(longestWait(run, `rival${at}`)).toBeLessThanOrEqual(bound);
        }
      }),
      { numRuns: 100, seed },
    );
  });
});

describe("a tenant that plays with what it is charged (hierarchical)", () => {
  it("never holds more than its slot cap while others wait, and holds up nobody", () => {
    fc.assert(
      fc.property(play, (given) => {
        const scenario = scenarioOf("hierarchical", given);
        const run = runScenario(scenario, given.chance);
        const { slots, ownGroup, rivals } = given;
        // Its group has half of the slots, or its tenants share all; nobody has less than one, or more than the share and one.
        const share = ownGroup ? 1 / 2 : given.weight / (given.weight + sum(rivals));
        const cap = Math.max(1, Math.floor(share * slots) + 1);
        for (const { held } of run.windows) expect((held.get("adversary") ?? 0) / 1000).toBeLessThanOrEqual(cap);
        for (const [at, own] of rivals.entries()) {
          const near = [...rivals.filter((_, other) => other !== at), ...(ownGroup ? [] : [given.weight])];
          const own30 = (30 * (own + sum(near))) / own;
          const across = turns(100, ownGroup ? [100] : []) / (slots - 3);
          const bound = SERVICE[1] * (4 + across) * (1 + turns(own, near) + 2 * own30);
          expect(longestWait(run, `rival${at}`)).toBeLessThanOrEqual(bound);
        }
      }),
      { numRuns: 60, seed },
    );
  });
});

const MODELS = { lightest: 1, light: 10, plain: 100 } as const;
type Model = keyof typeof MODELS;
const model = fc.constantFrom<Model>("lightest", "light", "plain");
/** How long the adversary has the cell for itself. */
const ALONE_MS = 5000;
const mix = fc.record({
  // What is held open from before the others come is given back by nobody.
  source: source.filter(({ kind }) => kind !== "held"),
  weight,
  rivals: fc.array(fc.record({ weight, model }), { minLength: 1, maxLength: 3, size: "max" }),
  /** What it really uses, one after the other. */
  models: fc.uniqueArray(model, { minLength: 1, maxLength: 3 }),
  oversized: fc.constantFrom({ share: 0.02, estimate: 2_000_000 }, { share: 0.3, estimate: 100_000 }),
  patienceMs: fc.constantFrom(undefined, 15, 300),
  slots: fc.integer({ min: 4, max: 10 }),
  lateMs: fc.constantFrom(0, 2000, 30_000).map((ms) => ALONE_MS + ms),
  chance: fc.integer(),
});
type Mix = typeof mix extends fc.Arbitrary<infer Given> ? Given : never;

/** Rivals wait throughout, the first from `ALONE_MS` on, the others from `lateMs` on; the adversary sends what comes to nothing, and models of several weights. */
function mixOf(algorithm: Scenario["algorithm"], given: Mix): Scenario {
  const plain = { set: "", group: "g", groupWeight: 100, serviceMs: SERVICE, tokens: TOKENS };
  const backlog: Source = { kind: "backlog", depth: 30 };
  const rivals = given.rivals.map(
    (rival, at): TenantPlan => ({
      ...plain,
      id: `rival${at}`,
      weight: rival.weight,
      models: [rival.model],
      source: backlog,
      // Each comes into whatever the adversary has made of the past.
      startMs: at === 0 ? ALONE_MS : given.lateMs,
    }),
  );
  const own = { ...plain, tenant: "adversary", weight: given.weight, oversized: given.oversized };
  const adversary = given.models.map(
    (name, at): TenantPlan => ({
      ...own,
      id: `adversary/${name}`,
      models: [name],
      source: at === 0 ? given.source : { kind: "comeback", depth: 12, onMs: 7000, offMs: 3000 },
      startMs: 1000 * at,
      // Its last model is asked for and left again.
      ...(at > 0 && given.patienceMs !== undefined ? { patienceMs: given.patienceMs, cancelled: 0.9 } : {}),
    }),
  );
  return {
    name: "mix",
    title: "mix",
    algorithm,
    slots: given.slots,
    endMs: 120_000,
    joinMs: 0,
    tenants: [...rivals, ...adversary],
    admissionWeights: MODELS,
  };
}

const w = (own: number, name: Model): number => Math.max(1, Math.round((own * MODELS[name]) / 100));

describe("a tenant that mixes models of different weights, and asks for what comes to nothing (weighted)", () => {
  it("is never ahead of who waits throughout, and neither ahead nor behind for its sake is whoever comes later", () => {
    fc.assert(
      fc.property(mix, (given) => {
        const { windows } = runScenario(mixOf("weighted", given), given.chance);
        const [first = 1, ...later] = given.rivals.map((rival) => w(rival.weight, rival.model));
        const own = given.models.map((name) => ({ id: `adversary/${name}`, weight: w(given.weight, name) }));
        // One round of requests in flight, and one to make up for it, at the lighter weight of the two.
        const bound = (...weights: number[]): number => (2 * TOKENS[1] * (given.slots + 2)) / Math.min(...weights);
        /** Tokens / weight since a moment, at the end of every window. */
        const served = (id: string, weight: number, fromMs: number): number[] => {
          let total = 0;
          return windows.map(({ endMs, tokens }) => {
            if (endMs > fromMs) total += (tokens.get(id) ?? 0) / weight;
            return total;
          });
        };
        const steady = served("rival0", first, ALONE_MS);
        const adversary = own.map(({ id, weight }) => served(id, weight, ALONE_MS));
        for (const [at, score] of steady.entries()) {
          const ahead = sum(adversary.map((scores) => scores[at] ?? 0)) - score;
          expect(ahead).toBeLessThanOrEqual(bound(first, ...own.map(({ weight }) => weight)));
        }
        const since = served("rival0", first, given.lateMs);
        for (const [index, weight] of later.entries())
          for (const [at, score] of served(`rival${index + 1}`, weight, given.lateMs).entries())
            expect(Math.abs(score - (since[at] ?? 0))).toBeLessThanOrEqual(bound(first, weight));
      }),
      { numRuns: 60, seed },
    );
  });
});

describe("a tenant that mixes models of different weights, and asks for what comes to nothing (hierarchical)", () => {
  it("holds no more slots with each of its models than that one's weight allows", () => {
    fc.assert(
      fc.property(mix, (given) => {
        const run = runScenario(mixOf("hierarchical", given), given.chance);
        const rivals = given.rivals.map((rival) => w(rival.weight, rival.model));
        // From when all are there, and what ran before has ended.
        const windows = run.windows.filter((window) => window.endMs > given.lateMs + 2000);
        for (const name of given.models) {
          const share = w(given.weight, name) / (w(given.weight, name) + sum(rivals));
          const cap = Math.max(1, Math.floor(share * given.slots) + 1);
          for (const { endMs, held } of windows)
            expect([endMs, (held.get(`adversary/${name}`) ?? 0) / 1000 <= cap]).toEqual([endMs, true]);
        }
      }),
      { numRuns: 60, seed },
    );
  });
});
