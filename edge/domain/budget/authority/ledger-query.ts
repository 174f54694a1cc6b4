/**
 * The query for the use of a tenant, a key or an end user since an instant (docs/rules/budgets.md#check-against-the-ledger),
 * and the reading of its answer: from usage_raw as of the day of its mark, by the start of requests; before it from the
 * rollups, by whole UTC days and, on the day in which the period started, by quarters of an hour that lie in the period. The
 * rollups have no end users. Answers from the response cache were not charged. Requests that ended lately may be left out: live
 * Cells report them, and they would count twice.
 */
import { type ActualUsage, clamped, nanoUsdOf } from "../amounts.ts";
import type { BudgetOwner } from "../limits.ts";

/** The id of a tenant or key, or of an end user: that of the tenant, a slash and a name (limits.ts). */
const OWNER = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:\/(.+))?$/s;
const encoder = new TextEncoder();

/**
 * The statement, answered as TabSeparated: requests that ended at `sinceMs` or later (null: ever) and before `untilMs`. Null:
 * `id` is not valid, or the period has not started, so it has no usage. Sums are of floating point, so that none of them
 * overflows: they are exact up to the largest amount.
 */
export function ledgerQuery(
  db: string,
  whose: BudgetOwner,
  id: string,
  sinceMs: number | null,
  untilMs: number,
): string | null {
  // Also because the dates of the analytics store start over after 2149: a later period would be read as one long ago.
  const begins = sinceMs === null || sinceMs <= untilMs;
  const [, uuid, endUser] = OWNER.exec(id) ?? [];
  if (!begins || uuid === undefined) return null;
  const instant = (ms: number) => `fromUnixTimestamp64Milli(toInt64(${Math.max(0, Math.floor(ms))}), 'UTC')`;
  const own =
    endUser === undefined ? `${whose}_id = '${uuid}'` : `tenant_id = '${uuid}' AND end_user = ${literal(endUser)}`;
  const ofRows = `
      SELECT sum(toFloat64(total_tokens)) AS tokens, sum(cost_usd) AS cost
      FROM ${db}.usage_raw
      WHERE ${own} AND ts >= since AND ts < ${instant(untilMs)} AND toDate(ts) >= kept AND cache_status != 'hit'
        AND ts - toIntervalMillisecond(toInt64(total_ms) - queue_wait_ms) >= since`;
  const ofRollups = `
      UNION ALL
      SELECT sum(toFloat64(total_tokens) - toFloat64(hit_tokens)) AS tokens, sum(cost_usd) AS cost
      FROM ${db}.usage_daily WHERE ${own} AND day >= firstDay AND day < kept
      UNION ALL
      SELECT sum(toFloat64(total_tokens) - toFloat64(hit_tokens)) AS tokens, sum(cost_usd) AS cost
      FROM ${db}.usage_quarter
      WHERE ${own} AND quarter >= since AND toDate(quarter) < firstDay AND toDate(quarter) < kept`;
  return `
    WITH
      ${instant(sinceMs ?? 0)} AS since,
      if(since = toStartOfDay(since), toDate(since), toDate(since) + 1) AS firstDay,
      (SELECT toDateOrZero(any(comment)) FROM system.tables WHERE database = '${db}' AND name = 'usage_raw') AS kept
    SELECT sum(tokens), sum(cost) FROM (${ofRows}${endUser === undefined ? ofRollups : ""}
    ) FORMAT TabSeparated`;
}

/** A client's text in a statement: in hex, so that no part of it is read as SQL. */
function literal(text: string): string {
  return `unhex('${Array.from(encoder.encode(text), (byte) => byte.toString(16).padStart(2, "0")).join("")}')`;
}

/** The sums, capped; null when the answer is unusable. */
export function readLedgerAnswer(text: string): ActualUsage | null {
  const [tokens, cost] = text.trim().split("\t").map(numberOf);
  if (tokens === undefined || cost === undefined || Number.isNaN(tokens) || Number.isNaN(cost)) return null;
  return { tokens: Math.max(0, clamped(Math.round(tokens))), nanoUsd: Math.max(0, nanoUsdOf(cost)) };
}

/** NaN for a text that is not a number. Sums of floating point may be larger than any amount. */
function numberOf(text: string): number {
  if (/^\+?inf$/i.test(text)) return Number.POSITIVE_INFINITY;
  return text === "" ? Number.NaN : Number(text);
}
