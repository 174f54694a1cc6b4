/**
 * The figures of usage from rows of the daily rollup (docs/rules/console-figures.md#reports): what is not priced or measured is
 * not known, and a total is the sum of its rows to the last decimal. Pure.
 */
import type { Records } from "../../data/api.ts";

/** What is read of a row. */
type Counted = Pick<
  Records["DailyUsage"],
  | "requests"
  | "success_requests"
  | "refused_requests"
  | "failed_requests"
  | "cache_hits"
  | "input_tokens"
  | "output_tokens"
  | "total_tokens"
  | "cost_usd"
  | "energy_wh"
  | "co2_g"
> &
  // A tenant's user does not get it.
  Partial<Pick<Records["DailyUsage"], "energy_cost_usd">>;

/** Null: not known. */
export interface ReportFigures {
  readonly requests: number | null;
  readonly refused: number | null;
  readonly failed: number | null;
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly tokens: number | null;
  readonly cacheHits: number | null;
  readonly costUsd: number | null;
  readonly energyWh: number | null;
  readonly energyCostUsd: number | null;
  readonly co2Grams: number | null;
}

/** The decimals with which the API rounds each figure (docs/rules/usage-reads.md#money): adding up in these loses none. */
const DECIMALS: Readonly<Record<keyof ReportFigures, number>> = {
  requests: 0,
  refused: 0,
  failed: 0,
  inputTokens: 0,
  outputTokens: 0,
  tokens: 0,
  cacheHits: 0,
  costUsd: 9,
  energyWh: 6,
  energyCostUsd: 9,
  co2Grams: 6,
};
const NAMES = Object.keys(DECIMALS) as readonly (keyof ReportFigures)[];

/**
 * The figures of one row. Requests that a model has worked for and that have cost nothing had no price; those that have used no
 * energy were not measured. Refusals and answers from the cache cost nothing.
 */
export function reportFigures(row: Counted): ReportFigures {
  const isWork = row.success_requests > row.cache_hits || (row.cache_hits === 0 && row.total_tokens > 0);
  const unlessNothing = (amount: number | undefined): number | null => (amount === 0 && isWork ? null : finite(amount));
  return {
    requests: finite(row.requests),
    refused: finite(row.refused_requests),
    failed: finite(row.failed_requests),
    inputTokens: finite(row.input_tokens),
    outputTokens: finite(row.output_tokens),
    tokens: finite(row.total_tokens),
    cacheHits: finite(row.cache_hits),
    costUsd: unlessNothing(row.cost_usd),
    energyWh: unlessNothing(row.energy_wh),
    // Power that costs nothing, or has no carbon, is known where there is energy.
    energyCostUsd: row.energy_wh === 0 ? unlessNothing(row.energy_cost_usd) : finite(row.energy_cost_usd),
    co2Grams: row.energy_wh === 0 ? unlessNothing(row.co2_g) : finite(row.co2_g),
  };
}

/** The sums of what is known; null where that is nothing, and something is not known. */
export function reportTotals(rows: readonly ReportFigures[]): ReportFigures {
  return Object.fromEntries(
    NAMES.map((name) => [
      name,
      sumOf(
        rows.map((row) => row[name]),
        DECIMALS[name],
      ),
    ]),
  ) as Record<keyof ReportFigures, number | null>;
}

/** The change from one amount to another as a fraction of the first; null when it is not known, or from nothing. */
export function changeOf(before: number | null, now: number | null): number | null {
  return before === null || now === null || before === 0 ? null : (now - before) / before;
}

function sumOf(amounts: readonly (number | null)[], decimals: number): number | null {
  const known = amounts.filter((amount) => amount !== null);
  if (known.length < amounts.length && known.every((amount) => amount === 0)) return null;
  const scale = 10 ** decimals;
  const parts = known.map((amount) => Math.round(amount * scale));
  if (!parts.every(Number.isFinite)) return finite(known.reduce((sum, amount) => sum + amount, 0));
  // Whole numbers of any size, so that the order of the rows does not matter.
  return finite(Number(parts.reduce((sum, part) => sum + BigInt(part), 0n)) / scale);
}

function finite(amount: number | undefined): number | null {
  return amount !== undefined && Number.isFinite(amount) ? amount : null;
}
