/**
 * The bound of docs/rules/budgets.md#use-above-the-estimate, counted from what requests really used: used <= cap + what the
 * requests used above their need that were running when the cap was reached + one request. A Cell has reached the cap with
 * the last request that it admits: what ended before that one was taken from a lease, or the authority knew of it.
 */
import type { ActualUsage } from "../../../../edge/domain/budget/amounts.ts";
import { type BudgetLimits, poolOf } from "../../../../edge/domain/budget/limits.ts";
import { perMinute } from "../../../../edge/domain/budget/rates.ts";
import type { BudgetSimulation, RequestWatch } from "./simulation.ts";
import type { SimulatedCell, SimulatedRequest } from "./simulation-parts.ts";

/** What one key's requests used, or used above their need. */
interface Sum {
  tokens: number;
  nanoUsd: number;
  /** Above what was drawn from the bucket. */
  bucketTokens: number;
}

const zero = (): Sum => ({ tokens: 0, nanoUsd: 0, bucketTokens: 0 });

function add(sum: Sum, more: Sum): void {
  sum.tokens += more.tokens;
  sum.nanoUsd += more.nanoUsd;
  sum.bucketTokens += more.bucketTokens;
}

export class CapBound implements RequestWatch {
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

  /** What a tenant's requests have used in all. */
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

  /** What was used or is drawn, and what is over, of one key or of all. */
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
