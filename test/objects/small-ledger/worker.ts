/** The Worker with one difference: the ledgers of one cell have little storage. */

import { Ledger as FullLedger } from "../../../edge/durable-objects.ts";
import type { Bindings } from "../../../edge/env.ts";
import { FULL_CELL, SMALL_LIMITS } from "../../harness/small-ledger.ts";

export { Cell, TenantBudget } from "../../../edge/durable-objects.ts";
export { default } from "../../../edge/worker.ts";

export class Ledger extends FullLedger {
  constructor(state: DurableObjectState, bindings: Bindings) {
    super(state, bindings, state.id.name?.startsWith(`${FULL_CELL}:`) ? SMALL_LIMITS : undefined);
  }
}
