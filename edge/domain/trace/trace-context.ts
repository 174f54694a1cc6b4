/**
 * The identity of a request in a distributed trace (W3C Trace Context): from the client's `traceparent` when that is well
 * formed, else new. Ids of child spans are derived from the root's, so that the ids that are sent upstream and those that
 * are exported agree.
 */

export interface TraceContext {
  /** 32 hex digits. */
  readonly traceId: string;
  /** Id of the request's root span, 16 hex digits. */
  readonly spanId: string;
  /** The client's span; null when the trace starts here. */
  readonly parentSpanId: string | null;
  /** False when the client does not record its trace: then the gateway does not either. */
  readonly sampled: boolean;
}

const TRACEPARENT = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/;

/** `hex` returns 32 random hex digits at each call. */
export function traceContextOf(traceparent: string | null, hex: () => string): TraceContext {
  const spanId = hex().slice(0, 16);
  const [, version, traceId = "", parentSpanId = "", flags = "", more] =
    TRACEPARENT.exec(traceparent?.trim() ?? "") ?? [];
  const known =
    version !== undefined &&
    version !== "ff" &&
    !(version === "00" && more !== undefined) &&
    !/^0+$/.test(traceId) &&
    !/^0+$/.test(parentSpanId);
  if (!known) return { traceId: hex(), spanId, parentSpanId: null, sampled: true };
  return { traceId, spanId, parentSpanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** The id of the root's child at this position, 0 for the first. */
export function childSpanId({ spanId }: TraceContext, position: number): string {
  const last = Number.parseInt(spanId.slice(-4), 16) ^ (position + 1);
  return spanId.slice(0, -4) + last.toString(16).padStart(4, "0");
}

/** The `traceparent` for the next hop: the trace, and the span that calls it. */
export function traceparentOf(context: TraceContext, spanId: string): string {
  return `00-${context.traceId}-${spanId}-${context.sampled ? "01" : "00"}`;
}
