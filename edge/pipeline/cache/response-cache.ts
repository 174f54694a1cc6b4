/**
 * Step 5: the stored answer, when the model has the cache on (specification "Data plane routes" 10, decisions §21). Ends
 * the request on a hit: no upstream, no permit, no charge. A hit rests on current records like an admission: one call shows
 * them to the Cell and hands in the row, before the answer is given (decisions §43.3). Nothing partial is ever stored.
 */
import type { RevItem } from "../../../shared/internal.ts";
import type { ModelRecord } from "../../../shared/records.ts";
import type { UsageRow } from "../../../shared/usage-row.ts";
import { limitsOf } from "../../domain/budget/limits.ts";
import { concat } from "../../domain/json/top-level.ts";
import type { CacheEntry } from "../../ports.ts";
import { type AdmissionSubject, subjectRevs } from "../access/freshness.ts";
import type { Call, ParsedCall } from "../call/context.ts";
import { gatewayHeaders, isEventStream, STREAM_HEADERS } from "../reply/response-headers.ts";
import { reportEnd } from "../report/report-end.ts";
import { withSpan } from "../report/spans.ts";
import { usageRowOf } from "../report/usage-row.ts";

/** Largest body that is stored, in bytes. */
export const CACHE_BODY_MAX_BYTES = 512 * 1024;

/** Where an answer is to be stored, and for how long. */
export interface CacheMiss {
  readonly tenantId: string;
  readonly digest: string;
  readonly path: string;
  readonly ttlSecs: number;
  /** What answers it: {@link originOf}. */
  readonly origin: string;
}

type CacheVerdict =
  | { readonly kind: "off" }
  | { readonly kind: "miss"; readonly tenantId: string; readonly digest: string; readonly path: string }
  | { readonly kind: "hit"; readonly response: Response; readonly row: UsageRow }
  /** There is an answer, and it rests on records that the Cell knows newer ones of. */
  | { readonly kind: "stale"; readonly items: readonly RevItem[] };

/** Looks the answer up. Throws 503 `scheduler_unavailable`. */
export async function lookupResponse(call: Call, subject: AdmissionSubject, parsed: ParsedCall): Promise<CacheVerdict> {
  const { principal, model } = subject;
  const body = call.request.method === "POST" ? parsed.outgoing.clientBytes : null;
  if (!model.cache_enabled || body === null || call.request.headers.has("x-gateway-boons")) return { kind: "off" };
  const { path } = call;
  const tenantId = principal.tenant.id;
  const digest = await digestOf(model.model_name, body);
  const found = await withSpan(call, "cache_lookup", async (span) => {
    const entry = await call.ports.responseCache.lookup(tenantId, digest);
    const fits = entry?.path === path && entry.origin === originOf(model);
    call.facts.cacheStatus = fits ? "hit" : "miss";
    const verdict = fits ? await replay(call, subject, entry) : ({ kind: "miss", tenantId, digest, path } as const);
    if (verdict.kind === "stale") call.facts.cacheStatus = "off";
    span.set({ result: verdict.kind });
    return verdict;
  });
  // Behind its span, which goes with the row.
  if (found.kind === "hit") reportEnd(call, found.row);
  return found;
}

/** Where the answer of this model is to be stored; null: nowhere. */
export function cacheMissFor(verdict: CacheVerdict, model: ModelRecord): CacheMiss | null {
  if (verdict.kind !== "miss" || !model.cache_enabled) return null;
  const { tenantId, digest, path } = verdict;
  return { tenantId, digest, path, ttlSecs: model.cache_ttl_secs, origin: originOf(model) };
}

/** Stores a complete answer; the caller has checked status and size. `release` is called once its body is not held for it any more. */
export function storeResponse(
  call: Call,
  miss: CacheMiss,
  answer: {
    readonly body: Uint8Array<ArrayBuffer>;
    readonly contentType: string;
    readonly inputTokens: number;
    readonly outputTokens: number;
  },
  release: () => void,
): void {
  const entry: CacheEntry = {
    v: 1,
    path: miss.path,
    status: 200,
    content_type: answer.contentType,
    body: answer.body,
    input_tokens: answer.inputTokens,
    output_tokens: answer.outputTokens,
    stored_at_ms: call.ports.clock(),
    origin: miss.origin,
  };
  call.ports.responseCache.store(miss.tenantId, miss.digest, entry, miss.ttlSecs, release);
}

/**
 * What an answer comes from: another model of the same name, or one that was pointed elsewhere, has not given it. Endpoints
 * are not part of it: they serve the same upstream model (specification "Model endpoint"), and come and go.
 */
export function originOf({ id, upstream_model, api_base }: ModelRecord): string {
  return JSON.stringify([id, upstream_model, api_base]);
}

/** The stored answer, once the Cell has nothing against it. */
async function replay(call: Call, subject: AdmissionSubject, entry: CacheEntry): Promise<CacheVerdict> {
  const { key, tenant } = subject.principal;
  const billed = { inputTokens: entry.input_tokens, outputTokens: entry.output_tokens, costUsd: 0 };
  const row = usageRowOf(call, { statusCode: 200, admission: "fast", billed });
  // Until the Cell's answer is here nobody knows whether it has the row.
  const before = call.facts.queueEntryUnknown;
  call.facts.queueEntryUnknown = true;
  const shown = call.ports.admission.hit({
    revs: subjectRevs(call, subject),
    limits: tenant.tokens_per_minute === 0 ? null : limitsOf(key, tenant),
    row,
  });
  call.waitUntil(shown.catch(() => undefined));
  const { newer, level, recorded } = await shown;
  call.facts.queueEntryUnknown = before;
  if (newer.length > 0) return { kind: "stale", items: newer };
  call.waitUntil(recorded);
  call.facts.level = level;
  const headers = {
    "content-type": entry.content_type,
    ...gatewayHeaders(call),
    ...(isEventStream(entry.content_type) ? STREAM_HEADERS : {}),
  };
  return { kind: "hit", response: new Response(entry.body, { status: 200, headers }), row };
}

/** SHA-256 of model, a 0x00 byte, then the client body; hex. */
async function digestOf(modelName: string, body: readonly Uint8Array[]): Promise<string> {
  const input = concat([new TextEncoder().encode(`${modelName}\u0000`), ...body]);
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", input));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
