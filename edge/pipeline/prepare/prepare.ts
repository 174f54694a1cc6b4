/**
 * Step 4: what every later decision needs: the estimate of the request's tokens. It has a file of its own like every step,
 * so that run.ts only holds their order.
 */
import { estimateTokens, measureOf, type TokenEstimate } from "../../domain/request/token-estimate.ts";
import type { Call } from "../call/context.ts";
import { inTurns } from "../call/in-turns.ts";
import type { Prepared, Resolved } from "../call/known.ts";

/** What was known, with the estimate, from the client's own body. */
export async function prepare(call: Call, request: Resolved): Promise<Prepared> {
  return prepared(call, request, await inTurns(call, estimateTokens(call.route.estimate, request.parsed.document)));
}

/** What was known, with this estimate. */
export function prepared({ route }: Call, request: Resolved, estimate: TokenEstimate): Prepared {
  return { ...request, estimate, guarded: null, measure: () => measureOf(route.billedBy, request.parsed.document) };
}
