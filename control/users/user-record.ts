/** A user's row as the Management API shows it; the lock on the row for a write; the one user that no write changes. */
import { eq, inArray } from "drizzle-orm";
import { GatewayError } from "../../shared/errors.ts";
import { type User, userSchema } from "../../shared/schema/user.ts";
import type { Database, Transaction } from "../db/connect.ts";
import { type UserRow, users, userTenants } from "../db/schema/users.ts";
import { withIsoTimes } from "../kernel/iso-times.ts";
import { fieldError } from "../kernel/parse.ts";

/** The provider of the break-glass admin, whom the environment names. */
export const LOCAL_PROVIDER = "local";

/** The records of rows, in their order. */
export async function userRecords(db: Database | Transaction, rows: readonly UserRow[]): Promise<readonly User[]> {
  const ids = rows.map(({ id }) => id);
  const found = ids.length === 0 ? [] : await db.select().from(userTenants).where(inArray(userTenants.user_id, ids));
  const byUser = Map.groupBy(
    found.toSorted((one, two) => one.tenant_id.localeCompare(two.tenant_id)),
    ({ user_id }) => user_id,
  );
  const of = (row: UserRow, wanted: "admin" | "group") =>
    (byUser.get(row.id) ?? [])
      .filter(({ source }) => source === wanted)
      .map(({ tenant_id, role }) => ({ tenant_id, role }));
  return rows.map((row) =>
    userSchema.parse({ ...withIsoTimes(row), more_tenants: of(row, "admin"), group_tenants: of(row, "group") }),
  );
}

/** The record of a row. */
export async function userRecord(db: Database | Transaction, row: UserRow): Promise<User> {
  const [record] = await userRecords(db, [row]);
  return record as User;
}

/**
 * The row of a user that admins may change, locked until the transaction ends. Throws 404, and 400 for the break-glass
 * admin (docs/rules/users.md#break-glass).
 */
export async function lockUser(tx: Transaction, id: string): Promise<UserRow> {
  const [row] = await tx.select().from(users).where(eq(users.id, id)).for("update");
  if (row === undefined) throw new GatewayError("not_found");
  if (row.provider === LOCAL_PROVIDER)
    throw fieldError("id", "is the break-glass admin, defined by DASHBOARD_ADMIN_EMAIL and DASHBOARD_PASSWORD");
  return row;
}
