/**
 * What the ledger says a tenant or key has used since an instant (decisions §19.6): from usage_raw while it reaches back
 * that far, else from usage_daily from that UTC day on. How far usage_raw reaches is read off the tables themselves.
 */
import { type Actual, nanoUsdOf } from "../domain/budget/amounts.ts";
import type { Whose } from "../domain/budget/counters.ts";
import type { ClickhouseEnv } from "../env.ts";
import { call, StoreFailure } from "./clickhouse-insert.ts";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The sum over all rows of the tenant or key; `sinceMs` null sums everything. Throws StoreFailure. */
export async function ledgerSum(
  store: ClickhouseEnv,
  whose: Whose,
  id: string,
  sinceMs: number | null,
): Promise<Actual> {
  if (!UUID.test(id)) return { tokens: 0, nanoUsd: 0 };
  const since = `fromUnixTimestamp64Milli(toInt64(${Math.max(0, Math.floor(sinceMs ?? 0))}), 'UTC')`;
  const column = `${whose}_id`;
  const query = `
    WITH
      ${since} AS since,
      (SELECT count() > 0 FROM ${store.db}.usage_raw) AS has_raw,
      (SELECT min(ts) FROM ${store.db}.usage_raw) AS oldest,
      (SELECT min(day) FROM ${store.db}.usage_daily) AS oldest_day,
      has_raw AND (since >= oldest OR oldest_day >= toDate(oldest)) AS complete
    SELECT sum(tokens), sum(cost) FROM (
      SELECT sum(total_tokens) AS tokens, sum(cost_usd) AS cost
      FROM ${store.db}.usage_raw WHERE complete AND ${column} = '${id}' AND ts >= since
      UNION ALL
      SELECT sum(total_tokens) AS tokens, sum(cost_usd) AS cost
      FROM ${store.db}.usage_daily WHERE NOT complete AND ${column} = '${id}' AND day >= toDate(since)
    ) FORMAT TabSeparated`;
  const [tokens, cost] = (await call(store, query, {}, null)).trim().split("\t").map(Number);
  if (tokens === undefined || cost === undefined || !Number.isFinite(tokens + cost)) {
    throw new StoreFailure("unexpected answer");
  }
  return { tokens, nanoUsd: nanoUsdOf(cost) };
}
