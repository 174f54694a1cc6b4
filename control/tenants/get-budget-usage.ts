/**
 * What a tenant or key has used of its budget. The control service's own cell reads it from the tenant's budget object
 * (docs/rules/budgets.md#usage-read). What the cells have settled reaches the object within one second, or ten for tenants
 * without caps.
 */
import { and, eq, getTableColumns } from "drizzle-orm";
import { GatewayError } from "../../shared/errors.ts";
import { runOutOf } from "../../shared/money/run-out.ts";
import { roundUsd } from "../../shared/money/usd.ts";
import { type BudgetUsage, budgetUsageSchema, type TenantBudgetUsage } from "../../shared/schema/budget.ts";
import type { BudgetRead, BudgetSubject } from "../../shared/wire/internal-budgets.ts";
import { apiKeys, tenants } from "../db/schema/tenancy.ts";
import { type CellDirectory, callCell, cellOf } from "../kernel/cells/cell-directory.ts";
import type { Page, VerbContext } from "../kernel/context.ts";
import { withDatabaseErrors } from "../kernel/database-errors.ts";
import { afterCreated, byCreated, createdMicros, parsePage, readPage } from "../kernel/paging.ts";
import { parseId } from "../kernel/parse.ts";
import { budgetSubject, capped } from "../publish/budget-subjects.ts";

/** Throws 404, 502. */
export async function getTenantBudgetUsage(
  ctx: VerbContext,
  directory: CellDirectory,
  id: string,
): Promise<BudgetUsage> {
  const tenantId = parseId(id);
  const [row] = await withDatabaseErrors(async () => ctx.db.select().from(tenants).where(eq(tenants.id, tenantId)));
  if (row === undefined) throw new GatewayError("not_found");
  return await readUsage(directory, budgetSubject(row, null), ctx.now().getTime());
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
  return await readUsage(directory, budgetSubject(row.tenant, row.key), ctx.now().getTime());
}

/** Budgets that are asked about at a time. */
const ASKED_AT_ONCE = 20;

/** One page of the tenants that have a budget, oldest first. Throws 400, 502. */
export async function listBudgets(
  ctx: VerbContext,
  directory: CellDirectory,
  query: unknown,
): Promise<Page<TenantBudgetUsage>> {
  const page = parsePage(query);
  const found = await readPage(
    page,
    (part) =>
      ctx.db
        .select({ ...getTableColumns(tenants), micros: createdMicros(tenants.created_at) })
        .from(tenants)
        .where(and(afterCreated(tenants, part), capped(tenants)))
        .orderBy(...byCreated(tenants))
        .limit(part.limit),
    (row) => [row.micros, row.id],
    (row) => row,
  );
  const budgets: TenantBudgetUsage[] = [];
  for (let at = 0; at < found.rows.length; at += ASKED_AT_ONCE)
    budgets.push(
      ...(await Promise.all(
        found.rows.slice(at, at + ASKED_AT_ONCE).map(async (row) => ({
          tenant_id: row.id,
          tenant_name: row.name,
          timezone: row.timezone,
          ...(await readUsage(directory, budgetSubject(row, null), ctx.now().getTime())),
        })),
      )),
    );
  return { ...found, rows: budgets };
}

async function readUsage(directory: CellDirectory, subject: BudgetSubject, nowMs: number): Promise<BudgetUsage> {
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
    ...runOutFields(read, nowMs),
  });
}

/** When the first of the caps is reached, and what would make it last. */
function runOutFields(read: BudgetRead, nowMs: number) {
  const { tokens_per_day: tokens, cost_usd_per_day: usd } = read;
  const caps = [
    { by: "tokens", used: read.used_tokens, cap: read.budget_tokens, perDay: tokens },
    { by: "cost_usd", used: read.used_cost_usd, cap: read.budget_cost_usd, perDay: usd },
  ] as const;
  const [first] = caps
    .flatMap(({ by, used, cap, perDay }) =>
      cap === null || perDay === null ? [] : [{ by, ...runOutOf({ used, cap, perDay }, read.period_end_ms, nowMs) }],
    )
    .toSorted((a, b) => (a.atMs ?? Number.POSITIVE_INFINITY) - (b.atMs ?? Number.POSITIVE_INFINITY));
  const runsOut = first === undefined || first.atMs === null ? null : first;
  return {
    tokens_per_day: tokens === null ? null : Math.round(tokens * 10_000) / 10_000,
    cost_usd_per_day: usd === null ? null : roundUsd(usd),
    runs_out_at: iso(runsOut?.atMs ?? null),
    runs_out_by: runsOut?.by ?? null,
    limit_to_last: rounded(runsOut, runsOut?.capToLast),
    per_day_to_last: rounded(runsOut, runsOut?.perDayToLast),
  };
}

/** Whole tokens, or USD. */
function rounded(cap: { readonly by: "tokens" | "cost_usd" } | null, amount: number | null | undefined): number | null {
  if (cap === null || amount === null || amount === undefined) return null;
  return cap.by === "tokens" ? Math.ceil(amount) : roundUsd(amount);
}

function iso(epochMs: number | null): string | null {
  return epochMs === null ? null : new Date(epochMs).toISOString();
}
