/**
 * Deletes the console keys of people who may not call as the tenant any more. Batches that such a person has made run with
 * the key, after the session that has made them (docs/rules/console.md#relay).
 */
import { eq, getTableColumns, gt, inArray } from "drizzle-orm";
import { apiKeys } from "../db/schema/tenancy.ts";
import { consoleKeys, users } from "../db/schema/users.ts";
import type { VerbContext } from "../kernel/context.ts";
import { write } from "../kernel/write.ts";
import { deleteKeys } from "../tenants/delete-keys.ts";
import { mayCallAs } from "../users/person.ts";
import { personNow } from "../users/person-now.ts";

/** Returns how many keys were deleted. Rejects when the database does not answer. */
export async function endConsoleKeys(ctx: VerbContext): Promise<{ readonly ended: number }> {
  const { id, tenant_id, name, key_prefix } = apiKeys;
  const held = await ctx.db
    .select({ key: { id, tenant_id, name, key_prefix }, userId: consoleKeys.user_id, user: getTableColumns(users) })
    .from(consoleKeys)
    .innerJoin(apiKeys, eq(apiKeys.id, consoleKeys.key_id))
    .leftJoin(users, eq(users.id, consoleKeys.user_id))
    .where(gt(apiKeys.expires_at, ctx.now()));
  const lost: (typeof held)[number]["key"][] = [];
  for (const own of Map.groupBy(held, ({ userId }) => userId).values()) {
    const user = own[0]?.user ?? null;
    const person = user === null ? null : await personNow(ctx.db, user, { id: "", chosen: null });
    for (const { key } of own) if (person === null || !mayCallAs(person, key.tenant_id)) lost.push(key);
  }
  if (lost.length === 0) return { ended: 0 };
  await write(ctx, async (tx, journal) => {
    const ids = lost.map((key) => key.id);
    journal.keysRemoved(await deleteKeys(tx, inArray(apiKeys.id, ids)));
    for (const { id: entityId, ...detail } of lost)
      journal.audit({ action: "delete_key", entityType: "api_key", entityId, detail });
  });
  return { ended: lost.length };
}
