/** The tenants and keys that have budget counters, with the limits that apply to them, from the rows as they are now. */
import { and, asc, eq, gt, inArray, isNotNull, lt, or } from "drizzle-orm";
import {
  type BudgetSubject,
  keyLimitsSchema,
  REBUILD_BATCH,
  tenantLimitsSchema,
} from "../../shared/wire/internal-budgets.ts";
import type { Database } from "../db/connect.ts";
import { type ApiKeyRow, apiKeys, type TenantRow, tenants } from "../db/schema/tenancy.ts";
import { budgetOf } from "./hot-copies.ts";

/** A tenant's own counters, or those of one of its keys. */
export function budgetSubject(tenant: TenantRow, key: ApiKeyRow | null): BudgetSubject {
  return { tenant: tenantLimits(tenant), key: key === null ? null : keyLimits(key) };
}

/** The limits of a tenant. */
function tenantLimits(row: TenantRow): BudgetSubject["tenant"] {
  const active_until_ms = row.active_until?.getTime() ?? null;
  return tenantLimitsSchema.parse({ ...row, active_until_ms, budget: budgetOf(row) });
}

/** The additional limits of a key. */
function keyLimits(row: ApiKeyRow): NonNullable<BudgetSubject["key"]> {
  return keyLimitsSchema.parse({ ...row, key_id: row.id, key_name: row.name, budget: budgetOf(row) });
}

/**
 * Every tenant and every key that has a cap and was created before `before`, in batches. A counter without a cap limits no
 * request.
 */
export async function* cappedSubjects(db: Database, before: Date): AsyncGenerator<readonly BudgetSubject[]> {
  yield* inBatches(
    async (after) =>
      await db
        .select()
        .from(tenants)
        .where(and(capped(tenants), lt(tenants.created_at, before), after === null ? undefined : gt(tenants.id, after)))
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
        .where(and(capped(apiKeys), lt(apiKeys.created_at, before), after === null ? undefined : gt(apiKeys.id, after)))
        .orderBy(asc(apiKeys.id))
        .limit(REBUILD_BATCH),
    (row) => row.key.id,
    (row) => budgetSubject(row.tenant, row.key),
  );
}

/** The budgets of tenants with these ids and of keys with these hashes, by id and hash, those that have a cap. */
export async function cappedAmong(
  db: Database,
  tenantIds: string[],
  keyHashes: string[],
): Promise<ReadonlyMap<string, BudgetSubject>> {
  const found = new Map<string, BudgetSubject>();
  if (tenantIds.length > 0)
    for (const row of await db
      .select()
      .from(tenants)
      .where(and(capped(tenants), inArray(tenants.id, tenantIds))))
      found.set(row.id, budgetSubject(row, null));
  if (keyHashes.length > 0)
    for (const { key, tenant } of await db
      .select({ key: apiKeys, tenant: tenants })
      .from(apiKeys)
      .innerJoin(tenants, eq(tenants.id, apiKeys.tenant_id))
      .where(and(capped(apiKeys), inArray(apiKeys.key_hash, keyHashes))))
      found.set(key.key_hash, budgetSubject(tenant, key));
  return found;
}

/** Has a limit in tokens or USD. */
export const capped = (table: typeof tenants | typeof apiKeys) =>
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
