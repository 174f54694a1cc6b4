import { and, eq, lt } from "drizzle-orm";
import { isConsoleKey } from "../../shared/access/console-key.ts";
import { apiKeys } from "../db/schema/tenancy.ts";
import type { VerbContext } from "./context.ts";
import { write } from "./write.ts";

/** The lines of a batch run as its key, so that a console key lasts as long. The console forgets its secret after the hour. */
export async function keepConsoleKey(ctx: VerbContext, keyId: string, until: Date): Promise<void> {
  if (!isConsoleKey(keyId)) return;
  await write(ctx, async (tx, journal) => {
    const [row] = await tx
      .update(apiKeys)
      .set({ expires_at: until, rev: journal.rev, updated_at: ctx.now() })
      .where(and(eq(apiKeys.id, keyId), lt(apiKeys.expires_at, until)))
      .returning();
    if (row !== undefined) journal.keyChanged(row);
  });
}
