/**
 * What happens once after each start of the control service; each part is repeated until it succeeds
 * (docs/rules/freshness.md#resync). The hot copies are written before anything is served, if the store is available.
 * The budget counters are checked against the ledger as soon as a cell is available.
 */
import type { Logger } from "pino";
import { type CellDirectory, cellOf } from "../kernel/cells/cell-directory.ts";
import type { VerbContext } from "../kernel/context.ts";
import { rebuildBudgets } from "./budget-rebuild.ts";
import type { Resync } from "./resync.ts";
import { resyncCopies } from "./resync-verb.ts";

/** The parts, each to be called until it succeeds; the first rejects while the store does not answer. */
export function startSync(
  ctx: VerbContext,
  copies: Resync,
  directory: CellDirectory,
  log: Logger,
): { readonly syncAtStart: () => Promise<void>; readonly rebuildAtStart: () => Promise<void> } {
  let synced = false;
  const started = ctx.now();
  let rebuilt = false;
  return {
    syncAtStart: async () => {
      if (synced) return;
      log.info({ event: "resync", ...(await resyncCopies(ctx, copies)).record });
      synced = true;
    },
    rebuildAtStart: async () => {
      if (rebuilt) return;
      const { budgets, complete } = await rebuildBudgets(ctx.db, directory.cells, cellOf(directory, {}), started);
      rebuilt = complete;
      if (complete) log.info({ event: "budgets_rebuilt", budgets });
    },
  };
}
