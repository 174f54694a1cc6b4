/**
 * Whose budget counters there are, with the limits that bind them, from the rows as they are now.
 */
import { and, asc, eq, gt, isNotNull, or } from "drizzle-orm";
import { type BudgetSubject, budgetSubjectSchema, REBUILD_BATCH } from "../../shared/internal-budgets.ts";
import type { Database } from "../db/connect.ts";
import { type ApiKeyRow, apiKeys, type TenantRow, tenants } from "../db/schema/tenancy.ts";
import { budgetOf } from "./hot-copies.ts";

/** A tenant's own counters, or those of one of its keys. */
export function budgetSubject(tenant: TenantRow, key: ApiKeyRow | null): BudgetSubject {
  return budgetSubjectSchema.parse({
    tenant: { ...tenant, active_until_ms: tenant.active_until?.getTime() ?? null, budget: budgetOf(tenant) },
    key: key === null ? null : { ...key, key_id: key.id, key_name: key.name, budget: budgetOf(key) },
  });
}

/** Every tenant and every key that has a cap, in batches: a counter without one binds nobody. */
export async function* cappedSubjects(db: Database): AsyncGenerator<readonly BudgetSubject[]> {
  yield* inBatches(
    async (after) =>
      await db
        .select()
        .from(tenants)
        .where(and(capped(tenants), after === null ? undefined : gt(tenants.id, after)))
        .orderBy(asc(tenants.id))
        .limit(REBUILD_BATCH),
    (row) => row.id,
    (row) => budgetSubject(row, null),
  );
  yield* inBatches(
    async (after) =>
      await db
        .select({ key: apiKeys, tenant: tenants })
        .from(apiKeys)
        .innerJoin(tenants, eq(tenants.id, apiKeys.tenant_id))
        .where(and(capped(apiKeys), after === null ? undefined : gt(apiKeys.id, after)))
        .orderBy(asc(apiKeys.id))
        .limit(REBUILD_BATCH),
    (row) => row.key.id,
    (row) => budgetSubject(row.tenant, row.key),
  );
}

const capped = (table: typeof tenants | typeof apiKeys) =>
  or(isNotNull(table.budget_tokens), isNotNull(table.budget_cost_usd));

async function* inBatches<Row>(
  read: (after: string | null) => Promise<readonly Row[]>,
  idOf: (row: Row) => string,
  subjectOf: (row: Row) => BudgetSubject,
): AsyncGenerator<readonly BudgetSubject[]> {
  let after: string | null = null;
  for (;;) {
    const rows = await read(after);
    const last = rows.at(-1);
    if (last === undefined) return;
    yield rows.map(subjectOf);
    after = idOf(last);
  }
}
