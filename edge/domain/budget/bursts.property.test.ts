/**
 * Buckets that Cells share, compared with buckets by definition (docs/rules/budgets.md#per-minute-buckets): each holds at most
 * its capacity, whatever part of it is out on lease, and whatever capacity it had before.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  BudgetSimulation,
  type Caps,
  limitsWith,
  type RequestWatch,
} from "../../../test/harness/edge/budget/simulation.ts";
import type { SimulatedCell, SimulatedRequest } from "../../../test/harness/edge/budget/simulation-parts.ts";
import { applyStep } from "../../../test/harness/edge/budget/simulation-steps.ts";
import { propertyRuns } from "../../../test/harness/property-runs.ts";
import type { BudgetLimits } from "./limits.ts";
import { amountOf, perMinute, RATE_NAMES, type Rate } from "./rates.ts";

/** The buckets of a tenant and its keys, with nothing on lease: a request takes from them when it is admitted. */
class DefinedBuckets implements RequestWatch {
  readonly #world: BudgetSimulation;
  readonly #buckets = new Map<string, { cap: number; level: number; atMs: number }>();
  /** What was served although the bucket did not hold it. */
  readonly passed: string[] = [];

  constructor(world: BudgetSimulation) {
    this.#world = world;
  }

  admitted(_cell: SimulatedCell, { limits, need }: SimulatedRequest): void {
    for (const [name, rate] of namesOf(limits)) {
      const bucket = this.#refilled(name);
      if (bucket === null) continue;
      bucket.level -= amountOf(need, rate);
      if (bucket.level < -1e-6) this.passed.push(`${name}: ${-bucket.level} beyond ${bucket.cap}`);
    }
  }

  ended(): void {
    // Its use equals its draw.
  }

  /** Capacities change. */
  set(limits: BudgetLimits): void {
    for (const [name, , cap] of namesOf(limits)) {
      if (cap === 0) continue;
      const before = this.#refilled(name);
      const level = before === null ? cap : Math.min(before.level, cap);
      this.#buckets.set(name, { cap, level, atMs: this.#world.nowMs });
    }
  }

  #refilled(name: string) {
    const bucket = this.#buckets.get(name);
    if (bucket === undefined) return null;
    const { nowMs } = this.#world;
    bucket.level = Math.min(bucket.cap, bucket.level + ((nowMs - bucket.atMs) * bucket.cap) / 60_000);
    bucket.atMs = nowMs;
    return bucket;
  }
}

function namesOf({ tenant, key }: BudgetLimits): readonly (readonly [name: string, rate: Rate, cap: number])[] {
  return [tenant, key].flatMap((owner) =>
    RATE_NAMES.map((rate) => [`${rate} of ${owner.id}`, rate, perMinute(owner, rate)] as const),
  );
}

const TEN = { bucketTokens: 10, termTokens: 10, nanoUsd: 0, requests: 1 };

/** A request that leaves, or is given up, while it waits has drawn its need. The need is returned later, as unused. */
const STEPS = [
  [10, "reserve"],
  [3, "expect"],
  [3, "slot"],
  [1, "withdraw"],
  [6, "settle"],
  [14, "deliver"],
  [1, "lose"],
  [4, "wait"],
  [1, "rest"],
  [1, "checkpoint"],
  [1, "crashAuthority"],
  [1, "crashCell"],
  [1, "loseSight"],
  [1, "comeBack"],
  [1, "change"],
] as const;

const small = fc.nat({ max: 1_000 });
const steps = fc.array(
  fc.oneof(
    ...STEPS.map(([weight, what]) => ({
      weight,
      arbitrary: fc.record({ do: fc.constant(what), a: small, b: small, plain: fc.boolean() }),
    })),
  ),
  { maxLength: 200, size: "max" },
);
/** A limit that there is not, or the capacities that it has one after the other. */
const cap = (...values: readonly number[]) =>
  fc.oneof(fc.constant([0]), fc.array(fc.constantFrom(...values), { minLength: 1, maxLength: 4 }));
const caps = fc.record({
  tokensPerMinute: cap(100, 600, 6_000),
  requestsPerMinute: cap(1, 4, 40),
  keyTokensPerMinute: cap(100, 600, 6_000),
  keyRequestsPerMinute: cap(1, 4, 40),
});

describe("a bucket that is shared by two cells", () => {
  /** As many requests of 10 tokens as a cell is served at once. */
  function serveAll(world: BudgetSimulation, cell: SimulatedCell, limits: BudgetLimits): number {
    for (let served = 0; ; served += 1) {
      const id = world.reserve(cell, limits, TEN);
      while (world.calls.length > 0) world.deliver(world.nextCall());
      if (world.verdicts.get(id)?.kind !== "ok") return served;
      world.settle(cell, id, { tokens: 10, nanoUsd: 0 });
    }
  }

  it("does not refill what one of them may still spend", () => {
    const world = new BudgetSimulation(2);
    const limits = limitsWith({ tokensPerMinute: 600 });
    const [first, second] = [world.cell(0), world.cell(1)];
    world.reserve(first, limits, TEN);
    while (world.calls.length > 0) world.deliver(world.nextCall());
    world.advance(4_900);
    const served = serveAll(world, second, limits) + serveAll(world, first, limits);
    expect({ tokens: 10 * served, isMore: served > 60 }).toMatchObject({ isMore: false });
  });

  it("is not filled again by a lease that is older than its lower capacity", () => {
    const world = new BudgetSimulation(2);
    const [first, second] = [world.cell(0), world.cell(1)];
    world.reserve(first, limitsWith({ tokensPerMinute: 6_000 }), TEN);
    while (world.calls.length > 0) world.deliver(world.nextCall());
    const lowered = limitsWith({ tokensPerMinute: 300, rev: 2 });
    world.core.limitsChanged(lowered, world.coreMs);
    let served = 0;
    for (let secs = 0; secs < 10; secs += 1) {
      served += serveAll(world, second, lowered);
      world.calm(1_000);
    }
    expect({ tokens: 10 * served, isMore: 10 * served > 350 }).toMatchObject({ isMore: false });
  });

  it("stays in debt by its capacity when another cell gives back what was on lease before", () => {
    const world = new BudgetSimulation(2);
    const limits = limitsWith({ tokensPerMinute: 600 });
    const [first, second] = [world.cell(0), world.cell(1)];
    world.reserve(first, limits, TEN);
    while (world.calls.length > 0) world.deliver(world.nextCall());
    const tooLarge = world.reserve(second, limits, TEN);
    while (world.calls.length > 0) world.deliver(world.nextCall());
    world.settle(second, tooLarge, { tokens: 5_000, nanoUsd: 0 });
    const debt = () => world.core.buckets(limits, world.coreMs).tenant.tokens.levelTokens;
    while (world.calls.length > 0) world.deliver(world.nextCall());
    const atMs = world.coreMs;
    expect(debt()).toBe(-600);
    world.calm(7_000);
    expect(debt()).toBe(-600 + (world.coreMs - atMs) / 100);
  });

  it("stays in the debt that a lower capacity leaves, when a lease of before comes back", () => {
    const world = new BudgetSimulation(2);
    const limits = limitsWith({ tokensPerMinute: 600 });
    const [first, second] = [world.cell(0), world.cell(1)];
    world.reserve(first, limits, TEN);
    while (world.calls.length > 0) world.deliver(world.nextCall());
    const large = world.reserve(second, limits, TEN);
    while (world.calls.length > 0) world.deliver(world.nextCall());
    world.settle(second, large, { tokens: 1_000, nanoUsd: 0 });
    while (world.calls.length > 0) world.deliver(world.nextCall());
    const lowered = limitsWith({ tokensPerMinute: 60, rev: 2 });
    world.core.limitsChanged(lowered, world.coreMs);
    const debt = () => world.core.buckets(lowered, world.coreMs).tenant.tokens.levelTokens;
    const atMs = world.coreMs;
    expect(debt()).toBe(-60);
    world.calm(7_000);
    expect(debt()).toBe(-60 + (world.coreMs - atMs) / 1_000);
  });

  it("gets back what requests do not use of their estimates once its debt is paid, whatever ran with it", () => {
    const world = new BudgetSimulation(1);
    const limits = limitsWith({ tokensPerMinute: 600 });
    const cell = world.cell(0);
    const need = { bucketTokens: 100, termTokens: 100, nanoUsd: 0, requests: 1 };
    const serve = (): string | null => {
      const id = world.reserve(cell, limits, need);
      while (world.calls.length > 0) world.deliver(world.nextCall());
      return world.verdicts.get(id)?.kind === "ok" ? id : null;
    };
    const long: string[] = [];
    for (let minute = 0; minute < 10; minute += 1) {
      for (let id = serve(); id !== null; id = serve()) long.push(id);
      world.calm(60_000);
    }
    const tooLarge = serve();
    if (tooLarge === null) throw new Error("nothing was served");
    world.settle(cell, tooLarge, { tokens: 100_000, nanoUsd: 0 });
    world.calm(61_000);
    let served = 0;
    for (let secs = 0; secs < 120; secs += 1) {
      for (let id = serve(); id !== null; id = serve(), served += 1) world.settle(cell, id, { tokens: 10, nanoUsd: 0 });
      world.calm(1_000);
    }
    expect({ ran: long.length, isLittle: 10 * served < 0.8 * 1_200 }).toEqual({ ran: 60, isLittle: false });
  });
});

const step = (what: (typeof STEPS)[number][1], a = 0, b = 0, plain = false) => ({ do: what, a, b, plain });
/**
 * Two lives of a Cell report one request, while a lowered capacity is full; once it is raised, what the request had drawn returns.
 */
const REPORTED_BY_TWO_LIVES = [
  step("reserve"),
  step("deliver"),
  step("loseSight"),
  step("comeBack"),
  step("reserve"),
  step("crashCell"),
  step("expect"),
  step("deliver", 0, 887),
  step("change"),
  step("reserve"),
  step("reserve", 0, 337, true),
  step("deliver"),
  step("expect"),
  step("wait", 72),
  step("settle"),
  step("change"),
  step("slot"),
  step("wait", 13),
  step("slot"),
  step("deliver", 0, 421),
  step("deliver"),
  step("deliver"),
  step("deliver"),
];
/** The object starts again twice; in between a lowered capacity forgives a part of its debt. */
const STARTED_AGAIN_TWICE = [
  step("change"),
  step("expect"),
  step("deliver"),
  step("change"),
  step("expect"),
  step("slot"),
  step("deliver"),
  step("deliver"),
  step("crashAuthority"),
  step("change"),
  step("crashAuthority"),
  step("reserve", 0, 0, true),
  step("deliver", 0, 639),
];
const LOWERED_REQUESTS = {
  tokensPerMinute: [0],
  requestsPerMinute: [1, 4],
  keyTokensPerMinute: [0],
  keyRequestsPerMinute: [1],
};
const LOWERED_AND_RAISED = {
  tokensPerMinute: [100, 600],
  requestsPerMinute: [0],
  keyTokensPerMinute: [0],
  keyRequestsPerMinute: [4],
};

it("buckets serve no more than their capacity at once, whatever is on lease or changes", () => {
  fc.assert(
    fc.property(caps, fc.integer({ min: 1, max: 3 }), steps, (given, cells, sequence) => {
      const world = new BudgetSimulation(cells);
      const defined = new DefinedBuckets(world);
      world.watch = defined;
      let rev = 0;
      let [keyed, unkeyed] = [limitsWith({}), limitsWith({})];
      const change = (): void => {
        const at = (values: readonly number[]) => values[rev % values.length] ?? 0;
        rev += 1;
        const now: Caps = Object.fromEntries(Object.entries(given).map(([name, values]) => [name, at(values)]));
        keyed = limitsWith({ ...now, rev });
        unkeyed = { ...keyed, key: { ...limitsWith({ rev }).key, id: "key-2" } };
        for (const limits of [keyed, unkeyed]) {
          defined.set(limits);
          world.core.limitsChanged(limits, world.coreMs);
        }
        world.checkpoint();
      };
      change();
      for (const { do: what, a, b, plain } of sequence) {
        const cell = world.cell(a);
        const limits = plain ? unkeyed : keyed;
        const tokens = 1 + (b % 120);
        const need = { bucketTokens: tokens, termTokens: tokens, nanoUsd: 0, requests: 1 };
        if (what === "reserve") world.reserve(cell, limits, need);
        else if (what === "expect") world.expect(cell, limits, need);
        else if (what === "slot") {
          const expected = [...cell.expected.values()][0];
          if (expected !== undefined) world.reserve(cell, limits, expected.need, { ...expected, limits });
        } else if (what === "settle") {
          const live = [...cell.live.values()][b % Math.max(1, cell.live.size)];
          if (live !== undefined) world.settle(cell, live.id, { tokens: live.need.bucketTokens, nanoUsd: 0 });
        } else if (what === "withdraw") {
          const expected = [...cell.expected.keys()][b % Math.max(1, cell.expected.size)];
          if (expected !== undefined) world.withdraw(cell, expected);
        } else if (what === "rest") world.advance(a * 40);
        else if (what === "crashCell") world.crashCell(cell, true);
        else if (what === "change") change();
        else applyStep(world, limits, { do: what, a, b }, { overuse: false, scale: 1 });
        expect(defined.passed).toEqual([]);
      }
    }),
    {
      numRuns: propertyRuns(2_000),
      examples: [
        [LOWERED_AND_RAISED, 1, REPORTED_BY_TWO_LIVES],
        [LOWERED_REQUESTS, 1, STARTED_AGAIN_TWICE],
      ],
    },
  );
});
