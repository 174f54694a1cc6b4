/**
 * Step 4: what every later decision needs: the session that the request belongs to, and the estimate of its tokens. It
 * has a file of its own like every step, so that run.ts only holds their order.
 */
import { sessionIdOf } from "../../domain/request/session-id.ts";
import { estimateTokens, measureOf } from "../../domain/request/token-estimate.ts";
import type { Call } from "../call/context.ts";
import type { Prepared, Resolved } from "../call/known.ts";

/** What was known, with session id and estimate, from the client's own body. */
export function prepare(call: Call, request: Resolved): Prepared {
  const { document } = request.parsed;
  const tenantId = request.principal.tenant.id;
  const source = { headers: call.request.headers, document, rule: call.route.estimate, tenantId };
  return {
    ...request,
    session: sessionIdOf(source, call.config.sessionIdDerivation),
    estimate: estimateTokens(call.route.estimate, document),
    guarded: null,
    measure: () => measureOf(call.route.billedBy, document),
  };
}
