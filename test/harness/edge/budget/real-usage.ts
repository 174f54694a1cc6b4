/** What the requests of a world really drew and used, as exact sums, independent of what budgets count. */
import type { ActualUsage, Amounts } from "../../../../edge/domain/budget/amounts.ts";
import { addTotals, amountsOf, NO_TOTALS, type Totals, totalsOf } from "./totals.ts";

interface ExactUsage {
  readonly tokens: bigint;
  readonly nanoUsd: bigint;
}

const NO_SUM: ExactUsage = { tokens: 0n, nanoUsd: 0n };

function positive(value: bigint): bigint {
  return value < 0n ? 0n : value;
}

function add(sum: ExactUsage, tokens: bigint, nanoUsd: bigint): ExactUsage {
  return { tokens: sum.tokens + tokens, nanoUsd: sum.nanoUsd + nanoUsd };
}

export class RealUsage {
  /** Of requests whose end was reported. */
  settled: ExactUsage = NO_SUM;
  /** As much of it as had been drawn from the bucket. */
  settledRate = 0n;
  /** By how much requests used more than they had drawn. */
  overuse: ExactUsage = NO_SUM;
  /** The largest amount that one request needed: a lease may have the size for an earlier request. */
  largest: Totals = NO_TOTALS;
  /** Requests that drew from the buckets of requests. */
  admitted = 0;
  /** Of all requests that have a row in the ledger. */
  ledger: ExactUsage = NO_SUM;
  /** Drawn by requests of which only the ledger has heard since. */
  orphans: Totals = NO_TOTALS;

  asked(need: Amounts): void {
    const amounts = totalsOf(need);
    const larger = (a: bigint, b: bigint) => (a < b ? b : a);
    this.largest = {
      bucketTokens: larger(this.largest.bucketTokens, amounts.bucketTokens),
      termTokens: larger(this.largest.termTokens, amounts.termTokens),
      nanoUsd: larger(this.largest.nanoUsd, amounts.nanoUsd),
    };
  }

  /** A request ends that had drawn `need` and used this much, of which `before` was counted before. */
  ended(need: Amounts, used: ActualUsage, before: ActualUsage): void {
    const [tokens, nanoUsd] = [BigInt(used.tokens), BigInt(used.nanoUsd)];
    const [moreTokens, moreUsd] = [
      positive(tokens - BigInt(before.tokens)),
      positive(nanoUsd - BigInt(before.nanoUsd)),
    ];
    const drawn = totalsOf(need);
    this.settled = add(this.settled, moreTokens, moreUsd);
    this.ledger = add(this.ledger, moreTokens, moreUsd);
    const [alreadyOver, over] = [BigInt(before.tokens), tokens].map((all) => positive(all - drawn.termTokens));
    const [alreadyDear, dear] = [BigInt(before.nanoUsd), nanoUsd].map((all) => positive(all - drawn.nanoUsd));
    this.overuse = add(this.overuse, (over ?? 0n) - (alreadyOver ?? 0n), (dear ?? 0n) - (alreadyDear ?? 0n));
    if (before.tokens === 0) this.settledRate += tokens < drawn.bucketTokens ? tokens : drawn.bucketTokens;
  }

  /** What was drawn counts as spent: the ledger has all of it, and no Cell reports it. */
  spentUnheard(need: Amounts): void {
    const drawn = totalsOf(need);
    this.ledger = add(this.ledger, drawn.termTokens, drawn.nanoUsd);
    this.orphans = addTotals(this.orphans, drawn);
  }

  /** What the ledger answers. */
  get ledgerSum(): ActualUsage {
    return asActual(this.ledger);
  }

  /** What counters are to have in the end when nothing was lost. */
  get settledSum(): ActualUsage {
    return asActual(this.settled);
  }
}

function asActual({ tokens, nanoUsd }: ExactUsage): ActualUsage {
  const amounts = amountsOf({ bucketTokens: 0n, termTokens: tokens, nanoUsd });
  return { tokens: amounts.termTokens, nanoUsd: amounts.nanoUsd };
}
