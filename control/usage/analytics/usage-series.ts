/**
 * Reads usage over time: in total, per tenant, per model (docs/rules/usage-reads.md#shapes,
 * docs/rules/usage-reads.md#figures). Buckets without requests are left out.
 */
import { GatewayError } from "../../../shared/errors.ts";
import type {
  ModelUsageBucket,
  TenantUsageBucket,
  UsageBucket,
  UsageSeriesQuery,
} from "../../../shared/schema/usage-reads.ts";
import { idText, usd } from "./expressions.ts";
import { totalsOf } from "./figures.ts";
import type { AnalyticsStore } from "./store.ts";
import { usageSource } from "./usage-source.ts";
import type { WindowQuery } from "./usage-window.ts";

const MIN_BUCKET_MS = 60_000;
const MIN_FILTERED_BUCKET_MS = 10_000;
const BUCKETS_MAX = 5_000;
const DAY_MS = 86_400_000;

/** One row per bucket, ascending; refusals of unknown callers count unless the read is of one tenant. Throws 400, 503. */
export async function readSeries(
  store: AnalyticsStore,
  query: UsageSeriesQuery,
  nowMs: number,
): Promise<readonly UsageBucket[]> {
  const { from, figures, params } = await bucketed(store, query, nowMs, query.tenant_id === undefined);
  return await store.rows<UsageBucket>(
    `SELECT ${figures.bucket} AS bucket_ms, ${figures.errors} AS errors, ${figures.notServed}, ${totalsOf(figures)},
       ${figures.averageTime("ttft")} AS avg_ttft_ms, ${figures.medianTime("ttft")} AS p50_ttft_ms
     FROM ${from} GROUP BY bucket_ms ORDER BY bucket_ms`,
    params,
  );
}

/** One row per bucket and tenant, sorted by bucket, then tenant. Throws 400, 503. */
export async function readTenantSeries(
  store: AnalyticsStore,
  query: UsageSeriesQuery,
  nowMs: number,
): Promise<readonly TenantUsageBucket[]> {
  const { from, figures, params } = await bucketed(store, query, nowMs);
  return await store.rows<TenantUsageBucket>(
    `SELECT ${idText("tenant_id")}, ${figures.bucket} AS bucket_ms, ${figures.requests} AS requests,
       sum(u.total_tokens) AS total_tokens, ${usd("sum(u.cost_usd)")} AS cost_usd
     FROM ${from} GROUP BY bucket_ms, u.tenant_id ORDER BY bucket_ms, tenant_id`,
    params,
  );
}

/** One row per bucket and model, sorted by bucket, then model. Throws 400, 503. */
export async function readModelSeries(
  store: AnalyticsStore,
  query: UsageSeriesQuery,
  nowMs: number,
): Promise<readonly ModelUsageBucket[]> {
  const { from, figures, params } = await bucketed(store, query, nowMs);
  return await store.rows<ModelUsageBucket>(
    `SELECT u.model AS model, ${figures.bucket} AS bucket_ms, ${figures.requests} AS requests,
       sum(u.total_tokens) AS total_tokens,
       ${figures.genTokensPerSec} AS gen_tokens_per_sec, ${figures.promptTokensPerSec} AS prompt_tokens_per_sec,
       ${figures.averageTime("ttft")} AS avg_ttft_ms, ${figures.medianTime("ttft")} AS p50_ttft_ms,
       ${figures.averageTime("total")} AS avg_total_ms, ${figures.medianTime("total")} AS p50_total_ms
     FROM ${from} GROUP BY bucket_ms, u.model ORDER BY bucket_ms, model`,
    params,
  );
}

/** The rows of a series, with the width of a bucket that is used. Throws 400 when it would have too many buckets, 503. */
async function bucketed(store: AnalyticsStore, query: UsageSeriesQuery, nowMs: number, unknownCallers = false) {
  const filtered = [query.tenant_id, query.key_id, query.model].some((value) => value !== undefined);
  const widthMs = Math.max(query.bucket_ms, filtered ? MIN_FILTERED_BUCKET_MS : MIN_BUCKET_MS);
  refuseManyBuckets(query, widthMs, nowMs);
  const source = await usageSource(store, query, { detail: "requests", unknownCallers }, nowMs);
  return { ...source, params: { ...source.params, bucket: widthMs } };
}

/** Throws 400 when a series would have too many buckets. */
export function refuseManyBuckets({ since_ms, until_ms }: WindowQuery, widthMs: number, nowMs: number): void {
  const lastsMs = (until_ms ?? nowMs) - (since_ms ?? nowMs - DAY_MS);
  if (lastsMs / widthMs <= BUCKETS_MAX) return;
  const message = `must be at least ${Math.ceil(lastsMs / BUCKETS_MAX)} for this period`;
  throw new GatewayError("validation_failed", { details: [{ path: "bucket_ms", message }] });
}
