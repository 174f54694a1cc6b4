/**
 * Counts of the requests that a log lists, over time and by value (docs/rules/usage-reads.md#facets): one pass over the rows of the
 * period, and one more for each facet whose own filter is set, which does not narrow it.
 */
import { FACETS, type Facet } from "../../../shared/schema/log-facets.ts";
import type { UsageLogFilter } from "../../../shared/schema/usage.ts";
import { COUNTED_OUTCOMES, loggedErrorCode, OK } from "./expressions.ts";
import type { AnalyticsStore } from "./store.ts";
import { logFilter } from "./usage-logs.ts";
import { windowOf } from "./usage-window.ts";

const VALUES_MAX = 10;
const BUCKETS_MAX = 100;
const DAY_MS = 86_400_000;
/** A longer pass is given up, also by the store. */
const PASS_SECS_MAX = 15;
/** Widths that people read: 1 second to 12 hours. */
const WIDTHS_MS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200].map(
  (secs) => secs * 1000,
);

/** By what rows are counted; a status is a condition, which counts of all rows have. */
const VALUES = {
  bucket: "toString(intDiv(toUnixTimestamp64Milli(u.ts), {bucket:Int64}) * {bucket:Int64})",
  model: "u.model",
  tenant_id: "toString(u.tenant_id)",
  key_id: "toString(u.key_id)",
  error_code: loggedErrorCode("u"),
  request_type: "toString(u.request_type)",
} as const;
type Grouping = keyof typeof VALUES;

interface Counts {
  readonly requests: number;
  readonly success_requests: number;
  readonly refused_requests: number;
  readonly failed_requests: number;
  readonly left_requests: number;
}
type Row = Counts & { readonly grouping: Grouping | "status"; readonly value: string };

interface CountedLog {
  readonly fromMs: number;
  readonly toMs: number;
  readonly widthMs: number;
  readonly buckets: readonly (Counts & { readonly startMs: number })[];
  readonly facets: readonly {
    readonly facet: Facet;
    readonly values: readonly { readonly value: string; readonly requests: number }[];
    readonly hasMore: boolean;
  }[];
}

/** The width of a bucket: the least one with which a period has at most 100. */
export function bucketWidthMs(lastsMs: number): number {
  const width = WIDTHS_MS.find((one) => lastsMs / one <= BUCKETS_MAX);
  return width ?? Math.ceil(lastsMs / BUCKETS_MAX / DAY_MS) * DAY_MS;
}

/** The counts. `facets`: those that the reader has. Throws 503. */
export async function readLogFacets(
  store: AnalyticsStore,
  query: UsageLogFilter,
  facets: readonly Facet[],
  nowMs: number,
): Promise<CountedLog> {
  const { fromMs } = windowOf(query, nowMs);
  const toMs = Math.max(fromMs, query.until_ms ?? nowMs);
  const widthMs = bucketWidthMs(toMs - fromMs);
  const isSet = (facet: Facet): boolean => query[facet] !== undefined;
  const pass = async (filter: UsageLogFilter, of: readonly (Facet | "bucket")[]) =>
    await readPass(store, filter, of, { from: fromMs, bucket: widthMs });
  const rows = (
    await Promise.all([
      pass(query, ["bucket", ...facets.filter((facet) => !isSet(facet))]),
      ...facets.filter(isSet).map(async (facet) => await pass({ ...query, [facet]: undefined }, [facet])),
    ])
  ).flat();
  return {
    fromMs,
    toMs,
    widthMs,
    buckets: rows
      .filter(({ grouping }) => grouping === "bucket")
      .map((row) => ({ ...row, startMs: Number(row.value) }))
      .sort((a, b) => a.startMs - b.startMs),
    facets: FACETS.filter((facet) => facets.includes(facet)).map((facet) => {
      const values = facet === "status" ? statusesOf(rows) : rows.filter(({ grouping }) => grouping === facet);
      return {
        facet,
        values: values.slice(0, VALUES_MAX).map(({ value, requests }) => ({ value, requests })),
        hasMore: values.length > VALUES_MAX,
      };
    }),
  };
}

/** Counts by each of some groupings, the largest first. */
async function readPass(
  store: AnalyticsStore,
  filter: UsageLogFilter,
  of: readonly (Facet | "bucket")[],
  params: { readonly from: number; readonly bucket: number },
): Promise<readonly Row[]> {
  const { where, params: ofFilter } = logFilter(store.db, filter);
  const conditions = ["r.ts >= fromUnixTimestamp64Milli({from:Int64})", ...where].join(" AND ");
  const groupings = of.filter((one) => one !== "status");
  const sets = [...groupings.map((one) => `(${one})`), ...(of.includes("status") ? ["()"] : [])];
  const which = groupings.flatMap((one) => [`grouping(${one}) = 0`, `'${one}'`]);
  const value = groupings.flatMap((one) => [`grouping(${one}) = 0`, one]);
  const first = (parts: readonly string[], other: string): string =>
    parts.length === 0 ? other : `multiIf(${[...parts, other].join(", ")})`;
  return await store.rows<Row>(
    `SELECT ${first(which, "'status'")} AS grouping, ${first(value, "''")} AS value, count() AS requests,
       countIf(${OK}) AS success_requests, ${COUNTED_OUTCOMES}
     FROM (
       SELECT ${[...groupings.map((one) => `${VALUES[one]} AS ${one}`), ...ENDED].join(", ")}
       FROM (SELECT r.* FROM ${store.db}.usage_raw AS r WHERE ${conditions}) AS u
     ) AS u GROUP BY GROUPING SETS (${sets.join(", ")})
     HAVING requests > 0 AND (value != '' OR grouping = 'status')
     ORDER BY requests DESC, value LIMIT ${BUCKETS_MAX + 2} BY grouping
     SETTINGS max_execution_time = ${PASS_SECS_MAX}`,
    { ...ofFilter, ...params },
    PASS_SECS_MAX * 1000,
  );
}

/** What tells how a request ended. */
const ENDED = [
  ...["status_code", "upstream_status", "attempts"].map((name) => `u.${name} AS ${name}`),
  `${VALUES.error_code} AS error_code`,
];

/** Each as the filter `status` of the log takes it; a stream that broke off has succeeded and failed. */
function statusesOf(rows: readonly Row[]): readonly { readonly value: string; readonly requests: number }[] {
  const all = rows.find(({ grouping }) => grouping === "status");
  if (all === undefined) return [];
  const counted = (["success", "refused", "failed", "left"] as const).map((value) => ({
    value,
    requests: all[`${value}_requests`],
  }));
  return counted.filter(({ requests }) => requests > 0);
}
