/**
 * Step 2: who is asking. Bearer -> hash -> hot copy -> principal, then the gates of key and tenant in the order of
 * docs/rules/errors.md#refusal-order. A refusal based on a copy in memory reads the record again first, so that a re-enabled
 * key works at once.
 */
import { callerRefusal } from "../../../shared/access/caller-access.ts";
import { type ErrorCode, GatewayError } from "../../../shared/errors.ts";
import type { ResolvedKey } from "../../../shared/records.ts";
import type { OpenSpan } from "../../domain/trace/trace.ts";
import type { Call } from "../call/context.ts";
import { type Authenticated, type Known, StageFailure } from "../call/known.ts";
import { withSpan } from "../call/report/spans.ts";
import { keyRevs, mustBeCurrent } from "./freshness.ts";
import { findKey, identify } from "./identify.ts";

/**
 * The input, with the current principal of the call. Throws the failure of 401, 403, or 503 `key_store_unavailable` or
 * `identity_unavailable`.
 */
export async function authenticate<K extends Known>(call: Call, known: K): Promise<K & Authenticated> {
  // A caller that is looked up again has one span: its first look-up, with the source of the last.
  const earlier = call.trace.first("auth_resolve");
  if (earlier === undefined)
    return await withSpan(call, "auth_resolve", async (span) => await resolve(call, known, span));
  try {
    return await resolve(call, known, earlier);
  } catch (error) {
    earlier.fail();
    throw error;
  }
}

async function resolve<K extends Known>(call: Call, before: K, span: OpenSpan): Promise<K & Authenticated> {
  let known: Known = before.principal === null ? before : { ...before, principal: null };
  try {
    const caller = await identify(call, before.identity);
    const { identity } = caller;
    if (identity !== before.identity) known = { ...known, identity };
    const found = await findKey(call, caller);
    span.set({ source: found.source });
    let key = found.record;
    if (gate(call, key) !== null && found.source === "memory") {
      const anew = await findKey(call, caller, { fresh: true });
      key = anew.record;
      span.set({ source: anew.source });
      if (anew.source === "memory" && gate(call, key) !== null) await mustBeCurrent(call, keyRevs(call, key));
    }
    const { tenant } = key;
    const refusal = gate(call, key);
    if (tenant === null || refusal === "invalid_api_key") throw new GatewayError(refusal ?? "tenant_not_found");
    const principal = { key, tenant };
    call.memory.turns.belongs(call.request, tenant.id);
    if (refusal !== null) throw new StageFailure(new GatewayError(refusal), { ...known, principal });
    return { ...before, identity, principal };
  } catch (error) {
    throw StageFailure.of(error, known);
  }
}

/**
 * Returns while the caller may still be served by the clock; a step before it may have lasted long, such as one that
 * reads a body. Throws what {@link authenticate} throws.
 */
export async function checkTime(call: Call, known: Authenticated): Promise<void> {
  if (gate(call, known.principal.key) !== null) await authenticate(call, known);
}

function gate(call: Call, key: ResolvedKey): ErrorCode | null {
  return callerRefusal(key, call.ports.clock());
}
