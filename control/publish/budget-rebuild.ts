/**
 * Checks the term counters of every tenant and key with a cap against the ledger (docs/rules/freshness.md#resync,
 * docs/rules/budgets.md#check-against-the-ledger), in batches through the control service's own cell. Counters without a
 * cap limit no request; they are checked when a cap is set.
 */

import type { Database } from "../db/connect.ts";
import type { CellAddress, Cells } from "../kernel/cells/cells.ts";
import { cappedSubjects } from "./budget-subjects.ts";

/** How many counters the ledger answered for, and whether the cell was reachable for all of them. */
interface RebuildResult {
  readonly budgets: number;
  readonly complete: boolean;
}

/**
 * Checks the counters of tenants and keys created before `before`. Does not throw when the cell does not answer; the result
 * counts what was checked by then.
 */
export async function rebuildBudgets(
  db: Database,
  cells: Cells,
  own: CellAddress,
  before: Date,
): Promise<RebuildResult> {
  let budgets = 0;
  for await (const batch of cappedSubjects(db, before)) {
    try {
      budgets += await cells.rebuildBudgets(own, batch);
    } catch {
      return { budgets, complete: false };
    }
  }
  return { budgets, complete: true };
}
