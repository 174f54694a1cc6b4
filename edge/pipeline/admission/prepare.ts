/**
 * Step 4: what is needed before anything is decided: the session the request belongs to and the estimate of its tokens.
 * A file of its own like every step, so that run.ts holds their order and nothing else.
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
    measure: () => measureOf(call.route.billedBy, document),
  };
}
