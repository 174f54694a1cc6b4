/**
 * Deletes a key. The next request with any of its secrets is refused with 401; the audit log keeps the deletion. The key of
 * an identity comes back with the identity's next request, without its settings: so a `user` cannot delete one that an admin has
 * limited (docs/rules/keys.md#admins-and-users).
 */
import { eq } from "drizzle-orm";
import { isIdentityKeyHash } from "../../shared/schema/identity.ts";
import { type ApiKeyRow, apiKeys } from "../db/schema/tenancy.ts";
import type { VerbContext, Written } from "../kernel/context.ts";
import { parseId, refuseIfAny } from "../kernel/parse.ts";
import { write } from "../kernel/write.ts";
import { deleteKeys } from "../tenants/delete-keys.ts";
import { fieldsLimitedByAdmin } from "./admin-limits.ts";
import { keyRecord, lockKey, refuseConsoleKey } from "./key-record.ts";

const ONLY_AN_ADMIN = "was set by an admin: only an admin can delete the key";
const COMES_BACK =
  "was set by an admin, and this identity's next request would create the key again without it: disable the key, or ask an admin to delete it";

/** Throws 404, and 400 when a user would delete a key of the console, or what an admin has disabled, or limited for an identity. */
export async function deleteKey(ctx: VerbContext, id: string): Promise<Written<null>> {
  const keyId = parseId(id);
  return await write(ctx, async (tx, journal) => {
    const row = await lockKey(tx, keyId);
    ctx.checkRecord?.(keyRecord(row));
    if (ctx.isForUser === true) {
      refuseConsoleKey(row);
      refuseIfAny(protectedBy(row));
    }
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

/** What an admin has set of the key and its deletion would undo. */
function protectedBy(row: ApiKeyRow): readonly { readonly path: string; readonly message: string }[] {
  const disabled = row.disabled && row.disabled_by !== "user" ? [{ path: "disabled", message: ONLY_AN_ADMIN }] : [];
  if (!isIdentityKeyHash(row.key_hash)) return disabled;
  const set = [...fieldsLimitedByAdmin(row), ...(row.tracing_enabled ? ["tracing_enabled"] : [])];
  return [...disabled, ...set.map((path) => ({ path, message: COMES_BACK }))];
}
