/**
 * Approves a user, or changes role, tenants and status; what is omitted keeps its value. It counts with the user's next
 * request (docs/rules/users.md#approval).
 */
import { eq } from "drizzle-orm";
import { GatewayError } from "../../shared/errors.ts";
import { type User, updateUserSchema } from "../../shared/schema/user.ts";
import { type UserRow, users } from "../db/schema/users.ts";
import { changedFields } from "../kernel/changed-fields.ts";
import type { VerbContext, Written } from "../kernel/context.ts";
import { isForeignKeyViolation } from "../kernel/database-errors.ts";
import { fieldError, parse, parseId } from "../kernel/parse.ts";
import { write } from "../kernel/write.ts";
import { lockUser, userRecord } from "./user-record.ts";
import { setUserTenants } from "./user-tenants.ts";

/** The user. Throws 400, 404. */
export async function updateUser(ctx: VerbContext, id: string, input: unknown): Promise<Written<User>> {
  const userId = parseId(id);
  const body = parse(updateUserSchema, input);
  return await write(ctx, async (tx, journal) => {
    const row = await lockUser(tx, userId);
    const before = await userRecord(tx, row);
    ctx.checkRecord?.(before);
    const fields = {
      status: body.status ?? row.status,
      role: body.role ?? row.role,
      tenant_id: body.tenant_id === undefined ? row.tenant_id : body.tenant_id,
    } satisfies Partial<UserRow>;
    const [changed] = await naming("tenant_id", async () =>
      tx
        .update(users)
        .set({ ...fields, rev: journal.rev, updated_at: ctx.now() })
        .where(eq(users.id, userId))
        .returning(),
    );
    if (changed === undefined) throw new GatewayError("not_found");
    const given = body.more_tenants;
    if (given !== undefined)
      await naming("more_tenants", async () => setUserTenants(tx, userId, { source: "admin", given }));
    const after = await userRecord(tx, changed);
    journal.audit({
      action: before.status === "pending" && fields.status === "active" ? "approve_user" : "update_user",
      entityType: "user",
      entityId: userId,
      detail: { email: before.email, ...changedFields(before, { ...fields, more_tenants: after.more_tenants }) },
    });
    return after;
  });
}

/** Says which field names something that is not a tenant. */
async function naming<T>(field: string, change: () => Promise<T>): Promise<T> {
  try {
    return await change();
  } catch (error) {
    if (isForeignKeyViolation(error)) throw fieldError(field, "is not a tenant");
    throw error;
  }
}
