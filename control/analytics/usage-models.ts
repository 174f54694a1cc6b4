/** Reads the usage of each model in a period (docs/rules/usage-reads.md#shapes, docs/rules/usage-reads.md#figures). */
import type { ModelUsage, UsageModelsQuery } from "../../shared/schema/usage.ts";
import { averageOf, GEN_TOKENS_PER_SEC, medianOf, TOTALS } from "./expressions.ts";
import type { AnalyticsStore } from "./store.ts";
import { usageFilter } from "./usage-filter.ts";

/** One row per model, most tokens first. Throws 503. */
export async function readModelUsage(
  store: AnalyticsStore,
  query: UsageModelsQuery,
  nowMs: number,
): Promise<readonly ModelUsage[]> {
  const { where, params, sinceMs, untilMs } = usageFilter(query, nowMs, { refusals: false });
  return await store.rows<ModelUsage>(
    `SELECT u.model AS model,
       ${TOTALS},
       ${GEN_TOKENS_PER_SEC} AS gen_tokens_per_sec,
       round(sum(u.output_tokens) / {seconds:Float64}, 1) AS agg_tokens_per_sec,
       ${averageOf("ttft_ms")} AS avg_ttft_ms,
       ${averageOf("total_ms")} AS avg_total_ms,
       ${medianOf("ttft_ms")} AS p50_ttft_ms,
       ${medianOf("total_ms")} AS p50_total_ms,
       ${averageOf("input_tokens")} AS avg_prompt_tokens,
       ${averageOf("output_tokens")} AS avg_gen_tokens,
       uniqExactIf(u.key_id, u.key_id != toUUID('00000000-0000-0000-0000-000000000000')) AS users
     FROM ${store.db}.usage_raw AS u WHERE ${where}
     GROUP BY u.model ORDER BY total_tokens DESC, model`,
    { ...params, seconds: Math.max((untilMs - sinceMs) / 1000, 1) },
  );
}
