/**
 * Reads single requests from the ledger, newest first, by keyset cursor (docs/rules/usage-reads.md#logs). A page costs
 * the same wherever the cursor is and however long the period is.
 */

import type { UsageLogFilter, UsageLogsQuery } from "../../../shared/schema/usage.ts";
import { USAGE_COLUMNS, type UsageRow } from "../../../shared/usage/usage-row.ts";
import { loggedErrorCode, outcomesOf, usd } from "./expressions.ts";
import { readNewestFirst, type TimeWindow } from "./newest-first.ts";
import { CHOICE_SPAN, tracedAmong } from "./spans.ts";
import type { AnalyticsStore, QueryParams } from "./store.ts";

const DAY_MS = 86_400_000;
const DEFAULT_LIMIT = 50;
const WHOLE_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export type LedgerRow = UsageRow & { readonly has_trace: boolean };

const COLUMNS = USAGE_COLUMNS.map(({ field, type }) => {
  if (field === "ts_ms") return "toUnixTimestamp64Milli(ts) AS ts_ms";
  if (field.endsWith("_usd")) return `${usd(`r.${field}`)} AS ${field}`;
  return type.startsWith("UUID") ? `toString(r.${field}) AS ${field}` : `r.${field} AS ${field}`;
}).join(", ");

/** The rows of one page. Throws 503. */
export async function readLogs(
  store: AnalyticsStore,
  query: UsageLogsQuery,
  nowMs: number,
): Promise<readonly LedgerRow[]> {
  const { where, params } = pageFilter(store.db, query);
  const period = {
    fromMs: query.since_ms ?? nowMs - DAY_MS,
    aroundMs: Math.min(nowMs, query.until_ms ?? nowMs, query.before_ms ?? nowMs),
  };
  const rows = await readNewestFirst(period, query.limit ?? DEFAULT_LIMIT, async (window, limit) => {
    const within = windowFilter(window);
    return await store.rows<UsageRow>(
      `SELECT ${COLUMNS} FROM ${store.db}.usage_raw AS r WHERE ${[...within.where, ...where].join(" AND ")}
       ORDER BY r.ts DESC, toString(r.request_id) DESC LIMIT {limit:UInt32}`,
      { ...params, ...within.params, limit },
    );
  });
  const traced = await tracedAmong(store, rows);
  return rows.map((row) => ({ ...row, has_trace: traced.has(row.request_id) }));
}

function windowFilter({ fromMs, beforeMs }: TimeWindow): { where: readonly string[]; params: QueryParams } {
  const from = "r.ts >= fromUnixTimestamp64Milli({from:Int64})";
  if (beforeMs === null) return { where: [from], params: { from: fromMs } };
  const end = "r.ts < fromUnixTimestamp64Milli({end:Int64})";
  return { where: [from, end], params: { from: fromMs, end: beforeMs } };
}

/** Selects the traced requests that began in the window, or up to a day before it. */
function tracedWithin(db: string): string {
  return `SELECT request_id FROM ${db}.spans
    WHERE start >= fromUnixTimestamp64Milli({from:Int64}) - INTERVAL 1 DAY AND span_name != '${CHOICE_SPAN}'`;
}

/** Conditions on `usage_raw AS r`, and their parameters. */
interface LogFilter {
  readonly where: readonly string[];
  readonly params: QueryParams;
}

/** The filter of a page: of the rows after its cursor. */
function pageFilter(db: string, query: UsageLogsQuery): LogFilter {
  const filter = logFilter(db, query);
  const { before_ms: before, before_request_id: before_id } = query;
  if (before === undefined || before_id === undefined) return filter;
  const after = [
    "(r.ts, toString(r.request_id)) < (fromUnixTimestamp64Milli({before:Int64}), {before_id:String})",
    "r.ts <= fromUnixTimestamp64Milli({before:Int64})",
  ];
  return { where: [...filter.where, ...after], params: { ...filter.params, before, before_id } };
}

/** The conditions of a filter but for the start of its period. */
export function logFilter(db: string, query: UsageLogFilter): LogFilter {
  const params: Record<string, string | number> = {};
  const where: string[] = [];
  const add = (condition: string, name: string, value: string | number | undefined): void => {
    if (value === undefined) return;
    where.push(condition);
    params[name] = value;
  };
  if (!query.include_internal) where.push("r.request_type NOT IN ('health_probe', 'benchmark')");
  add("r.ts <= fromUnixTimestamp64Milli({until:Int64})", "until", query.until_ms);
  add("r.tenant_id = {tenant:UUID}", "tenant", query.tenant_id);
  add("r.key_id = {key:UUID}", "key", query.key_id);
  add("r.model = {model:String}", "model", query.model);
  add("r.request_type = {type:String}", "type", query.request_type);
  add("r.session_id = {session:String}", "session", query.session_id);
  add("r.end_user = {end_user:String}", "end_user", query.end_user);
  add("has(splitByChar(',', r.tags), {tag:String})", "tag", query.tag);
  add(`${loggedErrorCode("r")} = {error:String}`, "error", query.error_code);
  add("r.admission = {admission:String}", "admission", query.admission);
  add("r.cache_status = {cache:String}", "cache", query.cache_status);
  add("r.cell = {cell:String}", "cell", query.cell);
  add("r.total_ms >= {total:UInt32}", "total", query.min_total_ms);
  add("r.queue_wait_ms >= {queued:UInt32}", "queued", query.min_queue_wait_ms);
  const isWhole = query.request_id !== undefined && WHOLE_ID.test(query.request_id);
  add(
    isWhole ? "r.request_id = {request:UUID}" : "startsWith(toString(r.request_id), {request:String})",
    "request",
    query.request_id,
  );
  if (query.status === "success") where.push("r.status_code BETWEEN 200 AND 399");
  if (query.status === "error") where.push("r.status_code >= 400");
  const outcomes = outcomesOf("r");
  if (query.status === "refused") where.push(outcomes.refused_requests);
  if (query.status === "failed") where.push(outcomes.failed_requests);
  if (query.status === "left") where.push(outcomes.left_requests);
  if (query.traced_only === "true") where.push(`r.request_id IN (${tracedWithin(db)})`);
  return { where, params };
}
