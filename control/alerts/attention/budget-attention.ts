/**
 * Term budgets that are used up, or nearly (docs/rules/attention.md). Asking the budget object of every tenant would cost a
 * call each; the alerts of the last 30 days say which budgets have passed 80 percent, and only those are asked how they
 * stand now.
 */
import { sql } from "drizzle-orm";
import { GatewayError } from "../../../shared/errors.ts";
import type { FoundItem } from "../../../shared/schema/attention.ts";
import type { BudgetUsage } from "../../../shared/schema/budget.ts";
import type { CellDirectory } from "../../kernel/cells/cell-directory.ts";
import type { VerbContext } from "../../kernel/context.ts";
import { getKeyBudgetUsage, getTenantBudgetUsage } from "../../tenants/get-budget-usage.ts";
import { entriesOfKeys } from "./entries-of-keys.ts";

/** Budgets that are asked about at most. */
const ASKED_MAX = 50;

interface Passed {
  readonly owner: "tenant" | "key";
  readonly id: string;
  readonly tenant_id: string;
  readonly tenant: string;
  /** The name of the key, or its prefix; empty for a tenant. */
  readonly key: string;
  /** When an alert named it last. */
  readonly last_ms: number;
}

/** The entries, in no particular order. A budget that cannot be read is left out: its cell is an entry then. */
export async function budgetAttention(ctx: VerbContext, directory: CellDirectory): Promise<readonly FoundItem[]> {
  const asked = await Promise.all(
    (await passedBudgets(ctx)).map(async (passed) => ({ passed, item: await standing(ctx, directory, passed) })),
  );
  const found = asked.flatMap(({ passed, item }) => (item === null ? [] : [{ passed, item }]));
  return [
    ...found.filter(({ passed }) => passed.owner === "tenant").map(({ item }) => item),
    ...ofKeys(found, "budget_exhausted", "API keys have used up their budgets", asked.length === ASKED_MAX),
    ...ofKeys(found, "budget_low", "API keys have used 80 percent of their budgets", asked.length === ASKED_MAX),
  ];
}

function ofKeys(
  found: readonly { readonly passed: Passed; readonly item: FoundItem }[],
  kind: FoundItem["kind"],
  said: string,
  atLeast: boolean,
): readonly FoundItem[] {
  const those = found.filter(({ passed, item }) => passed.owner === "key" && item.kind === kind);
  const keysOf = (id: string): number => those.filter(({ passed }) => passed.tenant_id === id).length;
  return entriesOfKeys(
    those.map(({ passed: { tenant_id, tenant, key }, item }) => ({
      tenantId: tenant_id,
      tenant,
      key,
      keys: keysOf(tenant_id),
      item,
    })),
    said,
    atLeast,
  );
}

/**
 * Those that exist. Tenants take turns, each with its own budget before those of its keys. Of a tenant whose further keys are one
 * issue, every key with a budget is one.
 */
async function passedBudgets({ db }: VerbContext): Promise<readonly Passed[]> {
  const { rows } = (await db.execute(sql`WITH passed AS (
      SELECT issue_key LIKE 'key%' AS of_key, issue_key LIKE '%:tenant:%' AS of_many, right(issue_key, 36)::uuid AS id,
        max(last_at_ms) AS last_ms
      FROM alert_log
      WHERE issue_key ~ '^(key_)?term_budget_(warn|exhausted):(tenant:)?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
      GROUP BY 1, 2, 3
    ), keys AS (
      SELECT k.id, p.last_ms FROM passed p JOIN api_keys k ON k.id = p.id WHERE p.of_key AND NOT p.of_many
      UNION ALL
      SELECT k.id, p.last_ms FROM passed p JOIN api_keys k ON k.tenant_id = p.id
      WHERE p.of_many AND (k.budget_tokens IS NOT NULL OR k.budget_cost_usd IS NOT NULL)
    ), owners AS (
      SELECT 'tenant' AS owner, t.id, t.id AS tenant_id, t.name AS tenant, '' AS key, p.last_ms
      FROM passed p JOIN tenants t ON t.id = p.id WHERE NOT p.of_key
      UNION ALL
      SELECT 'key', k.id, t.id, t.name, coalesce(nullif(k.name, ''), k.key_prefix), max(keys.last_ms)
      FROM keys JOIN api_keys k ON k.id = keys.id JOIN tenants t ON t.id = k.tenant_id GROUP BY k.id, t.id
    )
    SELECT owner, id, tenant_id, tenant, key, last_ms::float8 AS last_ms FROM owners
    ORDER BY row_number() OVER (PARTITION BY tenant_id ORDER BY owner = 'tenant' DESC, last_ms DESC, id), last_ms DESC
    LIMIT ${ASKED_MAX}`)) as unknown as { readonly rows: readonly Passed[] };
  return rows;
}

async function standing(
  ctx: VerbContext,
  directory: CellDirectory,
  { owner, id, tenant, key, last_ms }: Passed,
): Promise<FoundItem | null> {
  const read = owner === "tenant" ? getTenantBudgetUsage : getKeyBudgetUsage;
  let usage: BudgetUsage;
  try {
    usage = await read(ctx, directory, id);
  } catch (error) {
    if (error instanceof GatewayError && error.code !== "database_unavailable") return null;
    throw error;
  }
  const { state, ratio, budget_period, period_end } = usage;
  if (state !== "warned" && state !== "exhausted") return null;
  const part = `${Math.floor((ratio ?? 0) * 100)} percent used`;
  return {
    kind: state === "exhausted" ? "budget_exhausted" : "budget_low",
    entity_type: owner === "tenant" ? "tenant" : "api_key",
    entity_id: id,
    name: owner === "tenant" ? tenant : `${tenant}: ${key}`,
    detail: `${part} (${budget_period ?? "lifetime"})${period_end === null ? "" : `, until ${period_end}`}`,
    since: new Date(last_ms).toISOString(),
  };
}
