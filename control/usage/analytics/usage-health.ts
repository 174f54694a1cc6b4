/** Reads how requests ended and how fast they were (docs/rules/usage-reads.md#health). */
import type { HealthGroup, UsageHealth, UsageHealthQuery } from "../../../shared/schema/health-reads.ts";
import { NIL_UUID } from "../../../shared/usage/usage-row.ts";
import { ENDPOINT_PARTS } from "./expressions.ts";
import { OF_SUMS, SUMMED_OUTCOMES } from "./figures.ts";
import { MERGED_TOKENS_PER_SEC, PERCENTILES } from "./quarter-rollup.ts";
import type { AnalyticsStore } from "./store.ts";
import { refuseManyBuckets } from "./usage-series.ts";
import { usageSource } from "./usage-source.ts";

const ROWS_MAX = 1000;
type Row = Omit<UsageHealth, "tenant_name">;

const COLUMNS: Record<HealthGroup, Partial<Record<"bucket_ms" | "tenant_id" | "model" | "endpoint", string>>> = {
  time: { bucket_ms: OF_SUMS.bucket },
  model: { model: "u.model" },
  tenant: { tenant_id: "toString(u.tenant_id)" },
  endpoint: { model: `${ENDPOINT_PARTS}[1]`, endpoint: `${ENDPOINT_PARTS}[2]` },
};

/** One row per bucket, ascending, or per group, most requests first. Throws 400, 503. */
export async function readHealth(
  store: AnalyticsStore,
  query: UsageHealthQuery,
  nowMs: number,
): Promise<readonly Row[]> {
  const { group_by: group, bucket_ms: bucket } = query;
  if (group === "time") refuseManyBuckets(query, bucket, nowMs);
  // callers who are not known have neither a tenant nor an endpoint
  const unknownCallers = query.tenant_id === undefined && (group === "time" || group === "model");
  const wanted = { detail: "quarters", unknownCallers } as const;
  const { from, params } = await usageSource(store, query, wanted, nowMs);
  const { bucket_ms = "0", tenant_id = `'${NIL_UUID}'`, model = "''", endpoint = "''" } = COLUMNS[group];
  const by = Object.values(COLUMNS[group]).join(", ");
  const speed = "sum(u.success_requests) = 0";
  return await store.rows<Row>(
    `SELECT ${bucket_ms} AS bucket_ms, ${tenant_id} AS tenant_id, ${model} AS model, ${endpoint} AS endpoint,
       sum(u.requests) AS requests, ${SUMMED_OUTCOMES},
       requests - refused_requests - failed_requests - left_requests AS served_requests, ${PERCENTILES},
       if(${speed}, NULL, ${MERGED_TOKENS_PER_SEC}) AS gen_tokens_per_sec
     FROM ${from} ${group === "endpoint" ? "WHERE u.label != ''" : ""} GROUP BY ${by}
     ORDER BY ${group === "time" ? "bucket_ms" : `requests DESC, ${by}`} ${group === "time" ? "" : `LIMIT ${ROWS_MAX}`}`,
    { ...params, bucket },
  );
}
