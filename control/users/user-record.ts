/** A user's row as the Management API shows it; the lock on the row for a write; the one user that no write changes. */
import { eq } from "drizzle-orm";
import { GatewayError } from "../../shared/errors.ts";
import { type User, userSchema } from "../../shared/schema/user.ts";
import type { Transaction } from "../db/connect.ts";
import { type UserRow, users } from "../db/schema/users.ts";
import { withIsoTimes } from "../kernel/iso-times.ts";
import { fieldError } from "../kernel/parse.ts";

/** The provider of the break-glass admin, whom the environment names. */
export const LOCAL_PROVIDER = "local";

/** The record of a row. */
export function userRecord(row: UserRow): User {
  return userSchema.parse(withIsoTimes(row));
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
