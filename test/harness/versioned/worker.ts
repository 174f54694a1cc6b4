/**
 * The Worker as the platform runs it, where each version has an id. A request says in a header which version the platform has
 * chosen for it.
 */
import type { Bindings } from "../../../edge/bindings.ts";
import worker from "../../../edge/worker.ts";

/** @exported The Workers runtime finds them by name. */
export { Cell, Ledger, TenantBudget } from "../../../edge/worker.ts";

const CHOSEN = "x-test-version";

/** @exported The Workers runtime calls it. */
export default {
  async fetch(request: Request, bindings: Bindings, context: ExecutionContext): Promise<Response> {
    const id = request.headers.get(CHOSEN);
    return await worker.fetch(request, id === null ? bindings : { ...bindings, VERSION: { id } }, context);
  },
};
