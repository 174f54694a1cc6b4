/**
 * What the requests of a world really drew and used, independent of what budgets count. The sums are exact however large they have
 * grown: one that stopped at the largest amount would make what is out on lease vanish when some of it comes back.
 */
import type { ActualUsage, Amounts } from "../../../../edge/domain/budget/amounts.ts";
import { saturated } from "../../../../shared/money/amount.ts";

interface Totals {
  readonly bucketTokens: bigint;
  readonly termTokens: bigint;
  readonly nanoUsd: bigint;
}

const NOTHING: Totals = { bucketTokens: 0n, termTokens: 0n, nanoUsd: 0n };

function zip(a: Totals, b: Totals, combine: (x: bigint, y: bigint) => bigint): Totals {
  return {
    bucketTokens: combine(a.bucketTokens, b.bucketTokens),
    termTokens: combine(a.termTokens, b.termTokens),
    nanoUsd: combine(a.nanoUsd, b.nanoUsd),
  };
}

export function addTotals(a: Totals, b: Totals): Totals {
  return zip(a, b, (x, y) => x + y);
}

/** How much the first are more than the second, where they are. */
const excess = (a: Totals, b: Totals): Totals => zip(a, b, (x, y) => (x > y ? x - y : 0n));

export function totalsOf({ bucketTokens, termTokens, nanoUsd }: Amounts): Totals {
  return { bucketTokens: BigInt(bucketTokens), termTokens: BigInt(termTokens), nanoUsd: BigInt(nanoUsd) };
}

/** Nothing of it was drawn from the bucket. */
const usedTotals = ({ tokens, nanoUsd }: ActualUsage): Totals =>
  totalsOf({ bucketTokens: 0, termTokens: tokens, nanoUsd });

/** As budgets count it: what is more than the largest amount stops there, and what is negative is 0. */
export function usageOf({ termTokens, nanoUsd }: Totals): ActualUsage {
  return { tokens: saturated(Number(termTokens)), nanoUsd: saturated(Number(nanoUsd)) };
}

export class RealUsage {
  /** Of requests whose end was reported; of the bucket as much of it as had been drawn there. */
  settled = NOTHING;
  /** By how much requests used more than they had drawn. */
  overuse = NOTHING;
  /** The largest amount that one request needed: a lease may have the size for an earlier request. */
  largest = NOTHING;
  /** Requests that drew from the buckets of requests. */
  admitted = 0;
  /** Of all requests that have a row in the ledger. */
  ledger = NOTHING;
  /** Drawn by requests that only the ledger has counted since. */
  orphans = NOTHING;

  asked(need: Amounts): void {
    this.largest = addTotals(this.largest, excess(totalsOf(need), this.largest));
  }

  /** A request ends that had drawn `need` and used this much; `before` of it was counted before. */
  ended(need: Amounts, used: ActualUsage, before: ActualUsage): void {
    const [all, earlier, drawn] = [usedTotals(used), usedTotals(before), totalsOf(need)];
    const more = excess(all, earlier);
    const bucketTokens = before.tokens > 0 ? 0n : BigInt(Math.min(used.tokens, need.bucketTokens));
    this.settled = addTotals(this.settled, { ...more, bucketTokens });
    this.ledger = addTotals(this.ledger, more);
    this.overuse = addTotals(
      this.overuse,
      zip(excess(all, drawn), excess(earlier, drawn), (x, y) => x - y),
    );
  }

  /** What was drawn counts as spent: the ledger has all of it, and no Cell reports it. */
  spentUnheard(need: Amounts): void {
    this.ledger = addTotals(this.ledger, totalsOf(need));
    this.orphans = addTotals(this.orphans, totalsOf(need));
  }

  get ledgerSum(): ActualUsage {
    return usageOf(this.ledger);
  }

  /** What counters are to have in the end when nothing was lost. */
  get settledSum(): ActualUsage {
    return usageOf(this.settled);
  }
}
