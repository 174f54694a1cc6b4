/** Reads what the cache saved, what models cost, and the totals of an overview (docs/rules/usage-reads.md#shapes). */
import type { CostsQuery, ModelCost } from "../../../shared/schema/cost-reads.ts";
import type { CacheUsage, OverviewQuery, UsageFilterQuery } from "../../../shared/schema/usage-reads.ts";
import { ENERGY, usd } from "./expressions.ts";
import type { AnalyticsStore } from "./store.ts";
import { usageSource } from "./usage-source.ts";
import { namesDays } from "./usage-window.ts";

/** Deadline of the totals: when the store hangs, the overview is shown without them. */
const OVERVIEW_WITHIN_MS = 5000;

/** Hits, misses and saved tokens, in total and by model. Throws 503. */
export async function readCacheUsage(
  store: AnalyticsStore,
  query: UsageFilterQuery,
  nowMs: number,
): Promise<CacheUsage> {
  const { from, figures, params } = await usageSource(store, query, { detail: "requests" }, nowMs);
  const rows = await store.rows<CacheUsage["by_model"][number]>(
    `SELECT u.model AS model, ${figures.cacheHits} AS hits, ${figures.cacheMisses} AS misses,
       ${figures.hitTokens} AS tokens_saved
     FROM ${from} GROUP BY u.model HAVING hits + misses > 0 ORDER BY hits DESC, model`,
    params,
  );
  const sum = (field: "hits" | "misses" | "tokens_saved"): number => rows.reduce((total, row) => total + row[field], 0);
  const [hits, misses] = [sum("hits"), sum("misses")];
  const ratio = hits + misses === 0 ? 0 : Math.round((hits / (hits + misses)) * 10_000) / 10_000;
  return { hits, misses, hit_ratio: ratio, tokens_saved: sum("tokens_saved"), by_model: [...rows] };
}

/** A cost row before current prices are applied. */
type CostRow = Omit<ModelCost, "input_cost" | "output_cost">;

const COST_LABELS = {
  model: { columns: "'' AS end_user, '' AS tag_value", by: "" },
  end_user: { columns: "u.label AS end_user, '' AS tag_value", by: ", u.label" },
  tag: { columns: "'' AS end_user, u.label AS tag_value", by: ", u.label" },
} as const;

/** One row per model, or per model and end user or value of a tag, most expensive first. Throws 503. */
export async function readCosts(store: AnalyticsStore, query: CostsQuery, nowMs: number): Promise<readonly CostRow[]> {
  const { columns, by } = COST_LABELS[query.group_by];
  const detail = namesDays(query) ? "quarters" : "sums";
  const { from, figures, params } = await usageSource(store, query, { detail }, nowMs);
  return await store.rows<CostRow>(
    `SELECT u.model AS model, ${columns}, ${figures.requests} AS requests, sum(u.input_tokens) AS input_tokens,
       sum(u.output_tokens) AS output_tokens, ${usd("sum(u.cost_usd)")} AS total_cost, ${ENERGY}
     FROM ${from} GROUP BY u.model${by} ORDER BY total_cost DESC, u.model${by} LIMIT {limit:UInt32}`,
    { ...params, limit: query.limit },
  );
}

/** Requests, tokens and USD of all traffic, including refusals of unknown callers. Throws 503. */
export async function readOverviewTotals(
  store: AnalyticsStore,
  query: OverviewQuery,
  nowMs: number,
): Promise<{ readonly requests: number; readonly tokens: number; readonly cost: number }> {
  const wanted = { detail: "sums", unknownCallers: true } as const;
  const { from, figures, params } = await usageSource(store, query, wanted, nowMs, OVERVIEW_WITHIN_MS);
  const [totals] = await store.rows<{ requests: number; tokens: number; cost: number }>(
    `SELECT ${figures.requests} AS requests, sum(u.total_tokens) AS tokens, ${usd("sum(u.cost_usd)")} AS cost FROM ${from}`,
    params,
    OVERVIEW_WITHIN_MS,
  );
  return totals ?? { requests: 0, tokens: 0, cost: 0 };
}
