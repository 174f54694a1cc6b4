/** The Worker as it is, but for the ledgers of one cell, which have room for little. */

import type { Bindings } from "../../../edge/env.ts";
import { Ledger as FullLedger } from "../../../edge/objects/ledger/ledger.ts";
import { FULL_CELL, SMALL_LIMITS } from "../../harness/small-ledger.ts";

export { Cell } from "../../../edge/objects/cell/cell.ts";
export { TenantBudget } from "../../../edge/objects/tenant-budget/tenant-budget.ts";
export { default } from "../../../edge/worker.ts";

export class Ledger extends FullLedger {
  constructor(state: DurableObjectState, bindings: Bindings) {
    super(state, bindings, state.id.name?.startsWith(`${FULL_CELL}:`) ? SMALL_LIMITS : undefined);
  }
}
