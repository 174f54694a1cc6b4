/**
 * What a tenant or key has used of its budget. The control service's own cell reads it from the tenant's budget object
 * (docs/rules/budgets.md#usage-read). What the cells have settled reaches the object within one second, or ten for tenants
 * without caps.
 */
import { eq } from "drizzle-orm";
import { GatewayError } from "../../shared/errors.ts";
import { roundUsd } from "../../shared/money/usd.ts";
import { type BudgetUsage, budgetUsageSchema } from "../../shared/schema/budget.ts";
import type { BudgetSubject } from "../../shared/wire/internal-budgets.ts";
import { apiKeys, tenants } from "../db/schema/tenancy.ts";
import { type CellDirectory, callCell, cellOf } from "../kernel/cells/cell-directory.ts";
import type { VerbContext } from "../kernel/context.ts";
import { withDatabaseErrors } from "../kernel/database-errors.ts";
import { parseId } from "../kernel/parse.ts";
import { budgetSubject } from "../publish/budget-subjects.ts";

/** Throws 404, 502. */
export async function getTenantBudgetUsage(
  ctx: VerbContext,
  directory: CellDirectory,
  id: string,
): Promise<BudgetUsage> {
  const tenantId = parseId(id);
  const [row] = await withDatabaseErrors(async () => ctx.db.select().from(tenants).where(eq(tenants.id, tenantId)));
  if (row === undefined) throw new GatewayError("not_found");
  return await readUsage(directory, budgetSubject(row, null));
}

/** Throws 404, 502. */
export async function getKeyBudgetUsage(ctx: VerbContext, directory: CellDirectory, id: string): Promise<BudgetUsage> {
  const keyId = parseId(id);
  const [row] = await withDatabaseErrors(async () =>
    ctx.db
      .select({ key: apiKeys, tenant: tenants })
      .from(apiKeys)
      .innerJoin(tenants, eq(tenants.id, apiKeys.tenant_id))
      .where(eq(apiKeys.id, keyId)),
  );
  if (row === undefined) throw new GatewayError("not_found");
  return await readUsage(directory, budgetSubject(row.tenant, row.key));
}

async function readUsage(directory: CellDirectory, subject: BudgetSubject): Promise<BudgetUsage> {
  const address = cellOf(directory, {});
  const read = await callCell(address, async () => await directory.cells.budgetUsage(address, subject));
  const { period_start_ms, period_end_ms, used_cost_usd, reserved_cost_usd, remaining_cost_usd, ...rest } = read;
  return budgetUsageSchema.parse({
    ...rest,
    used_cost_usd: roundUsd(used_cost_usd),
    reserved_cost_usd: roundUsd(reserved_cost_usd),
    remaining_cost_usd: remaining_cost_usd === null ? null : roundUsd(remaining_cost_usd),
    period_start: iso(period_start_ms),
    period_end: iso(period_end_ms),
  });
}

function iso(epochMs: number | null): string | null {
  return epochMs === null ? null : new Date(epochMs).toISOString();
}
