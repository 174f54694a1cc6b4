/** What the requests of a world really drew and used, as exact sums, independent of what budgets count. */
import type { ActualUsage, Amounts } from "../../../../edge/domain/budget/amounts.ts";
import type { CountedUntil } from "../../../../edge/domain/budget/authority/granted-leases.ts";
import { addTotals, amountsOf, NO_TOTALS, type Totals, totalsOf } from "./totals.ts";

interface ExactUsage {
  readonly tokens: bigint;
  readonly nanoUsd: bigint;
}

/** The Cell of a row, and when its request ended. */
interface RowOrigin {
  readonly cell: string;
  readonly atMs: number;
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
  /** One for each request, and for what it used after its Cell had lost contact with it. */
  readonly #rows: (ExactUsage & { readonly cell: string; readonly atMs: number })[] = [];
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

  /** A request of a Cell ends that had drawn `need` and used this much, of which `before` was counted before. */
  ended(where: RowOrigin, need: Amounts, used: ActualUsage, before: ActualUsage): void {
    const [tokens, nanoUsd] = [BigInt(used.tokens), BigInt(used.nanoUsd)];
    const [moreTokens, moreUsd] = [
      positive(tokens - BigInt(before.tokens)),
      positive(nanoUsd - BigInt(before.nanoUsd)),
    ];
    const drawn = totalsOf(need);
    this.settled = add(this.settled, moreTokens, moreUsd);
    this.#rows.push({ ...where, tokens: moreTokens, nanoUsd: moreUsd });
    const [alreadyOver, over] = [BigInt(before.tokens), tokens].map((all) => positive(all - drawn.termTokens));
    const [alreadyDear, dear] = [BigInt(before.nanoUsd), nanoUsd].map((all) => positive(all - drawn.nanoUsd));
    this.overuse = add(this.overuse, (over ?? 0n) - (alreadyOver ?? 0n), (dear ?? 0n) - (alreadyDear ?? 0n));
    if (before.tokens === 0) this.settledRate += tokens < drawn.bucketTokens ? tokens : drawn.bucketTokens;
  }

  /** What was drawn counts as spent: the ledger has all of it, and no Cell reports it. */
  spentUnheard(where: RowOrigin, need: Amounts): void {
    const drawn = totalsOf(need);
    this.#rows.push({ ...where, tokens: drawn.termTokens, nanoUsd: drawn.nanoUsd });
    this.orphans = addTotals(this.orphans, drawn);
  }

  /** The sum of the rows that ended before `untilMs`, or before the time of their Cell. */
  ledgerSum(untilMs = Infinity, cells: readonly CountedUntil[] = []): ActualUsage {
    const until = new Map(cells.map((each) => [each.cell, each.untilMs]));
    const counted = this.#rows.filter(({ cell, atMs }) => atMs < (until.get(cell) ?? untilMs));
    return asActual(counted.reduce<ExactUsage>((sum, { tokens, nanoUsd }) => add(sum, tokens, nanoUsd), NO_SUM));
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
