/**
 * The Worker with one difference: the runtime ends the context of a request alone, as it does at a limit of the platform, when
 * a client has asked for it in a header. `ctx.abort()` is what the runtime itself calls then.
 */

import type { Bindings } from "../../../edge/bindings.ts";
import worker from "../../../edge/worker.ts";
import { END_CONTEXT_AFTER_HEADER } from "../../harness/ended-contexts.ts";

/** @exported The Workers runtime finds them by name. */
export { Cell, Ledger, Objects, TenantBudget } from "../../../edge/worker.ts";

/** @exported The Workers runtime calls it. */
export default {
  async fetch(request: Request, bindings: Bindings, context: ExecutionContext): Promise<Response> {
    const afterMs = request.headers.get(END_CONTEXT_AFTER_HEADER);
    if (afterMs !== null) setTimeout(() => context.abort(new Error("a limit of the platform")), Number(afterMs));
    return await worker.fetch(request, bindings, context);
  },
};
