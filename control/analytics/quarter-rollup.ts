/**
 * The rollup by quarter of an hour (docs/rules/storage-layouts.md#usage-quarter): what a view makes of inserted rows, and
 * where reads by days of a zone take their rows from. Invariant: the view takes exactly the rows of the rollup's start and
 * later. Rows from before it are in the raw ledger alone, so that the two together have every row once.
 */
import { NIL_UUID } from "../../shared/usage-row.ts";
import { DECODED, OK, oneDecimal, registeredModel, TOKENS_PER_SEC } from "./expressions.ts";
import type { AnalyticsStore, QueryParams } from "./store.ts";

/** How long quarters are kept, in days. */
export const QUARTERS_KEPT_DAYS = 400;

const DAY_MS = 86_400_000;
const LEVELS = "0.5, 0.95, 0.99";
const TIMES = ["ttft", "total", "queue_wait"] as const;

const SUMMED = [
  "input_tokens",
  "output_tokens",
  "total_tokens",
  "estimated_tokens",
  "cost_usd",
  "energy_wh",
  "energy_cost_usd",
  "co2_g",
] as const;
const COUNTED = ["requests", "success_requests", "error_requests", "cache_hits", "cache_misses"] as const;

/** The columns of the table. */
export const QUARTER_COLUMNS = [
  "quarter DateTime('UTC')",
  "tenant_id UUID",
  "key_id UUID",
  "model LowCardinality(String)",
  ...COUNTED.map((name) => `${name} SimpleAggregateFunction(sum, UInt64)`),
  ...SUMMED.map((name) => `${name} SimpleAggregateFunction(sum, ${name.endsWith("_tokens") ? "UInt64" : "Float64"})`),
  ...["sum_ttft_ms", "sum_total_ms"].map((name) => `${name} SimpleAggregateFunction(sum, UInt64)`),
  ...TIMES.map((name) => `${name}_ms AggregateFunction(quantilesBFloat16(${LEVELS}), UInt32)`),
  "gen_speed AggregateFunction(quantileBFloat16(0.5), Float64)",
].join(",\n      ");

/** The quarters of the rows of `usage_raw AS u` that meet a condition, one row per quarter, tenant, key and model. */
export const quartersOf = (db: string, where: string): string => `
      SELECT toStartOfFifteenMinutes(u.ts) AS quarter, u.tenant_id AS tenant_id, u.key_id AS key_id,
        ${registeredModel("u")} AS model,
        count() AS requests,
        countIf(${OK}) AS success_requests,
        countIf(u.status_code >= 400) AS error_requests,
        countIf(u.cache_status = 'hit') AS cache_hits,
        countIf(u.cache_status = 'miss') AS cache_misses,
        ${SUMMED.map((name) => `sum(u.${name}) AS ${name}`).join(",\n        ")},
        sumIf(u.ttft_ms, ${OK}) AS sum_ttft_ms,
        sumIf(u.total_ms, ${OK}) AS sum_total_ms,
        ${TIMES.map((name) => `quantilesBFloat16StateIf(${LEVELS})(u.${name}_ms, ${OK}) AS ${name}_ms`).join(",\n        ")},
        quantileBFloat16StateIf(0.5)(${TOKENS_PER_SEC}, ${DECODED}) AS gen_speed
      FROM ${db}.usage_raw AS u WHERE u.request_type != 'benchmark' AND ${where}
      GROUP BY quarter, tenant_id, key_id, model`;

/** A DateTime64 from a time in UTC, YYYY-MM-DD HH:MM:SS. */
export const instantOf = (text: string): string => `toDateTime64('${text}', 3, 'UTC')`;

/** What is read of the rollup; times in epoch ms, at full quarters of an hour. */
interface QuarterScope {
  readonly fromMs: number;
  /** Exclusive. */
  readonly beforeMs: number;
  readonly tenant_id?: string | undefined;
  readonly key_ids?: readonly string[] | undefined;
  readonly model?: string | undefined;
  /** Whether rows of the nil tenant count. */
  readonly unknownCallers: boolean;
}

interface QuarterRows {
  /** For FROM: rows with the columns of the table, to be summed and merged. */
  readonly from: string;
  readonly params: QueryParams;
}

/**
 * The quarters of a period. Those from before the rollup's start, which an older version has written, are made from the raw
 * ledger, while it has them. Throws 503.
 */
export async function quarterRows(store: AnalyticsStore, scope: QuarterScope): Promise<QuarterRows> {
  const startMs = await store.quartersFromMs();
  const params: Record<string, string | number | readonly string[]> = { from: scope.fromMs, before: scope.beforeMs };
  const whose: string[] = [];
  const add = (condition: string, name: string, value: string | readonly string[] | undefined): void => {
    if (value === undefined) return;
    whose.push(condition);
    params[name] = value;
  };
  add("u.tenant_id = {tenant:UUID}", "tenant", scope.tenant_id);
  add("u.key_id IN {keys:Array(UUID)}", "keys", scope.key_ids);
  if (!scope.unknownCallers) whose.push(`u.tenant_id != toUUID('${NIL_UUID}')`);
  const modelIs = (column: string): readonly string[] =>
    scope.model === undefined ? [] : [`${column} = {name:String}`];
  if (scope.model !== undefined) params["name"] = scope.model;
  const within = (column: string, at: (name: string) => string): readonly string[] => [
    `${column} >= ${at("from")}`,
    `${column} < ${at("before")}`,
  ];
  const quarters = [
    ...within("u.quarter", (name) => `toDateTime(intDiv({${name}:Int64}, 1000), 'UTC')`),
    ...whose,
    ...modelIs("u.model"),
  ];
  const kept = `SELECT * FROM ${store.db}.usage_quarter AS u WHERE ${quarters.join(" AND ")}`;
  if (scope.fromMs >= startMs) return { from: `(${kept})`, params };
  const raw = [
    ...within("u.ts", (name) => `fromUnixTimestamp64Milli({${name}:Int64})`),
    "u.ts < fromUnixTimestamp64Milli({start:Int64})",
    ...whose,
    ...modelIs(registeredModel("u")),
  ];
  const from = `(${kept} UNION ALL ${quartersOf(store.db, raw.join(" AND "))})`;
  return { from, params: { ...params, start: startMs } };
}

/**
 * The part of a period of which there are quarters, at most. Without this, a period of any length would be walked day by
 * day. Null: none of it.
 */
export function keptDays(firstDay: string, lastDay: string, nowMs: number): readonly [string, string] | null {
  const oldest = dayOf(nowMs - (QUARTERS_KEPT_DAYS + 2) * DAY_MS);
  const newest = dayOf(nowMs + 2 * DAY_MS);
  const [first, last] = [firstDay > oldest ? firstDay : oldest, lastDay < newest ? lastDay : newest];
  return first > last ? null : [first, last];
}

const dayOf = (epochMs: number): string => new Date(epochMs).toISOString().slice(0, 10);

/** p50, p95 and p99 of each time over successful requests, 1 decimal; null when there were none. */
export const PERCENTILES = TIMES.flatMap((name) =>
  ["p50", "p95", "p99"].map((level, at) => {
    const value = `quantilesBFloat16Merge(${LEVELS})(u.${name}_ms)[${at + 1}]`;
    return `if(isFinite(${value}), round(${value}, 1), NULL) AS ${level}_${name}_ms`;
  }),
).join(", ");

/** Median of output tokens per second of decoding, from the states of quarters. */
export const MERGED_TOKENS_PER_SEC = oneDecimal("quantileBFloat16Merge(0.5)(u.gen_speed)");
