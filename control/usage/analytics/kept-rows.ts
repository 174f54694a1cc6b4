/**
 * The mark of how far the raw ledger reaches back (docs/rules/storage-layouts.md#usage-raw): the first day (UTC) from which on
 * it has every row. It is the comment of `usage_raw`, and moves before rows are dropped. The oldest row does not show it: that
 * may be a late row of an earlier day. The budgets' check reads the same mark (edge/domain/budget/authority/ledger-query.ts).
 */
import { OUTCOME_COLUMNS } from "./expressions.ts";
import { keptFromStatement } from "./migrations.ts";
import { type Addition, additionOf, HITS, NOT_SERVED_BY_OUTCOME } from "./quarter-rollup.ts";
import type { AnalyticsStore } from "./store.ts";

const DAY_MS = 86_400_000;

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
 * Moves the mark to a day, before which rows are dropped next. What the rollups do not know of those days, because it is older than
 * its column, is added first. Throws 503.
 */
export async function dropRowsBefore(store: AnalyticsStore, day: string): Promise<void> {
  const beforeMs = Date.parse(`${day}T00:00:00Z`);
  for (const addition of [HITS, NOT_SERVED_BY_OUTCOME]) await addMissing(store, addition, { fromMs: 0, beforeMs });
  if (beforeMs > (await rowsKeptFromMs(store))) await store.change(keptFromStatement(store.db, day));
}

/**
 * Adds to the rollups how requests ended on days before the columns came, as far as rows are kept. Rows of the last two days may be
 * on their way between the tables. Throws 503.
 */
export async function addOutcomes(store: AnalyticsStore, nowMs: number): Promise<void> {
  const outcomes = OUTCOME_COLUMNS.map((name) => `sum(${name})`).join(" + ");
  const days = await store.rows<{ startMs: number }>(
    `SELECT toInt64(toUInt16(day)) * 86400000 AS startMs FROM ${store.db}.usage_daily
     WHERE day >= {kept:Date} AND day < {newest:Date}
     GROUP BY day HAVING sum(error_requests) > ${outcomes} ORDER BY day`,
    { kept: dayText(await rowsKeptFromMs(store)), newest: dayText(nowMs - DAY_MS) },
  );
  for (const { startMs } of days)
    await addMissing(store, NOT_SERVED_BY_OUTCOME, { fromMs: startMs, beforeMs: startMs + DAY_MS });
}

/** Adds what rows of a time have of an addition, and the rollups lack; the daily rollup last, which tells whether it was done. */
async function addMissing(
  store: AnalyticsStore,
  addition: Addition,
  { fromMs, beforeMs }: { readonly fromMs: number; readonly beforeMs: number },
): Promise<void> {
  const quartersFromMs = Math.max(fromMs, await store.quartersFromMs());
  const { db } = store;
  const { columns } = addition;
  for (const [table, per, from] of [
    ["usage_quarter", "quarter", quartersFromMs],
    ["usage_daily", "day", fromMs],
  ] as const) {
    const by = `${per}, tenant_id, key_id, model`;
    const within = (time: string): string =>
      `${time} >= fromUnixTimestamp64Milli({from:Int64}) AND ${time} < fromUnixTimestamp64Milli({before:Int64})`;
    const as = (sign: "" | "-"): string => columns.map((name) => `${sign}toInt64(${name}) AS ${name}`).join(", ");
    await store.change(
      `INSERT INTO ${db}.${table} (${by}, ${columns.join(", ")})
       SELECT ${by}, ${columns.map((name) => `greatest(sum(part.${name}), 0) AS missing_${name}`).join(", ")} FROM (
         SELECT ${by}, ${as("")} FROM (${additionOf(addition, db, per, within("u.ts"))})
         UNION ALL
         SELECT ${by}, ${as("-")} FROM ${db}.${table} WHERE ${within(per)}
       ) AS part GROUP BY ${by} HAVING ${columns.map((name) => `missing_${name} > 0`).join(" OR ")}`,
      { from, before: beforeMs },
    );
  }
}

const dayText = (epochMs: number): string => new Date(Math.max(0, epochMs)).toISOString().slice(0, 10);
