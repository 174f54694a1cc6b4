/**
 * Sums of the requests that a log lists (docs/rules/usage-reads.md#logs): a list over a month shows them above its first page,
 * and asks again while it is open, so they must not cost a read of every request. Whole days before today come from the daily
 * rollup where it knows the filter: by tenant and key. Of the nil tenant it has refusals of unknown callers, who are refused
 * before a model is looked at, and probes, which name their model. It keeps days of which the log has no requests any more:
 * none before the log's first day is taken from it.
 */
import type { UsageLogFilter, UsageLogTotals } from "../../shared/schema/usage.ts";
import { NIL_UUID } from "../../shared/usage-row.ts";
import { SUM_TOTALS } from "./expressions.ts";
import type { AnalyticsStore } from "./store.ts";
import { logFilter } from "./usage-logs.ts";
import { type WholeDays, wholeDays } from "./usage-sums.ts";

const DAY_MS = 86_400_000;
const NIL = `toUUID('${NIL_UUID}')`;
const USED = "r.input_tokens, r.output_tokens, r.total_tokens, r.cost_usd";
/** The parts of a filter that the rollup has, and the period. */
const ROLLED_UP: ReadonlySet<string> = new Set(["since_ms", "until_ms", "tenant_id", "key_id", "include_internal"]);

const NO_TOTALS: UsageLogTotals = {
  requests: 0,
  errors: 0,
  input_tokens: 0,
  output_tokens: 0,
  total_tokens: 0,
  cost_usd: 0,
};

/** Sums of all rows that the filter selects. Throws 503. */
export async function readLogTotals(
  store: AnalyticsStore,
  query: UsageLogFilter,
  nowMs: number,
): Promise<UsageLogTotals> {
  const from = query.since_ms ?? nowMs - DAY_MS;
  const { where, params } = logFilter(store.db, query);
  const days = await daysOfRollup(store, query, nowMs);
  const period = "r.ts >= fromUnixTimestamp64Milli({from:Int64})";
  const single = (...more: readonly string[]): string =>
    `SELECT toUInt64(1) AS requests, toUInt64(r.status_code >= 400) AS errors, ${USED} FROM ${store.db}.usage_raw AS r
     WHERE ${[period, ...where, ...more].join(" AND ")}`;
  const parts = days === null ? [single()] : partsOf(store.db, query, single);
  const [totals] = await store.rows<UsageLogTotals>(
    `SELECT ${SUM_TOTALS}, sum(u.errors) AS errors FROM (${parts.join(" UNION ALL ")}) AS u`,
    { ...params, from, ...(days === null ? {} : { first_day: days.first, end_day: days.end }) },
  );
  return totals ?? NO_TOTALS;
}

/** The requests before and after the days of the rollup, and those days. */
function partsOf(
  db: string,
  { tenant_id, key_id }: UsageLogFilter,
  single: (...more: readonly string[]) => string,
): readonly string[] {
  const midnight = (name: string): string => `toDateTime64({${name}:Date}, 3, 'UTC')`;
  const rolledUp = [
    "r.day >= {first_day:Date} AND r.day < {end_day:Date}",
    `(r.tenant_id != ${NIL} OR r.model = '')`,
    ...(tenant_id === undefined ? [] : ["r.tenant_id = {tenant:UUID}"]),
    ...(key_id === undefined ? [] : ["r.key_id = {key:UUID}"]),
  ];
  return [
    single(`(r.ts < ${midnight("first_day")} OR r.ts >= ${midnight("end_day")})`),
    `SELECT r.requests AS requests, r.error_requests AS errors, ${USED} FROM ${db}.usage_daily AS r
     WHERE ${rolledUp.join(" AND ")}`,
  ];
}

/** The days of a filter's period that the rollup can stand for; null: none. Throws 503. */
async function daysOfRollup(store: AnalyticsStore, query: UsageLogFilter, nowMs: number): Promise<WholeDays | null> {
  const isOther = Object.entries(query).some(([name, value]) => value !== undefined && !ROLLED_UP.has(name));
  if (isOther || query.include_internal === true) return null;
  const days = wholeDays(query.since_ms ?? nowMs - DAY_MS, query.until_ms, nowMs);
  if (days === null) return null;
  const [log] = await store.rows<{ first: string }>(
    `SELECT toString(toDate(min(r.ts))) AS first FROM ${store.db}.usage_raw AS r`,
    {},
  );
  const first = log !== undefined && log.first > days.first ? log.first : days.first;
  return first < days.end ? { first, end: days.end } : null;
}
