/** The tenants of a person other than that of the own row (docs/rules/users.md#roles). */
import { and, eq } from "drizzle-orm";
import type { UserTenant } from "../../shared/schema/user.ts";
import type { Transaction } from "../db/connect.ts";
import { userTenants } from "../db/schema/users.ts";

/** Replaces those of one source. The database refuses what is not a tenant. */
export async function setUserTenants(
  tx: Transaction,
  userId: string,
  { source, given }: { readonly source: "admin" | "group"; readonly given: readonly UserTenant[] },
): Promise<void> {
  await tx.delete(userTenants).where(and(eq(userTenants.user_id, userId), eq(userTenants.source, source)));
  if (given.length === 0) return;
  await tx
    .insert(userTenants)
    .values(given.map(({ tenant_id, role }) => ({ user_id: userId, tenant_id, role, source })));
}
