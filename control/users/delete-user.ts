/** Removes a user with all sessions. Who signs in again is a new user, who waits for approval (docs/rules/users.md). */
import { eq } from "drizzle-orm";
import { users } from "../db/schema/users.ts";
import type { VerbContext, Written } from "../kernel/context.ts";
import { parseId } from "../kernel/parse.ts";
import { write } from "../kernel/write.ts";
import { lockUser, userRecord } from "./user-record.ts";

/** Throws 400 for the break-glass admin, 404. */
export async function deleteUser(ctx: VerbContext, id: string): Promise<Written<null>> {
  const userId = parseId(id);
  return await write(ctx, async (tx, journal) => {
    const row = await lockUser(tx, userId);
    ctx.checkRecord?.(await userRecord(tx, row));
    const { email, provider } = row;
    await tx.delete(users).where(eq(users.id, userId));
    journal.audit({ action: "delete_user", entityType: "user", entityId: userId, detail: { email, provider } });
    return null;
  });
}
