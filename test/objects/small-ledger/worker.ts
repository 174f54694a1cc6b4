/** The Worker with one difference: the ledgers of one cell have little storage. */

import type { Bindings } from "../../../edge/bindings.ts";
import { Ledger as FullLedger } from "../../../edge/durable-objects.ts";
import { FULL_CELL, SMALL_LIMITS } from "../../harness/small-ledger.ts";

/** @exported The Workers runtime finds them by name. */
export { Cell, TenantBudget } from "../../../edge/durable-objects.ts";
/** @exported The Workers runtime calls it. */
export { default } from "../../../edge/worker.ts";

/** @exported The Workers runtime finds it by name. */
export class Ledger extends FullLedger {
  constructor(state: DurableObjectState, bindings: Bindings) {
    super(state, bindings, state.id.name?.startsWith(`${FULL_CELL}:`) ? SMALL_LIMITS : undefined);
  }
}
