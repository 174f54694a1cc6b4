/**
 * Forgets secrets that were replaced and whose grace has ended, and has their copies removed from the key-value store.
 * They are refused from the end of their grace on whether or not this has run (docs/rules/keys.md#rotation).
 */
import { inArray, lte } from "drizzle-orm";
import { apiKeys } from "../db/schema/tenancy.ts";
import type { VerbContext } from "../kernel/context.ts";
import { write } from "../kernel/write.ts";

/** Most keys of one run; the next run continues. */
const BATCH = 500;

/** Returns how many secrets were forgotten. Rejects when the database does not answer. */
export async function forgetEndedSecrets(ctx: VerbContext): Promise<{ readonly forgotten: number }> {
  const ended = lte(apiKeys.previous_secret_until, ctx.now());
  if ((await ctx.db.select({ id: apiKeys.id }).from(apiKeys).where(ended).limit(1)).length === 0)
    return { forgotten: 0 };
  const { record: forgotten } = await write(ctx, async (tx, journal) => {
    const rows = await tx
      .select({ id: apiKeys.id, hash: apiKeys.previous_key_hash })
      .from(apiKeys)
      .where(ended)
      .limit(BATCH)
      .for("update");
    const ids = rows.map(({ id }) => id);
    // The revision stays: the copy under the current hash does not change.
    if (ids.length > 0)
      await tx
        .update(apiKeys)
        .set({ previous_key_hash: null, previous_key_pepper: null, previous_secret_until: null })
        .where(inArray(apiKeys.id, ids));
    for (const { hash } of rows) if (hash !== null) journal.secretChanged(hash);
    return rows.length;
  });
  return { forgotten };
}
