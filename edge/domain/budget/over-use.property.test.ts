/**
 * Requests that use more than was estimated, by any factor, in several Cells, of several keys, with messages that are late,
 * lost, repeated and overtaken (docs/rules/budgets.md#use-above-the-estimate).
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BudgetSimulation, limitsWith, type RequestWatch } from "../../../test/harness/edge/budget/simulation.ts";
import type { SimulatedCell, SimulatedRequest } from "../../../test/harness/edge/budget/simulation-parts.ts";
import { applyStep } from "../../../test/harness/edge/budget/simulation-steps.ts";
import { propertyRuns } from "../../../test/harness/property-runs.ts";
import type { ActualUsage } from "./amounts.ts";
import { type BudgetLimits, poolOf } from "./limits.ts";
import { perMinute } from "./rates.ts";

/** What one key's requests used, or used above their need. */
interface Sum {
  tokens: number;
  nanoUsd: number;
  /** Above the amount drawn from the bucket. */
  bucketTokens: number;
}

const zero = (): Sum => ({ tokens: 0, nanoUsd: 0, bucketTokens: 0 });

function add(sum: Sum, more: Sum): void {
  sum.tokens += more.tokens;
  sum.nanoUsd += more.nanoUsd;
  sum.bucketTokens += more.bucketTokens;
}

/**
 * The bound, counted from the real use of requests: used <= cap + what the requests used above their need that were running
 * when the cap was reached + one request. A Cell has reached the cap with the last request that it admits: the use of requests
 * that ended before that one was taken from a lease, or the authority knew of it.
 */
class CapBound implements RequestWatch {
  /** By key: what ended requests used. */
  readonly #used = new Map<string, Sum>();
  /** By Cell, pool and key: what requests used above their need that were running at the last admission, or came later. */
  readonly #over = new Map<string, { readonly key: string; readonly pool: string; readonly sum: Sum }>();
  readonly #largest = zero();

  admitted(cell: SimulatedCell, { limits, need }: SimulatedRequest): void {
    this.#largest.tokens = Math.max(this.#largest.tokens, need.termTokens);
    this.#largest.nanoUsd = Math.max(this.#largest.nanoUsd, need.nanoUsd);
    const pool = poolName(cell, limits);
    for (const [name, over] of this.#over) if (over.pool === pool) this.#over.delete(name);
  }

  ended(cell: SimulatedCell, { limits, need }: SimulatedRequest, used: ActualUsage): void {
    const key = limits.key.id;
    const all = this.#used.get(key) ?? zero();
    this.#used.set(key, all);
    add(all, { ...used, bucketTokens: used.tokens });
    const pool = poolName(cell, limits);
    const over = this.#over.get(`${pool} ${key}`) ?? { key, pool, sum: zero() };
    this.#over.set(`${pool} ${key}`, over);
    add(over.sum, {
      tokens: Math.max(0, used.tokens - need.termTokens),
      nanoUsd: Math.max(0, used.nanoUsd - need.nanoUsd),
      bucketTokens: Math.max(0, used.tokens - need.bucketTokens),
    });
  }

  /** The total use of a tenant's requests. */
  get usedTokens(): number {
    return [...this.#used.values()].reduce((sum, { tokens }) => sum + tokens, 0);
  }

  /** The limits that are passed by more than the bound, in words. */
  passed(world: BudgetSimulation, all: readonly BudgetLimits[]): readonly string[] {
    const passed: string[] = [];
    const check = (name: string, cap: number | null, used: number, bound: number) => {
      if (cap !== null && used > cap + bound + 1e-6) passed.push(`${name}: ${used} of ${cap} and ${bound}`);
    };
    for (const [name, limits, key] of [
      ...all.map((limits) => [limits.key.id, limits.key.term, limits.key.id] as const),
      ...all.slice(0, 1).map((limits) => ["tenant", limits.tenant.term, null] as const),
    ]) {
      const { used, over } = this.#sums(world, key);
      check(`tokens of ${name}`, limits.tokens, used.tokens, over.tokens + this.#largest.tokens);
      check(`money of ${name}`, limits.nanoUsd, used.nanoUsd, over.nanoUsd + this.#largest.nanoUsd);
    }
    for (const [key, capTokens] of [
      ...all.map(({ key }) => [key.id, perMinute(key, "tokens")] as const),
      [null, perMinute(all[0]?.tenant ?? {}, "tokens")] as const,
    ]) {
      const { used, over } = this.#sums(world, key);
      const refilled = (world.refilledMs * capTokens) / 60_000;
      const cap = capTokens === 0 ? null : capTokens;
      check(`bucket of ${key ?? "tenant"}`, cap, used.bucketTokens, refilled + over.bucketTokens);
    }
    return passed;
  }

  /** The use and the drawn amounts, and how far they exceed the cap, of one key or of all. */
  #sums(world: BudgetSimulation, key: string | null): { readonly used: Sum; readonly over: Sum } {
    const used = zero();
    const over = zero();
    for (const [id, sum] of this.#used) if (key === null || id === key) add(used, sum);
    for (const entry of this.#over.values()) if (key === null || entry.key === key) add(over, entry.sum);
    for (const { live } of world.cells)
      for (const { limits, need } of live.values())
        if (key === null || limits.key.id === key)
          add(used, { tokens: need.termTokens, nanoUsd: need.nanoUsd, bucketTokens: need.bucketTokens });
    return { used, over };
  }
}

function poolName({ name }: SimulatedCell, limits: BudgetLimits): string {
  return `${name} ${poolOf(limits)}`;
}

const STEPS = [
  [10, "reserve"],
  [2, "expect"],
  [2, "slot"],
  [1, "withdraw"],
  [10, "settle"],
  [14, "deliver"],
  [2, "repeat"],
  [2, "lose"],
  [2, "giveUp"],
  [4, "wait"],
  [2, "checkpoint"],
  [1, "charge"],
] as const;

/** How many times its need a request uses. */
const FACTORS = [0, 1 / 2, 1, 1, 2, 7, 300, 1_000_000] as const;

const small = fc.nat({ max: 1_000 });
const steps = fc.array(
  fc.oneof(
    ...STEPS.map(([weight, what]) => ({
      weight,
      arbitrary: fc.record({
        do: fc.constant(what),
        a: small,
        b: small,
        pool: fc.nat(2),
        factor: fc.constantFrom(...FACTORS),
      }),
    })),
  ),
  { maxLength: 200, size: "max" },
);

/** Limits of two keys with budgets of their own, and of one without. */
function poolsWith(given: Parameters<typeof limitsWith>[0]) {
  const capped = limitsWith(given);
  const plain = limitsWith({ ...given, keyTokens: null, keyNanoUsd: null, keyTokensPerMinute: 0 });
  return [
    capped,
    { ...capped, key: { ...capped.key, id: "key-2" } },
    { ...plain, key: { ...plain.key, id: "key-3" } },
  ] as const;
}

function boundHolds(
  given: Parameters<typeof limitsWith>[0],
  cells: number,
  sequence: typeof steps extends fc.Arbitrary<infer T> ? T : never,
): void {
  const world = new BudgetSimulation(cells);
  const bound = new CapBound();
  world.watch = bound;
  const pools = poolsWith(given);
  const capTokens = given.tokensPerMinute ?? given.keyTokensPerMinute ?? 0;
  for (const { do: what, a, b, pool, factor } of sequence) {
    const cell = world.cell(a);
    if (what === "settle") {
      const live = [...cell.live.values()];
      const ends = live[b % Math.max(1, live.length)];
      if (ends === undefined) continue;
      const tokens = Math.ceil(ends.need.termTokens * factor);
      // Debt stops at the bucket's capacity: beyond it the bucket forgives.
      const owes = bound.usedTokens + tokens - (world.refilledMs * capTokens) / 60_000;
      const used = capTokens > 0 && owes > 1.9 * capTokens ? Math.min(tokens, ends.need.bucketTokens) : tokens;
      world.settle(cell, ends.id, { tokens: used, nanoUsd: used * 3 });
    } else applyStep(world, pools[pool] ?? pools[0], { do: what, a, b }, { overuse: true, scale: 1 });
    expect(bound.passed(world, pools)).toEqual([]);
  }
}

const cells = fc.integer({ min: 1, max: 4 });

describe("what requests use above their need", () => {
  it("passes budgets only by requests that ran when the cap was reached", () => {
    const caps = fc.record({
      tenantTokens: fc.constantFrom(null, 400, 2_000, 20_000, 1_000_000),
      tenantNanoUsd: fc.constantFrom(null, 3_000, 200_000),
      keyTokens: fc.constantFrom(null, 300, 5_000),
      keyNanoUsd: fc.constantFrom(null, 1_500, 20_000),
    });
    fc.assert(fc.property(caps, cells, steps, boundHolds), { numRuns: propertyRuns(3_000) });
  });

  it("passes the per-minute bucket only by requests that ran when it was empty", { tags: ["check"] }, () => {
    const caps = fc.record({ tokensPerMinute: fc.constantFrom(300, 2_000, 20_000) });
    fc.assert(fc.property(caps, cells, steps, boundHolds), { numRuns: propertyRuns(2_000) });
  });

  it("passes a key's bucket only by requests that ran when it was empty", { tags: ["check"] }, () => {
    const caps = fc.record({ keyTokensPerMinute: fc.constantFrom(300, 2_000, 20_000) });
    fc.assert(fc.property(caps, cells, steps, boundHolds), { numRuns: propertyRuns(2_000) });
  });
});
