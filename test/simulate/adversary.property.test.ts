/**
 * A tenant that holds requests open, sends one at a time, leaves and comes back, states estimates that are too high or
 * too low, or cancels what it was granted, gains nothing by it (docs/rules/fairshare.md#served-score): it is never
 * ahead of its share by more than two rounds of slots, and its competitors wait no longer than weights and slots say.
 *
 * @module-tag check
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { propertyRuns } from "../harness/property-runs.ts";
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
  const { source: demand, estimate, cancelled, weight: own, ownGroup } = given;
  const adversary: TenantPlan = {
    ...plain,
    id: "adversary",
    group: ownGroup ? "adversary" : "g",
    weight: own,
    // The rivals hold slots before the adversary starts.
    startMs: 2000,
    source: demand,
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

/** The most that the adversary got ahead of its share of the served tokens, over any time, in tokens. */
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

/**
 * What `rivals` may be granted before a tenant of weight `own` is next: its last charge in their weights, and two requests
 * each.
 */
const turns = (own: number, rivals: readonly number[]): number =>
  sum(rivals.map((rival) => (TOKENS[1] * rival) / own + 2 * TOKENS[1])) / TOKENS[0];

describe("a tenant that plays with what it is charged (weighted)", () => {
  it("is never ahead of its share by more than two rounds of slots, and delays no other tenant", () => {
    fc.assert(
      fc.property(play, (given) => {
        const run = runScenario(scenarioOf("weighted", given), given.chance);
        const weights = given.weight + sum(given.rivals);
        // One round of requests whose size is not known before they end, and one round to make up for it. A tenant that is
        // charged too much while it waits makes up for one such charge, and is charged as much again meanwhile.
        const rounds = 2 * TOKENS[1] * (given.slots + 2 + Math.max(0, given.estimate[1] - 1));
        expect(mostAhead(run, given.weight / weights)).toBeLessThanOrEqual(rounds);
        for (const [at, own] of given.rivals.entries()) {
          const others = [given.weight, ...given.rivals.filter((_, other) => other !== at)];
          // Thirty requests of the rival itself wait before each of its requests; three slots may be held for the whole
          // run.
          const own30 = (30 * (own + sum(others))) / own;
          const bound = SERVICE[1] * (4 + (turns(own, others) + 2 * own30) / (given.slots - 3));
          expect(longestWait(run, `rival${at}`)).toBeLessThanOrEqual(bound);
        }
      }),
      { numRuns: propertyRuns(100), seed },
    );
  });
});

describe("a tenant that plays with what it is charged (hierarchical)", () => {
  it("never holds more than its slot cap while others wait, and delays no other tenant", () => {
    fc.assert(
      fc.property(play, (given) => {
        const scenario = scenarioOf("hierarchical", given);
        const run = runScenario(scenario, given.chance);
        const { slots, ownGroup, rivals } = given;
        // The adversary's group has half of the slots, or all tenants share them; no tenant has less than one slot, or more
        // than its share and one.
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
      { numRuns: propertyRuns(60), seed },
    );
  });
});

const MODELS = { lightest: 1, light: 10, plain: 100 } as const;
type Model = keyof typeof MODELS;
const model = fc.constantFrom<Model>("lightest", "light", "plain");
/** How long the adversary is the only tenant of the cell. */
const ALONE_MS = 5000;
const mix = fc.record({
  // No request that is held open from before the others arrive is given back.
  source: source.filter(({ kind }) => kind !== "held"),
  weight,
  rivals: fc.array(fc.record({ weight, model }), { minLength: 1, maxLength: 3, size: "max" }),
  /** The tokens that its requests really use, one after another. */
  models: fc.uniqueArray(model, { minLength: 1, maxLength: 3 }),
  oversized: fc.constantFrom({ share: 0.02, estimate: 2_000_000 }, { share: 0.3, estimate: 100_000 }),
  leavesAfterMs: fc.constantFrom(undefined, 15, 300),
  slots: fc.integer({ min: 4, max: 10 }),
  lateMs: fc.constantFrom(0, 2000, 30_000).map((ms) => ALONE_MS + ms),
  chance: fc.integer(),
});
type Mix = typeof mix extends fc.Arbitrary<infer Given> ? Given : never;

/**
 * Rivals wait throughout, the first from `ALONE_MS` on, the others from `lateMs` on. The adversary sends requests that use
 * nothing, to models of several weights.
 */
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
      // Each rival starts in a state that the adversary has shaped.
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
      // The adversary sends requests for its last model and cancels them.
      ...(at > 0 && given.leavesAfterMs !== undefined ? { leavesAfterMs: given.leavesAfterMs, cancelled: 0.9 } : {}),
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

describe("a tenant that mixes model weights and sends requests that use nothing (weighted)", () => {
  it("is never ahead of tenants that always wait, and gives newcomers no lead and no lag", () => {
    fc.assert(
      fc.property(mix, (given) => {
        const { windows } = runScenario(mixOf("weighted", given), given.chance);
        const [first = 1, ...later] = given.rivals.map((rival) => w(rival.weight, rival.model));
        const own = given.models.map((name) => ({ id: `adversary/${name}`, weight: w(given.weight, name) }));
        // One round of requests in flight, and one to make up for it, at the smaller of the two weights.
        const bound = (...weights: number[]): number => (2 * TOKENS[1] * (given.slots + 2)) / Math.min(...weights);
        /** Tokens / weight since `fromMs`, at the end of every window. */
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
      { numRuns: propertyRuns(60), seed },
    );
  });
});

describe("a tenant that mixes model weights and sends requests that use nothing (hierarchical)", () => {
  it("holds no more slots with each of its models than the weight of that model allows", () => {
    fc.assert(
      fc.property(mix, (given) => {
        const run = runScenario(mixOf("hierarchical", given), given.chance);
        const rivals = given.rivals.map((rival) => w(rival.weight, rival.model));
        // Counted from when all tenants are there and the earlier requests have ended.
        const windows = run.windows.filter((window) => window.endMs > given.lateMs + 2000);
        for (const name of given.models) {
          const share = w(given.weight, name) / (w(given.weight, name) + sum(rivals));
          const cap = Math.max(1, Math.floor(share * given.slots) + 1);
          for (const { endMs, held } of windows)
            expect([endMs, (held.get(`adversary/${name}`) ?? 0) / 1000 <= cap]).toEqual([endMs, true]);
        }
      }),
      { numRuns: propertyRuns(60), seed },
    );
  });
});
