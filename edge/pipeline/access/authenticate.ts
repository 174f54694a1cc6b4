/**
 * Step 2: who is asking. Bearer -> hash -> hot copy -> principal, then the gates of key and tenant in the order of
 * decisions §17.3. A refusal that rests on a copy in memory reads it anew first, so that a re-enabled key works at once.
 */
import { accessRefusal } from "../../../shared/access-window.ts";
import { type ErrorCode, GatewayError } from "../../../shared/errors.ts";
import type { ResolvedKey } from "../../../shared/records.ts";
import type { OpenSpan } from "../../domain/trace/trace.ts";
import type { Call, Principal } from "../call/context.ts";
import { withSpan } from "../report/spans.ts";
import { keyRevs, mustBeCurrent } from "./freshness.ts";
import { findKey, keyHashOf } from "./identify.ts";

/** The principal of a call. Throws 401, 403, or 503 `key_store_unavailable` or `identity_unavailable`. */
export async function authenticate(call: Call): Promise<Principal> {
  return await withSpan(call, "auth_resolve", async (span) => await resolve(call, span));
}

async function resolve(call: Call, span: OpenSpan): Promise<Principal> {
  call.facts.principal = null;
  const keyHash = await keyHashOf(call);
  const found = await findKey(call, keyHash);
  span.set({ source: found.source });
  let key = found.record;
  if (gate(call, key) !== null && found.source === "memory") {
    const anew = await findKey(call, keyHash, { fresh: true });
    key = anew.record;
    span.set({ source: anew.source });
    if (anew.source === "memory" && gate(call, key) !== null) await mustBeCurrent(call, keyRevs(call, key));
  }
  const { tenant } = key;
  if (tenant !== null) call.facts.principal = { key, tenant };
  const refusal = gate(call, key);
  if (refusal !== null || tenant === null) throw new GatewayError(refusal ?? "tenant_not_found");
  return { key, tenant };
}

function gate(call: Call, key: ResolvedKey): ErrorCode | null {
  if (key.disabled) return "api_key_disabled";
  if (key.tenant === null) return "tenant_not_found";
  return accessRefusal(key.tenant, call.ports.clock());
}
