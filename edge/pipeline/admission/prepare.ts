/**
 * Step 4: what is needed before anything is decided: the session the request belongs to and the estimate of its tokens.
 */
import { sessionIdOf } from "../../domain/request/session-id.ts";
import { estimateTokens, measureOf } from "../../domain/request/token-estimate.ts";
import type { Call, ParsedCall, Prepared, Principal } from "../call/context.ts";

/** Session id and estimate, from the client's own body. */
export function prepare(call: Call, principal: Principal, parsed: ParsedCall): Prepared {
  const { document } = parsed;
  const source = { headers: call.request.headers, document, rule: call.route.estimate, tenantId: principal.tenant.id };
  const prepared = {
    session: sessionIdOf(source, call.config.sessionIdDerivation),
    estimate: estimateTokens(call.route.estimate, document),
    measure: () => measureOf(call.route.billedBy, document),
  };
  call.facts.prepared = prepared;
  return prepared;
}
