/**
 * Usage per model over a period (decisions §12.2, §12.3). Averages and percentiles are over successful rows, money is the
 * sum of frozen costs.
 */
import type { ModelUsage, UsageModelsQuery } from "../../shared/schema/usage.ts";
import type { AnalyticsStore } from "./store.ts";

const DAY_MS = 86_400_000;
const OK = "u.status_code BETWEEN 200 AND 399";
const DECODE_MS = "if(u.total_ms - u.ttft_ms >= 20, u.total_ms - u.ttft_ms, u.total_ms - u.queue_wait_ms)";
const DECODED = `u.status_code BETWEEN 200 AND 299 AND u.total_ms >= 20 AND u.output_tokens >= 1 AND ${DECODE_MS} > 0`;

/** One row per model, most tokens first. Throws 503. */
export async function readModelUsage(
  store: AnalyticsStore,
  query: UsageModelsQuery,
  nowMs: number,
): Promise<readonly ModelUsage[]> {
  const since = query.since_ms ?? nowMs - DAY_MS;
  const until = query.until_ms ?? nowMs;
  const params: Record<string, string | number> = { since, until, seconds: Math.max((until - since) / 1000, 1) };
  const where = [
    "ts >= fromUnixTimestamp64Milli({since:Int64})",
    "tenant_id != toUUID('00000000-0000-0000-0000-000000000000')",
  ];
  const add = (condition: string, name: string, value: string | number | undefined): void => {
    if (value === undefined) return;
    where.push(condition);
    params[name] = value;
  };
  add("ts <= fromUnixTimestamp64Milli({until:Int64})", "until", query.until_ms);
  add("tenant_id = {tenant:UUID}", "tenant", query.tenant_id);
  add("key_id = {key:UUID}", "key", query.key_id);
  add("model = {name:String}", "name", query.model);
  if (!query.include_internal) where.push("request_type NOT IN ('health_probe', 'benchmark')");
  const one = (expression: string): string => `round(ifNotFinite(${expression}, 0), 1)`;
  return await store.rows<ModelUsage>(
    `SELECT model,
       count() AS requests,
       sum(u.input_tokens) AS input_tokens,
       sum(u.output_tokens) AS output_tokens,
       sum(u.total_tokens) AS total_tokens,
       round(sum(u.cost_usd), 6) AS cost_usd,
       ${one(`quantileExactIf(0.5)(u.output_tokens / (${DECODE_MS} / 1000), ${DECODED})`)} AS gen_tokens_per_sec,
       round(sum(u.output_tokens) / {seconds:Float64}, 1) AS agg_tokens_per_sec,
       ${one(`avgIf(u.ttft_ms, ${OK})`)} AS avg_ttft_ms,
       ${one(`avgIf(u.total_ms, ${OK})`)} AS avg_total_ms,
       ${one(`quantileExactIf(0.5)(u.ttft_ms, ${OK})`)} AS p50_ttft_ms,
       ${one(`quantileExactIf(0.5)(u.total_ms, ${OK})`)} AS p50_total_ms,
       ${one(`avgIf(u.input_tokens, ${OK})`)} AS avg_prompt_tokens,
       ${one(`avgIf(u.output_tokens, ${OK})`)} AS avg_gen_tokens,
       uniqExactIf(key_id, key_id != toUUID('00000000-0000-0000-0000-000000000000')) AS users
     FROM ${store.db}.usage_raw AS u WHERE ${where.join(" AND ")}
     GROUP BY model ORDER BY sum(u.total_tokens) DESC, model`,
    params,
  );
}
