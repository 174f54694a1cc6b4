import { and, eq, lt } from "drizzle-orm";
import { isConsoleKey } from "../../shared/access/console-key.ts";
import { apiKeys } from "../db/schema/tenancy.ts";
import { changedFields } from "./changed-fields.ts";
import type { VerbContext } from "./context.ts";
import { write } from "./write.ts";

/** So that batches of a minute need one change of their key. */
const LONGER_MS = 60_000;

/**
 * The lines of a batch run as its key, so that a console key lasts longer than its batches. The console forgets its secret after
 * the hour.
 */
export async function keepConsoleKey(ctx: VerbContext, keyId: string, batchEnd: Date): Promise<void> {
  if (!isConsoleKey(keyId)) return;
  const endsBefore = and(eq(apiKeys.id, keyId), lt(apiKeys.expires_at, batchEnd));
  const [before] = await ctx.db.select({ expires_at: apiKeys.expires_at }).from(apiKeys).where(endsBefore);
  if (before === undefined) return;
  const after = { expires_at: new Date(batchEnd.getTime() + LONGER_MS) };
  await write(ctx, async (tx, journal) => {
    const changed = { ...after, rev: journal.rev, updated_at: ctx.now() };
    const [row] = await tx.update(apiKeys).set(changed).where(endsBefore).returning();
    if (row === undefined) return;
    const detail = changedFields(before, after);
    journal.audit({ action: "update_key", entityType: "api_key", entityId: keyId, detail });
    journal.keyChanged(row);
  });
}
