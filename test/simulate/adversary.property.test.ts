/**
 * Whoever parks a request, trickles, leaves and comes back, states estimates that are too high or too low, or cancels what
 * it was granted, gains nothing by it (decisions §20.1): it is never ahead of its share by more than two rounds of slots, and
 * those beside it wait no longer than weights and slots say.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Run, runScenario } from "./run.ts";
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
function mostAhead({ windows }: Run, share: number): number {
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

function longestWait({ waits, stillWaitingMs }: Run, id: string): number {
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
