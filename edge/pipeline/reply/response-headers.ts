/**
 * The gateway's own response headers (decisions §17.5).
 */
import type { Call } from "../call/context.ts";
import { rateLimitHeaders } from "./rate-limit.ts";

/** An answer of this content type is an event stream. */
export function isEventStream(contentType: string | null): boolean {
  return contentType?.toLowerCase().includes("text/event-stream") ?? false;
}

/** Headers of an event stream, which keep proxies on the way from holding it up. */
export const STREAM_HEADERS = { "x-accel-buffering": "no", "cache-control": "no-cache" } as const;

/** Headers of every answer to a call, own errors included. */
export function gatewayHeaders(call: Call): Record<string, string> {
  const { facts } = call;
  const untilMs = facts.upstreamCalledMs ?? call.ports.clock();
  const overheadMs = Math.max(0, Math.round(untilMs - call.arrivedMs - facts.queueWaitMs));
  return {
    "x-gateway-request-id": call.requestId,
    "x-request-id": call.requestId,
    "x-gateway-overhead-ms": String(overheadMs),
    ...(facts.upstreamStatus === 0 ? {} : { "x-gateway-upstream-status": String(facts.upstreamStatus) }),
    ...rateLimitHeaders(facts.level),
    ...(facts.cacheStatus === "off" ? {} : { "x-gateway-cache": facts.cacheStatus }),
  };
}
