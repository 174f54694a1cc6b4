/**
 * The mark of how far the raw ledger reaches back (docs/rules/storage-layouts.md#usage-raw): the first day (UTC) from which on
 * it has every row. It is the comment of `usage_raw`, and moves before rows are dropped. The oldest row does not show it: that
 * may be a late row of an earlier day. The budgets' check reads the same mark (edge/domain/budget/authority/ledger-query.ts).
 */
import { keptFromStatement } from "./migrations.ts";
import { hitsOf } from "./quarter-rollup.ts";
import type { AnalyticsStore } from "./store.ts";

/** The mark, epoch ms. `withinMs`: the deadline. Throws 503. */
export async function rowsKeptFromMs(store: AnalyticsStore, withinMs?: number): Promise<number> {
  const [table] = await store.rows<{ comment: string }>(
    "SELECT comment FROM system.tables WHERE database = {db:String} AND name = 'usage_raw'",
    { db: store.db },
    withinMs,
  );
  return Date.parse(`${table?.comment ?? ""}T00:00:00Z`) || 0;
}

/**
 * Moves the mark to a day, before which rows are dropped next. What the rollups do not know of the hits of those days, which
 * are older than that column, is added first. Throws 503.
 */
export async function dropRowsBefore(store: AnalyticsStore, day: string): Promise<void> {
  const quartersFromMs = await store.quartersFromMs();
  await addHits(store, "usage_daily", "day", day, 0);
  await addHits(store, "usage_quarter", "quarter", day, quartersFromMs);
  const keptMs = await rowsKeptFromMs(store);
  if (Date.parse(`${day}T00:00:00Z`) > keptMs) await store.change(keptFromStatement(store.db, day));
}

async function addHits(
  store: AnalyticsStore,
  table: string,
  per: "day" | "quarter",
  day: string,
  fromMs: number,
): Promise<void> {
  const before = "toDateTime64({day:Date}, 3, 'UTC')";
  const where = `u.ts < ${before} AND u.ts >= fromUnixTimestamp64Milli({from:Int64})`;
  const by = `${per}, tenant_id, key_id, model`;
  const { db } = store;
  await store.change(
    `INSERT INTO ${db}.${table} (${by}, hit_tokens)
     SELECT ${by}, sum(tokens) AS missing FROM (
       SELECT ${by}, toInt64(hit_tokens) AS tokens FROM (${hitsOf(db, per, where)})
       UNION ALL
       SELECT ${by}, -toInt64(hit_tokens) AS tokens FROM ${db}.${table} WHERE ${per} < ${before}
     ) GROUP BY ${by} HAVING missing > 0`,
    { day, from: fromMs },
  );
}
