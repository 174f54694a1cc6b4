/** Deletes a key. The next request with any of its secrets is refused with 401; the audit log keeps the deletion. */
import { eq } from "drizzle-orm";
import { apiKeys } from "../db/schema/tenancy.ts";
import type { VerbContext, Written } from "../kernel/context.ts";
import { parseId, refuseIfAny } from "../kernel/parse.ts";
import { write } from "../kernel/write.ts";
import { deleteKeys } from "../tenants/delete-keys.ts";
import { keyRecord, lockKey, refuseConsoleKey } from "./key-record.ts";

/** Throws 404, and 400 when a user would delete a key of the console, or what an admin has disabled. */
export async function deleteKey(ctx: VerbContext, id: string): Promise<Written<null>> {
  const keyId = parseId(id);
  return await write(ctx, async (tx, journal) => {
    const row = await lockKey(tx, keyId);
    ctx.judge?.(keyRecord(row));
    if (ctx.isForUser === true) refuseConsoleKey(row);
    if (ctx.isForUser === true && row.disabled && row.disabled_by !== "user")
      refuseIfAny([{ path: "disabled", message: "was set by an admin: only an admin can delete the key" }]);
    await deleteKeys(tx, eq(apiKeys.id, keyId));
    journal.audit({
      action: "delete_key",
      entityType: "api_key",
      entityId: keyId,
      detail: { tenant_id: row.tenant_id, name: row.name, key_prefix: row.key_prefix },
    });
    journal.keyChanged(row);
    return null;
  });
}
