/**
 * The gateway's own response headers (docs/rules/headers.md#response-headers).
 */
import type { Call } from "../call/context.ts";
import { type BoonReport, type Known, NO_BOONS } from "../call/known.ts";
import { rateLimitHeaders } from "./rate-limit.ts";

/** An answer of this content type is an event stream. */
export function isEventStream(contentType: string | null): boolean {
  return contentType?.toLowerCase().includes("text/event-stream") ?? false;
}

/** The bytes of an answer of this content type are text. */
export function isText(contentType: string | null): boolean {
  return /^(?:text\/|application\/[\w.+-]*json|$)/i.test(contentType ?? "");
}

/** Headers of an event stream. They keep proxies on the way from buffering it. */
export const STREAM_HEADERS = { "x-accel-buffering": "no", "cache-control": "no-cache" } as const;

/** Headers of every answer to a call, including the gateway's own errors. */
export function gatewayHeaders(call: Call, known: Known): Record<string, string> {
  const { upstream, level, cacheStatus, boonReport, auto, asked, model } = known;
  const named = upstream.model ?? model;
  const untilMs = upstream.calledMs ?? call.ports.clock();
  const overheadMs = Math.max(0, Math.round(untilMs - call.arrivedMs - known.queueWaitMs));
  return {
    "x-gateway-request-id": call.requestId,
    "x-request-id": call.requestId,
    "x-gateway-overhead-ms": String(overheadMs),
    // a shared cache does not store answers to requests with `authorization`, and knows no other header with a key
    ...(call.request.method === "POST" ? {} : { "cache-control": "no-store" }),
    ...(upstream.status === 0 ? {} : { "x-gateway-upstream-status": String(upstream.status) }),
    ...rateLimitHeaders(level),
    ...(cacheStatus === "off" ? {} : { "x-gateway-cache": cacheStatus }),
    ...((auto ?? asked) === null || named === null ? {} : { "x-gateway-model": headerText(named.model_name) }),
    ...(boonReport === NO_BOONS ? {} : boonHeaders(boonReport)),
  };
}

/** A name as a header may have it: a name with characters outside ASCII is percent-encoded. */
function headerText(name: string): string {
  return /^[\x21-\x7e]+$/.test(name) ? name : encodeURIComponent(name.toWellFormed());
}

function boonHeaders({ applied, warnings, compression }: BoonReport): Record<string, string> {
  const headers: Record<string, string> = {};
  if (applied.length > 0) headers["x-gateway-boons"] = [...new Set(applied)].join(",");
  if (warnings.length > 0) headers["x-gateway-boons-warning"] = [...new Set(warnings)].join(",");
  if (compression !== null) {
    const { beforeTokens, afterTokens } = compression;
    headers["x-gateway-compression"] =
      `before=${beforeTokens};after=${afterTokens};saved=${beforeTokens - afterTokens}`;
  }
  return headers;
}
