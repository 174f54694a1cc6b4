/**
 * The question to the ledger what a tenant or key has used since an instant (decisions §19.6), and the reading of its
 * answer: from usage_raw while it reaches back that far, else from usage_daily from that UTC day on. How far usage_raw
 * reaches is read off the tables themselves.
 */
import { type Actual, nanoUsdOf } from "./amounts.ts";
import type { Whose } from "./counters.ts";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The statement, answered as TabSeparated; `sinceMs` null sums everything. Null: `id` is no id, so nothing is its own. */
export function ledgerQuery(db: string, whose: Whose, id: string, sinceMs: number | null): string | null {
  if (!UUID.test(id)) return null;
  const since = `fromUnixTimestamp64Milli(toInt64(${Math.max(0, Math.floor(sinceMs ?? 0))}), 'UTC')`;
  const own = `${whose}_id = '${id}'`;
  return `
    WITH
      ${since} AS since,
      (SELECT count() > 0 FROM ${db}.usage_raw) AS has_raw,
      (SELECT min(ts) FROM ${db}.usage_raw) AS oldest,
      (SELECT min(day) FROM ${db}.usage_daily) AS oldest_day,
      has_raw AND (since >= oldest OR oldest_day >= toDate(oldest)) AS complete
    SELECT sum(tokens), sum(cost) FROM (
      SELECT sum(total_tokens) AS tokens, sum(cost_usd) AS cost
      FROM ${db}.usage_raw WHERE complete AND ${own} AND ts >= since
      UNION ALL
      SELECT sum(total_tokens) AS tokens, sum(cost_usd) AS cost
      FROM ${db}.usage_daily WHERE NOT complete AND ${own} AND day >= toDate(since)
    ) FORMAT TabSeparated`;
}

/** The sums; null when the answer is none. */
export function readLedgerAnswer(text: string): Actual | null {
  const [tokens, cost] = text.trim().split("\t").map(Number);
  if (tokens === undefined || cost === undefined || !Number.isFinite(tokens + cost)) return null;
  return { tokens, nanoUsd: nanoUsdOf(cost) };
}
