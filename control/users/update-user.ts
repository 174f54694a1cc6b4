/**
 * Approves a user, or changes role, tenant and status; what is omitted keeps its value. It counts with the user's next
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

/** The user. Throws 400, 404. */
export async function updateUser(ctx: VerbContext, id: string, input: unknown): Promise<Written<User>> {
  const userId = parseId(id);
  const body = parse(updateUserSchema, input);
  return await write(ctx, async (tx, journal) => {
    const before = await lockUser(tx, userId);
    ctx.judge?.(userRecord(before));
    const fields = {
      status: body.status ?? before.status,
      role: body.role ?? before.role,
      tenant_id: body.tenant_id === undefined ? before.tenant_id : body.tenant_id,
    } satisfies Partial<UserRow>;
    try {
      const [row] = await tx
        .update(users)
        .set({ ...fields, rev: journal.rev, updated_at: ctx.now() })
        .where(eq(users.id, userId))
        .returning();
      if (row === undefined) throw new GatewayError("not_found");
      journal.audit({
        action: before.status === "pending" && fields.status === "active" ? "approve_user" : "update_user",
        entityType: "user",
        entityId: userId,
        detail: { email: before.email, ...changedFields(before, fields) },
      });
      return userRecord(row);
    } catch (error) {
      if (isForeignKeyViolation(error)) throw fieldError("tenant_id", "is not a tenant");
      throw error;
    }
  });
}
