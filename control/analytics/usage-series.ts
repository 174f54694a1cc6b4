/**
 * Reads usage over time: in total, per tenant, per model (docs/rules/usage-reads.md#shapes,
 * docs/rules/usage-reads.md#figures). Buckets without requests are left out.
 */
import { GatewayError } from "../../shared/errors.ts";
import type {
  ModelUsageBucket,
  TenantUsageBucket,
  UsageBucket,
  UsageSeriesQuery,
} from "../../shared/schema/usage-reads.ts";
import { averageOf, GEN_TOKENS_PER_SEC, idText, medianOf, PROMPT_TOKENS_PER_SEC, TOTALS, usd } from "./expressions.ts";
import type { AnalyticsStore } from "./store.ts";
import { type UsageFilter, usageFilter } from "./usage-filter.ts";

const MIN_BUCKET_MS = 60_000;
const MIN_FILTERED_BUCKET_MS = 10_000;
const BUCKETS_MAX = 5_000;
const BUCKET = "intDiv(toUnixTimestamp64Milli(u.ts), {bucket:Int64}) * {bucket:Int64} AS bucket_ms";

/** One row per bucket, ascending; refusals of unknown callers count unless the read is of one tenant. Throws 400, 503. */
export async function readSeries(
  store: AnalyticsStore,
  query: UsageSeriesQuery,
  nowMs: number,
): Promise<readonly UsageBucket[]> {
  const { where, params } = bucketed(query, usageFilter(query, nowMs, { refusals: query.tenant_id === undefined }));
  return await store.rows<UsageBucket>(
    `SELECT ${BUCKET}, countIf(u.status_code >= 400) AS errors, ${TOTALS},
       ${averageOf("ttft_ms")} AS avg_ttft_ms, ${medianOf("ttft_ms")} AS p50_ttft_ms
     FROM ${store.db}.usage_raw AS u WHERE ${where} GROUP BY bucket_ms ORDER BY bucket_ms`,
    params,
  );
}

/** One row per bucket and tenant, sorted by bucket, then tenant. Throws 400, 503. */
export async function readTenantSeries(
  store: AnalyticsStore,
  query: UsageSeriesQuery,
  nowMs: number,
): Promise<readonly TenantUsageBucket[]> {
  const { where, params } = bucketed(query, usageFilter(query, nowMs, { refusals: false }));
  return await store.rows<TenantUsageBucket>(
    `SELECT ${idText("tenant_id")}, ${BUCKET}, count() AS requests, sum(u.total_tokens) AS total_tokens,
       ${usd("sum(u.cost_usd)")} AS cost_usd
     FROM ${store.db}.usage_raw AS u WHERE ${where} GROUP BY bucket_ms, u.tenant_id ORDER BY bucket_ms, tenant_id`,
    params,
  );
}

/** One row per bucket and model, sorted by bucket, then model. Throws 400, 503. */
export async function readModelSeries(
  store: AnalyticsStore,
  query: UsageSeriesQuery,
  nowMs: number,
): Promise<readonly ModelUsageBucket[]> {
  const { where, params } = bucketed(query, usageFilter(query, nowMs, { refusals: false }));
  return await store.rows<ModelUsageBucket>(
    `SELECT u.model AS model, ${BUCKET}, count() AS requests, sum(u.total_tokens) AS total_tokens,
       ${GEN_TOKENS_PER_SEC} AS gen_tokens_per_sec, ${PROMPT_TOKENS_PER_SEC} AS prompt_tokens_per_sec,
       ${averageOf("ttft_ms")} AS avg_ttft_ms, ${medianOf("ttft_ms")} AS p50_ttft_ms,
       ${averageOf("total_ms")} AS avg_total_ms, ${medianOf("total_ms")} AS p50_total_ms
     FROM ${store.db}.usage_raw AS u WHERE ${where} GROUP BY bucket_ms, u.model ORDER BY bucket_ms, model`,
    params,
  );
}

/** The filter with the width of a bucket that is used. Throws 400 when the series would have too many buckets. */
function bucketed(query: UsageSeriesQuery, filter: UsageFilter): UsageFilter {
  const filtered = [query.tenant_id, query.key_id, query.model].some((value) => value !== undefined);
  const widthMs = Math.max(query.bucket_ms, filtered ? MIN_FILTERED_BUCKET_MS : MIN_BUCKET_MS);
  if ((filter.untilMs - filter.sinceMs) / widthMs > BUCKETS_MAX) {
    const message = `must be at least ${Math.ceil((filter.untilMs - filter.sinceMs) / BUCKETS_MAX)} for this period`;
    throw new GatewayError("validation_failed", { details: [{ path: "bucket_ms", message }] });
  }
  return { ...filter, params: { ...filter.params, bucket: widthMs } };
}
