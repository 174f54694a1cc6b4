/**
 * Drops whole days of the raw ledger and of spans (docs/rules/settings.md#usage-retention). The daily rollup is never
 * changed. A day is dropped when all of it is older than the retention.
 */
import type { AnalyticsStore } from "./store.ts";

const DAY_MS = 86_400_000;
const TABLES = ["usage_raw", "spans"] as const;

/** Drops what is older than `days`; returns how many partitions of both tables were dropped. Throws 503. */
export async function dropExpired(store: AnalyticsStore, days: number, nowMs: number): Promise<number> {
  const oldestKept = new Date(nowMs - days * DAY_MS).toISOString().slice(0, 10).replaceAll("-", "");
  const expired = await store.rows<{ table: (typeof TABLES)[number]; partition: string }>(
    `SELECT DISTINCT table, partition FROM system.parts
     WHERE database = {db:String} AND table IN {tables:Array(String)} AND active AND partition < {oldest:String}
     ORDER BY partition`,
    { db: store.db, tables: TABLES, oldest: oldestKept },
  );
  for (const { table, partition } of expired) await store.dropDay(table, partition);
  return expired.length;
}
