/**
 * Step 5: the stored answer, when the model has the cache on (docs/rules/response-cache.md#hits). A hit ends the
 * request: no upstream, no permit, no charge. A hit rests on current records like an admission: before the answer is
 * given, one call compares them at the Cell and hands in the row (docs/rules/response-cache.md#freshness). Nothing
 * partial is ever stored.
 */

import { servedUntilMs } from "../../../shared/access/caller-access.ts";
import { LIMITS } from "../../../shared/catalogues/limits.ts";
import { GatewayError } from "../../../shared/errors.ts";
import type { ModelRecord } from "../../../shared/records.ts";
import type { UsageRow } from "../../../shared/usage/usage-row.ts";
import type { RevItem } from "../../../shared/wire/internal.ts";
import { ratedLimitsOf } from "../../domain/budget/limits.ts";
import { isWholeAnswer } from "../../domain/upstream/whole-answer.ts";
import { NOTHING_BILLED } from "../../domain/usage/billing.ts";
import { BytePieces, concat } from "../../domain/wire/bytes/byte-pieces.ts";
import type { CacheEntry } from "../../ports.ts";
import { subjectRevs } from "../authenticate/freshness.ts";
import { hasToolLoop, lacksBoonSettings } from "../call/boon/boon-settings.ts";
import type { OutgoingBody } from "../call/client-body.ts";
import { ClientGone } from "../call/client-gone.ts";
import type { Call } from "../call/context.ts";
import { changesAnswers, isExaminedLate } from "../call/guards.ts";
import { inTurns } from "../call/in-turns.ts";
import { type CallAnswer, type Prepared, StageFailure, withKnown } from "../call/known.ts";
import { reportEnd } from "../call/report/report-end.ts";
import { withSpan } from "../call/report/spans.ts";
import { usageRowOf } from "../call/report/usage-row.ts";
import { capturedCall } from "../capture/captured-call.ts";
import { gatewayHeaders, isEventStream, isText, STREAM_HEADERS } from "../reply/response-headers.ts";

/** Largest body that is stored, in bytes. */
export const CACHE_BODY_MAX_BYTES = LIMITS.cachedAnswer;

/** A larger body is digested in parts, between which other requests have their turn. */
const DIGEST_PART_BYTES = 1024 * 1024;

/** The key under which an answer is stored, and for how long. */
export interface CacheMiss extends CacheKey {
  readonly ttlSecs: number;
  /** The origin of the answer: {@link originOf}. */
  readonly origin: string;
}

/** The key by which an answer is looked up. */
export interface CacheKey {
  readonly tenantId: string;
  readonly digest: string;
  readonly path: string;
  /** The body that was looked up. If the sent body differs, guardrails have changed it since. */
  readonly outgoing: OutgoingBody;
}

/** The result for a request: its stored answer, or the request, which continues to an upstream. */
type CacheVerdict =
  | { readonly kind: "hit"; readonly answer: CallAnswer }
  /** `key`: the key of the answer to store; null: the request does not use the cache. */
  | { readonly kind: "miss"; readonly request: Prepared; readonly key: CacheKey | null };

/** The result of one lookup. */
type Found =
  | (CacheVerdict & { readonly kind: "hit" } & { readonly row: UsageRow })
  | (CacheVerdict & { readonly kind: "miss" })
  /** There is an answer, but the Cell knows newer records than those that it rests on. */
  | { readonly kind: "stale"; readonly items: readonly RevItem[] };

/**
 * Looks the answer up. If it depends on stale records, `reload` reads them again, and the lookup is repeated once. Throws the
 * failure of 503 `scheduler_unavailable` or `key_store_unavailable`, and everything that `reload` throws.
 */
export async function lookupResponse(
  call: Call,
  request: Prepared,
  reload: (request: Prepared) => Promise<Prepared>,
): Promise<CacheVerdict> {
  const found = await lookup(call, request);
  if (found.kind !== "stale") return found;
  call.ports.directory.forget(found.items);
  const reloaded = await reload(request);
  const again = await lookup(call, reloaded);
  if (again.kind !== "stale") return again;
  throw new StageFailure(new GatewayError("key_store_unavailable"), reloaded);
}

async function lookup(call: Call, request: Prepared): Promise<Found> {
  const { principal, model, parsed } = request;
  const { outgoing } = parsed;
  const body = call.request.method === "POST" ? outgoing.clientBytes : null;
  if (body === null || isExaminedLate(request) || isBypassed(call, request))
    return { kind: "miss", request, key: null };
  const digest = await digestOf(call, model.model_name, body);
  const key = { tenantId: principal.tenant.id, digest, path: call.path, outgoing };
  const found = await withSpan(call, "cache_lookup", async (span) => {
    const entry = await call.ports.responseCache.lookup(key.tenantId, key.digest);
    const fits = entry?.path === key.path && entry.origin === originOf(model);
    const verdict: Found = fits
      ? await replay(call, { ...request, cacheStatus: "hit" }, entry)
      : { kind: "miss", request: { ...request, cacheStatus: "miss" }, key };
    span.set({ result: verdict.kind });
    return verdict;
  });
  // After its span has ended, because the span is sent with the row.
  if (found.kind === "hit") {
    request.guarded?.beside?.("cached");
    reportEnd(call, found.answer.known, found.row);
  }
  return found;
}

function isBypassed(call: Call, { principal, model, boons }: Prepared): boolean {
  const { headers } = call.request;
  if (!model.cache_enabled || headers.has("x-gateway-boons")) return true;
  if (/(?:^|[\s,])no-(?:store|cache)\s*(?:[,=]|$)/i.test(headers.get("cache-control") ?? "")) return true;
  return changesAnswers(principal.tenant) || hasToolLoop(model, boons) || lacksBoonSettings(call, model, boons);
}

/**
 * Where the answer of this request is stored; null: nowhere. The conditions of the lookup are checked again, because records
 * may have changed while the request waited.
 */
export function cacheMissFor(call: Call, key: CacheKey | null, request: Prepared): CacheMiss | null {
  const { model, parsed } = request;
  if (key === null || parsed.outgoing !== key.outgoing || isBypassed(call, request)) return null;
  return { ...key, ttlSecs: model.cache_ttl_secs, origin: originOf(model) };
}

/**
 * Stores an answer that is whole; the caller has checked status and size. `release` is called once the cache no longer holds
 * the body. Never rejects.
 */
export async function storeResponse(
  call: Call,
  miss: CacheMiss,
  answer: {
    readonly body: Uint8Array<ArrayBuffer>;
    readonly contentType: string;
    readonly inputTokens: number;
    readonly outputTokens: number;
  },
  release: () => void,
): Promise<void> {
  const { body, contentType } = answer;
  const checking = inTurns({ ...call, isBeside: true }, isWholeAnswer(body, contentType, isEventStream(contentType)));
  if (!(await checking.catch(() => false))) return release();
  const entry: CacheEntry = {
    v: 1,
    path: miss.path,
    status: 200,
    content_type: contentType,
    body,
    input_tokens: answer.inputTokens,
    output_tokens: answer.outputTokens,
    stored_at_ms: call.ports.clock(),
    origin: miss.origin,
  };
  call.ports.responseCache.store(miss.tenantId, miss.digest, entry, miss.ttlSecs, release);
}

/**
 * The origin of an answer. An answer of another model of the same name, or of a model that had another address, does not match.
 * Endpoints are not part of the origin: they serve the same upstream model (docs/rules/models.md#endpoints), and change often.
 */
export function originOf({ id, upstream_model, api_base }: ModelRecord): string {
  return JSON.stringify([id, upstream_model, api_base]);
}

/** The stored answer, when the Cell confirms that its records are current. `request` notes that it is a hit. */
async function replay(call: Call, request: Prepared, entry: CacheEntry): Promise<Found> {
  const { key, tenant } = request.principal;
  // parts describe an upstream's work for a request; for this one, no upstream worked
  const billed = { ...NOTHING_BILLED, inputTokens: entry.input_tokens, outputTokens: entry.output_tokens };
  const row = usageRowOf(call, request, { statusCode: 200, admission: "fast", billed });
  const { signal } = call.request;
  const hit = { revs: subjectRevs(call, request), limits: ratedLimitsOf(key, tenant), row };
  const openUntilMs = servedUntilMs(request.principal, call.ports.clock());
  const shown = call.ports.admission.confirmHit(hit, { signal, openUntilMs }).catch((error: unknown) => {
    throw signal.aborted ? new ClientGone() : error;
  });
  call.waitUntil(shown.catch(() => undefined));
  // Until the Cell has answered, it may have the row.
  const verdict = await withKnown({ ...request, queueEntryUnknown: true }, shown);
  if (verdict === null) return { kind: "stale", items: [] };
  const { newer, level, recorded } = verdict;
  if (newer.length > 0) return { kind: "stale", items: newer };
  const captured = capturedCall(call, request);
  if (isText(entry.content_type)) captured?.push(entry.body);
  call.waitUntil(recorded.then(async () => await captured?.keep(200)));
  const known = { ...request, level };
  const headers = {
    "content-type": entry.content_type,
    ...gatewayHeaders(call, known),
    ...(isEventStream(entry.content_type) ? STREAM_HEADERS : {}),
  };
  return { kind: "hit", answer: { response: new Response(entry.body, { status: 200, headers }), known }, row };
}

/** SHA-256 of model, a 0x00 byte, then the client body, hex; of a large body, 0x00 and the digests of its parts. */
async function digestOf(call: Call, modelName: string, body: readonly Uint8Array[]): Promise<string> {
  const document = new BytePieces(body);
  const name = new TextEncoder().encode(`${modelName}\u0000`);
  let parts = [name, ...body];
  if (document.byteLength > DIGEST_PART_BYTES) {
    parts = [name, Uint8Array.of(0)];
    for (let at = 0; at < document.byteLength; at += DIGEST_PART_BYTES) {
      parts.push(await sha256(document.slice(at, at + DIGEST_PART_BYTES)));
      await call.ports.sleep(0, call.request.signal);
      if (call.request.signal.aborted) throw new ClientGone();
    }
  }
  const hash = await sha256(concat(parts));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function sha256(bytes: Uint8Array): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>));
}
