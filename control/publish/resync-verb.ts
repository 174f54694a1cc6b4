/**
 * Publishes again everything that the cells know (docs/rules/freshness.md#resync): records get new revisions, then come the
 * hot copies, then an item that outdates everything read before, then the term counters. The item is published like any
 * other write, so that a cell which is down gets it later.
 */
import type { Resynced } from "../../shared/schema/resync.ts";
import { type CellDirectory, cellOf } from "../kernel/cells/cell-directory.ts";
import type { VerbContext, Written } from "../kernel/context.ts";
import { withDatabaseErrors } from "../kernel/database-errors.ts";
import { write } from "../kernel/write.ts";
import { rebuildBudgets } from "./budget-rebuild.ts";
import { renewRevisions } from "./renew-revisions.ts";
import type { Resync, ResyncReport } from "./resync.ts";

/** Throws 503 when the key-value store or the database does not answer; the copies that were written by then stay. */
export async function resync(ctx: VerbContext, copies: Resync, directory: CellDirectory): Promise<Written<Resynced>> {
  const started = ctx.now();
  await renewRevisions(ctx);
  const { record, sync } = await resyncCopies(ctx, copies);
  const own = cellOf(directory, {});
  const { budgets } = await withDatabaseErrors(async () => rebuildBudgets(ctx.db, directory.cells, own, started));
  const { keys, models, mcp_servers, settings, removed } = record;
  const duration_ms = ctx.now().getTime() - started.getTime();
  return { record: { keys, models, mcp_servers, settings, budgets, removed, duration_ms }, sync };
}

/** Publishes only the hot copies, with the revisions that their records have. Throws 503. */
export async function resyncCopies(ctx: VerbContext, copies: Resync): Promise<Written<ResyncReport>> {
  const report = await withDatabaseErrors(async () => copies.all());
  return await write(ctx, async (_tx, journal) => {
    journal.audit({ action: "resync", entityType: "gateway", entityId: "gateway", detail: { ...report } });
    journal.everythingChanged([], []);
    return report;
  });
}
