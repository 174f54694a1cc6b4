/** Deletes checks that are older than the history is kept (docs/rules/health.md#worker). */
import { lt } from "drizzle-orm";
import { modelHealthChecks } from "../db/schema/models.ts";
import type { VerbContext } from "../kernel/context.ts";

const DAY_MS = 86_400_000;

/** Rejects when the database does not answer. */
export async function pruneChecks(ctx: VerbContext, keptDays: number): Promise<void> {
  const before = new Date(ctx.now().getTime() - keptDays * DAY_MS);
  await ctx.db.delete(modelHealthChecks).where(lt(modelHealthChecks.checked_at, before));
}
