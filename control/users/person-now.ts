/** What a person may see and do, by the rows of this moment. */
import { and, eq, sql } from "drizzle-orm";
import type { Database } from "../db/connect.ts";
import { tenants } from "../db/schema/tenancy.ts";
import { type UserRow, userTenants } from "../db/schema/users.ts";
import { type ConsolePerson, personFrom } from "./person.ts";

/** `session`: the one that asks, with the tenant that was chosen in it. */
export async function personNow(
  db: Database,
  user: UserRow,
  session: { readonly id: string; readonly chosen: string | null },
): Promise<ConsolePerson> {
  const { id, tenant_id, status } = user;
  if (status !== "active") return personFrom(user, [], session);
  const grants = await db
    .select({ id: tenants.id, name: tenants.name, role: userTenants.role })
    .from(tenants)
    .leftJoin(userTenants, and(eq(userTenants.tenant_id, tenants.id), eq(userTenants.user_id, id)))
    .where(
      sql`${tenants.id} IN (SELECT ${userTenants.tenant_id} FROM ${userTenants} WHERE ${userTenants.user_id} = ${id} UNION ALL SELECT ${tenant_id}::uuid)`,
    )
    .orderBy(tenants.name);
  return personFrom(user, grants, session);
}
