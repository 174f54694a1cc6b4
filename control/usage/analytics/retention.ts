/**
 * Drops whole days of the raw ledger and of spans (docs/rules/settings.md#usage-retention), and whole months of the rollup
 * by quarters (docs/rules/storage-layouts.md#usage-quarter). The daily rollup is never changed. A day or month is dropped
 * when all of it is older than it is to be kept.
 */
import { addOutcomes, dropRowsBefore } from "./kept-rows.ts";
import type { AnalyticsStore } from "./store.ts";
import { QUARTERS_KEPT_DAYS } from "./usage-window.ts";

const DAY_MS = 86_400_000;
const TABLES = ["usage_raw", "spans"] as const;

/** Drops what is older than `days`; returns how many days of rows and spans were dropped. Throws 503. */
export async function dropExpired(store: AnalyticsStore, days: number, nowMs: number): Promise<number> {
  // Checked here for every caller: no mistaken number may delete the ledger.
  if (!Number.isInteger(days) || days < 1) throw new RangeError(`${days} is no number of days to keep rows`);
  await addOutcomes(store, nowMs);
  const oldestDay = new Date(nowMs - days * DAY_MS).toISOString().slice(0, 10);
  const expired = await store.rows<{ table: (typeof TABLES)[number]; partition: string }>(
    `SELECT DISTINCT table, partition FROM system.parts
     WHERE database = {db:String} AND table IN {tables:Array(String)} AND active AND partition < {oldest:String}
     ORDER BY partition`,
    { db: store.db, tables: TABLES, oldest: oldestDay.replaceAll("-", "") },
  );
  if (expired.some(({ table }) => table === "usage_raw")) await dropRowsBefore(store, oldestDay);
  for (const { table, partition } of expired) await store.dropPartition(table, partition);
  await dropQuarters(store, nowMs);
  return expired.length;
}

async function dropQuarters(store: AnalyticsStore, nowMs: number): Promise<void> {
  const oldestKept = new Date(nowMs - QUARTERS_KEPT_DAYS * DAY_MS).toISOString().slice(0, 7).replace("-", "");
  const expired = await store.rows<{ partition: string }>(
    `SELECT DISTINCT partition FROM system.parts
     WHERE database = {db:String} AND table = 'usage_quarter' AND active AND partition < {oldest:String}
     ORDER BY partition`,
    { db: store.db, oldest: oldestKept },
  );
  for (const { partition } of expired) await store.dropPartition("usage_quarter", partition);
}
