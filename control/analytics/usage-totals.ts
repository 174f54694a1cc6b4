/**
 * Reads requests, tokens and money of a period by tenant, key or model, and by model and key
 * (docs/rules/usage-reads.md#shapes).
 */
import type {
  KeyUsage,
  UsageBreakdown,
  UsageBreakdownQuery,
  UsageKeysQuery,
  UsageTotals,
  UsageTotalsQuery,
} from "../../shared/schema/usage-reads.ts";
import { ENERGY, GEN_TOKENS_PER_SEC, idText, OK, SUM_TOTALS, TOTALS } from "./expressions.ts";
import { byDays } from "./period-sums.ts";
import { MERGED_TOKENS_PER_SEC } from "./quarter-rollup.ts";
import type { AnalyticsStore } from "./store.ts";
import { usageFilter } from "./usage-filter.ts";
import { usageSums } from "./usage-sums.ts";

const GROUPS = {
  tenant: { columns: idText("tenant_id"), by: "u.tenant_id" },
  key: { columns: `${idText("key_id")}, ${idText("tenant_id")}`, by: "u.key_id, u.tenant_id" },
  model: { columns: "u.model AS model", by: "u.model" },
} as const;

/** One row per tenant, key or model, most tokens first. Throws 503. */
export async function readTotals(
  store: AnalyticsStore,
  query: UsageTotalsQuery,
  nowMs: number,
): Promise<readonly UsageTotals[]> {
  const { columns, by } = GROUPS[query.group_by];
  const { from, params } = usageSums(store.db, query, nowMs);
  return await store.rows<UsageTotals>(
    `SELECT ${columns}, ${SUM_TOTALS}, sum(u.errors) AS errors FROM ${from} AS u
     GROUP BY ${by} ORDER BY total_tokens DESC, ${by} LIMIT {limit:UInt32}`,
    { ...params, limit: query.limit },
  );
}

/** One row per key, most tokens first. Throws 503. */
export async function readKeyUsage(
  store: AnalyticsStore,
  query: UsageKeysQuery,
  nowMs: number,
): Promise<readonly KeyUsage[]> {
  return (await readTotals(store, { ...query, group_by: "key" }, nowMs)) as readonly KeyUsage[];
}

/** A breakdown row before names are joined. */
type BreakdownRow = Omit<UsageBreakdown, "tenant_name" | "fairshare_group" | "key_name" | "key_prefix">;

/** One row per model and key, most expensive first. Throws 503. */
export async function readBreakdown(
  store: AnalyticsStore,
  query: UsageBreakdownQuery,
  nowMs: number,
): Promise<readonly BreakdownRow[]> {
  const found = await breakdownSource(store, query, nowMs);
  if (found === null) return [];
  const { from, figures, params } = found;
  return await store.rows<BreakdownRow>(
    `SELECT u.model AS model, ${idText("key_id")}, ${idText("tenant_id")}, ${figures} AS gen_tokens_per_sec
     FROM ${from}
     GROUP BY u.model, u.key_id, u.tenant_id
     ORDER BY cost_usd DESC, total_tokens DESC, model, key_id LIMIT {limit:UInt32}`,
    { ...params, limit: query.limit },
  );
}

/** What became of the requests, by which a cost of nothing is told from one that is not known. */
const OUTCOMES = `countIf(${OK}) AS success_requests, countIf(u.status_code >= 400) AS error_requests,
  countIf(u.cache_status = 'hit') AS cache_hits`;

/** Like OUTCOMES, for rows that are sums themselves. */
const SUM_OUTCOMES = ["success_requests", "error_requests", "cache_hits"]
  .map((name) => `sum(u.${name}) AS ${name}`)
  .join(", ");

/** Where the rows come from, and their figures; the last of these is the speed. Null: there are no rows. */
async function breakdownSource(store: AnalyticsStore, query: UsageBreakdownQuery, nowMs: number) {
  const days = await byDays(store, query, nowMs);
  if (days === null) return null;
  if (days.kind === "quarters") {
    const figures = `${SUM_TOTALS}, ${SUM_OUTCOMES}, ${ENERGY}, ${MERGED_TOKENS_PER_SEC}`;
    return { ...days, from: `${days.from} AS u`, figures };
  }
  const { where, params } = usageFilter(days.scope, nowMs, { refusals: false });
  const figures = `${TOTALS}, ${OUTCOMES}, ${ENERGY}, ${GEN_TOKENS_PER_SEC}`;
  return { from: `${store.db}.usage_raw AS u WHERE ${where}`, figures, params };
}
