/** Reads the usage of each model in a period (docs/rules/usage-reads.md#shapes, docs/rules/usage-reads.md#figures). */
import type { ModelUsage, UsageModelsQuery } from "../../../shared/schema/usage.ts";
import { NIL_UUID } from "../../../shared/usage/usage-row.ts";
import { totalsOf } from "./figures.ts";
import type { AnalyticsStore } from "./store.ts";
import { usageSource } from "./usage-source.ts";

/** One row per model, most tokens first. Throws 503. */
export async function readModelUsage(
  store: AnalyticsStore,
  query: UsageModelsQuery,
  nowMs: number,
): Promise<readonly ModelUsage[]> {
  const { from, figures, params, window } = await usageSource(store, query, { detail: "requests" }, nowMs);
  const untilMs = query.until_ms ?? nowMs;
  return await store.rows<ModelUsage>(
    `SELECT u.model AS model,
       ${totalsOf(figures)},
       ${figures.genTokensPerSec} AS gen_tokens_per_sec,
       round(sum(u.output_tokens) / {seconds:Float64}, 1) AS agg_tokens_per_sec,
       ${figures.averageTime("ttft")} AS avg_ttft_ms,
       ${figures.averageTime("total")} AS avg_total_ms,
       ${figures.medianTime("ttft")} AS p50_ttft_ms,
       ${figures.medianTime("total")} AS p50_total_ms,
       ${figures.averageTokens("input")} AS avg_prompt_tokens,
       ${figures.averageTokens("output")} AS avg_gen_tokens,
       uniqExactIf(u.key_id, u.key_id != toUUID('${NIL_UUID}')) AS users
     FROM ${from} GROUP BY u.model ORDER BY total_tokens DESC, model`,
    { ...params, seconds: Math.max((untilMs - window.fromMs) / 1000, 1) },
  );
}
