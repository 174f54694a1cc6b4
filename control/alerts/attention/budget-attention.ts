/**
 * Term budgets that are used up, or nearly (docs/rules/attention.md). Asking the budget object of every tenant would cost a
 * call each; the alerts of the last 30 days say which budgets have passed 80 percent, and only those are asked how they
 * stand now.
 */
import { desc, eq, like, max, or } from "drizzle-orm";
import { GatewayError } from "../../../shared/errors.ts";
import type { AttentionItem } from "../../../shared/schema/attention.ts";
import type { BudgetUsage } from "../../../shared/schema/budget.ts";
import { apiKeys, tenants } from "../../db/schema/tenancy.ts";
import type { CellDirectory } from "../../kernel/cells/cell-directory.ts";
import type { VerbContext } from "../../kernel/context.ts";
import { UUID } from "../../kernel/parse.ts";
import { getKeyBudgetUsage, getTenantBudgetUsage } from "../../tenants/get-budget-usage.ts";
import { alertLog } from "../tables.ts";

/** Budgets that are asked about at most: those that passed 80 percent last. */
const ASKED_MAX = 50;

interface Passed {
  readonly owner: "tenant" | "key";
  readonly id: string;
  readonly sinceMs: number;
}

/** The entries, in no particular order. A budget that cannot be read is left out: its cell is an entry then. */
export async function budgetAttention(ctx: VerbContext, directory: CellDirectory): Promise<readonly AttentionItem[]> {
  const found = await Promise.all(
    (await passedBudgets(ctx)).map(async (passed) => await standing(ctx, directory, passed)),
  );
  return found.filter((item) => item !== null);
}

async function passedBudgets({ db }: VerbContext): Promise<readonly Passed[]> {
  const last = max(alertLog.last_at_ms);
  const rows = await db
    .select({ key: alertLog.issue_key, lastMs: last })
    .from(alertLog)
    .where(or(like(alertLog.issue_key, "term\\_budget\\_%"), like(alertLog.issue_key, "key\\_term\\_budget\\_%")))
    .groupBy(alertLog.issue_key)
    .orderBy(desc(last))
    .limit(4 * ASKED_MAX);
  const passed = new Map<string, Passed>();
  for (const { key, lastMs } of rows) {
    const [, isKey, id = ""] = /^(key_)?term_budget_(?:warn|exhausted):(.+)$/.exec(key) ?? [];
    if (!UUID.test(id) || passed.has(id)) continue;
    passed.set(id, { owner: isKey === undefined ? "tenant" : "key", id, sinceMs: lastMs ?? 0 });
  }
  return [...passed.values()].slice(0, ASKED_MAX);
}

async function standing(
  ctx: VerbContext,
  directory: CellDirectory,
  { owner, id, sinceMs }: Passed,
): Promise<AttentionItem | null> {
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
    name: await nameOf(ctx, owner, id),
    detail: `${part} (${budget_period ?? "lifetime"})${period_end === null ? "" : `, until ${period_end}`}`,
    since: new Date(sinceMs).toISOString(),
  };
}

async function nameOf({ db }: VerbContext, owner: Passed["owner"], id: string): Promise<string> {
  if (owner === "tenant") {
    const [tenant] = await db.select({ name: tenants.name }).from(tenants).where(eq(tenants.id, id));
    return tenant?.name ?? id;
  }
  const [key] = await db
    .select({ name: apiKeys.name, prefix: apiKeys.key_prefix, tenant: tenants.name })
    .from(apiKeys)
    .innerJoin(tenants, eq(tenants.id, apiKeys.tenant_id))
    .where(eq(apiKeys.id, id));
  return key === undefined ? id : `${key.tenant}: ${key.name === "" ? key.prefix : key.name}`;
}
