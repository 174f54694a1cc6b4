/** The sums of the days of a period, as the reports have them (docs/rules/usage-reads.md#money). Pure. */
import type { Records } from "../../data/api.ts";

type Counted = Pick<Records["DailyUsage"], "requests" | "error_requests" | "total_tokens" | "cost_usd" | "cache_hits">;

interface UsageTotals {
  readonly requests: number;
  readonly errors: number;
  readonly tokens: number;
  readonly cacheHits: number;
  readonly costUsd: number;
}

/** Money is shown with nine decimals: adding up in these loses none. */
const NANO = 1e9;

export function usageTotals(rows: readonly Counted[]): UsageTotals {
  const sum = (of: (row: Counted) => number): number => rows.reduce((total, row) => total + of(row), 0);
  return {
    requests: sum(({ requests }) => requests),
    errors: sum(({ error_requests }) => error_requests),
    tokens: sum(({ total_tokens }) => total_tokens),
    cacheHits: sum(({ cache_hits }) => cache_hits),
    costUsd: sum(({ cost_usd }) => Math.round(cost_usd * NANO)) / NANO,
  };
}
