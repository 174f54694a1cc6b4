/**
 * Step 5: the stored answer, when the model has the cache on (specification "Data plane routes" 10, decisions §21). Ends
 * the request on a hit: no upstream, no permit, no charge. Nothing partial is ever stored.
 */
import type { ModelRecord, ResolvedKey } from "../../shared/records.ts";
import type { CacheEntry } from "../ports.ts";
import type { Call, ParsedCall, Principal } from "./context.ts";
import { readLevel } from "./rate-limit.ts";
import { gatewayHeaders, isEventStream, STREAM_HEADERS } from "./response-headers.ts";
import { tellEnd } from "./tell-end.ts";
import { traced } from "./traced.ts";
import { rowOf } from "./usage-record.ts";

/** Largest body that is stored, in bytes. */
export const CACHE_BODY_MAX_BYTES = 512 * 1024;

/** A lookup that missed: where the answer is to be stored. */
export interface CacheMiss {
  readonly tenantId: string;
  readonly digest: string;
  readonly ttlSecs: number;
  readonly path: string;
}

export type CacheVerdict =
  | { readonly kind: "off" }
  | { readonly kind: "miss"; readonly miss: CacheMiss }
  | { readonly kind: "hit"; readonly response: Response }
  /** The store holds a newer key than the request was authenticated with, or none any more. */
  | { readonly kind: "stale-key" };

/** Looks the answer up. */
export async function lookupResponse(
  call: Call,
  principal: Principal,
  model: ModelRecord,
  parsed: ParsedCall,
): Promise<CacheVerdict> {
  const bytes = call.request.method === "POST" ? parsed.outgoing.clientBytes : null;
  if (!model.cache_enabled || bytes === null || call.request.headers.has("x-gateway-boons")) return { kind: "off" };
  const digest = await digestOf(model.model_name, bytes);
  const { path } = call;
  const { entry, key } = await traced(call, "cache_lookup", async (span) => {
    const found = await call.ports.responseCache.lookup(principal.tenant.id, digest, principal.key.key_hash);
    span.set({ result: found.entry?.path === path ? "hit" : "miss" });
    return found;
  });
  if (outdated(principal, key, entry !== null)) return { kind: "stale-key" };
  if (entry === null || entry.path !== path) {
    call.facts.cacheStatus = "miss";
    return { kind: "miss", miss: { tenantId: principal.tenant.id, digest, ttlSecs: model.cache_ttl_secs, path } };
  }
  call.facts.cacheStatus = "hit";
  await readLevel(call);
  return { kind: "hit", response: replay(call, entry) };
}

/** Stores a complete answer; the caller has checked status and size. */
export async function storeResponse(
  call: Call,
  miss: CacheMiss,
  answer: {
    readonly body: Uint8Array;
    readonly contentType: string;
    readonly inputTokens: number;
    readonly outputTokens: number;
  },
): Promise<void> {
  const entry: CacheEntry = {
    v: 1,
    path: miss.path,
    status: 200,
    content_type: answer.contentType,
    body_b64: toBase64(answer.body),
    input_tokens: answer.inputTokens,
    output_tokens: answer.outputTokens,
    stored_at_ms: call.ports.clock(),
  };
  await call.ports.responseCache.store(miss.tenantId, miss.digest, entry, miss.ttlSecs);
}

/** A hit meets no Cell, so that the store's own copy decides whether the key may still have it (decisions §32.4). */
function outdated(principal: Principal, stored: ResolvedKey | null, wouldHit: boolean): boolean {
  if (stored === null) return wouldHit;
  const { key, tenant } = principal;
  if (stored.tenant === null) return true;
  return (
    stored.rev > key.rev ||
    stored.tenant.id !== tenant.id ||
    stored.tenant.rev > tenant.rev ||
    stored.tenant.group_rev > tenant.group_rev
  );
}

function replay(call: Call, entry: CacheEntry): Response {
  const billed = { inputTokens: entry.input_tokens, outputTokens: entry.output_tokens, costUsd: 0 };
  const row = rowOf(call, { statusCode: 200, admission: "fast", billed });
  call.waitUntil(call.ports.admission.record(row));
  tellEnd(call, row);
  const body = Uint8Array.from(atob(entry.body_b64), (char) => char.charCodeAt(0));
  const headers = {
    "content-type": entry.content_type,
    ...gatewayHeaders(call),
    ...(isEventStream(entry.content_type) ? STREAM_HEADERS : {}),
  };
  return new Response(body, { status: 200, headers });
}

/** SHA-256 of model, a 0x00 byte, then the client body; hex. */
async function digestOf(modelName: string, body: Uint8Array): Promise<string> {
  const name = new TextEncoder().encode(`${modelName}\u0000`);
  const input = new Uint8Array(name.byteLength + body.byteLength);
  input.set(name);
  input.set(body, name.byteLength);
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", input));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.byteLength; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text);
}
