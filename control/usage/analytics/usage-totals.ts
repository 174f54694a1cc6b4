/**
 * Reads requests, tokens and money of a period by tenant, key, model, end user or tag, and by model and key
 * (docs/rules/usage-reads.md#shapes).
 */
import type {
  KeyUsage,
  UsageBreakdown,
  UsageBreakdownQuery,
  UsageKeysQuery,
  UsageTotals,
  UsageTotalsQuery,
} from "../../../shared/schema/usage-reads.ts";
import { NIL_UUID } from "../../../shared/usage/usage-row.ts";
import { ENERGY, idText } from "./expressions.ts";
import { totalsOf } from "./figures.ts";
import type { AnalyticsStore } from "./store.ts";
import { usageSource } from "./usage-source.ts";
import { namesDays } from "./usage-window.ts";

const GROUPS = {
  tenant: { columns: idText("tenant_id"), by: "u.tenant_id" },
  key: { columns: `${idText("key_id")}, ${idText("tenant_id")}`, by: "u.key_id, u.tenant_id" },
  model: { columns: "u.model AS model", by: "u.model" },
  end_user: { columns: `u.label AS end_user, ${idText("tenant_id")}`, by: "u.label, u.tenant_id" },
  tag: { columns: "u.label AS tag_value", by: "u.label" },
} as const;

/** One row per group, most tokens first. Throws 503. */
export async function readTotals(
  store: AnalyticsStore,
  query: UsageTotalsQuery,
  nowMs: number,
): Promise<readonly UsageTotals[]> {
  const { columns, by } = GROUPS[query.group_by];
  const { from, figures, params } = await usageSource(store, query, { detail: "sums" }, nowMs);
  return await store.rows<UsageTotals>(
    `SELECT ${columns}, ${totalsOf(figures)}, ${figures.errors} AS errors, ${figures.notServed} FROM ${from}
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

const NOBODY = `'${NIL_UUID}'`;
/** What a breakdown is of. */
const BREAKDOWNS = {
  key_model: {
    columns: `u.model AS model, ${idText("key_id")}, ${idText("tenant_id")}, '' AS end_user, '' AS tag_value`,
    by: "u.model, u.key_id, u.tenant_id",
  },
  end_user: {
    columns: `'' AS model, ${NOBODY} AS key_id, ${idText("tenant_id")}, u.label AS end_user, '' AS tag_value`,
    by: "u.label, u.tenant_id",
  },
  tag: {
    columns: `'' AS model, ${NOBODY} AS key_id, ${NOBODY} AS tenant_id, '' AS end_user, u.label AS tag_value`,
    by: "u.label",
  },
} as const;

/** One row per model and key, per end user of a tenant or per value of a tag, most expensive first. Throws 503. */
export async function readBreakdown(
  store: AnalyticsStore,
  query: UsageBreakdownQuery,
  nowMs: number,
): Promise<readonly BreakdownRow[]> {
  const { columns, by } = BREAKDOWNS[query.group_by];
  const detail = namesDays(query) && query.group_by === "key_model" ? "quarters" : "requests";
  const { from, figures, params } = await usageSource(store, query, { detail }, nowMs);
  return await store.rows<BreakdownRow>(
    `SELECT ${columns}, ${totalsOf(figures)}, ${figures.outcomes}, ${figures.notServed},
       ${ENERGY}, ${figures.genTokensPerSec} AS gen_tokens_per_sec
     FROM ${from}
     GROUP BY ${by} ORDER BY cost_usd DESC, total_tokens DESC, ${by} LIMIT {limit:UInt32}`,
    { ...params, limit: query.limit },
  );
}
