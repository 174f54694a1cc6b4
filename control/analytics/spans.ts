/**
 * The spans of a traced request, and which of some requests have any.
 */
import type { Span } from "../../shared/schema/usage-reads.ts";
import type { AnalyticsStore } from "./store.ts";

/** In order of their start; none when the request was not traced. Throws 503. */
export async function readSpans(store: AnalyticsStore, requestId: string): Promise<readonly Span[]> {
  return await store.rows<Span>(
    `SELECT toString(s.request_id) AS request_id, s.span_name AS span_name, s.parent_span AS parent_span,
       toUnixTimestamp64Milli(s.start) AS start_ms, s.duration_ms AS duration_ms, s.status AS status,
       s.attributes AS attributes
     FROM ${store.db}.spans AS s WHERE s.request_id = {request:UUID} ORDER BY s.start, s.duration_ms DESC, s.span_name`,
    { request: requestId },
  );
}

/** Those of the requests that have a span. Throws 503. */
export async function tracedAmong(store: AnalyticsStore, requestIds: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await store.rows<{ request_id: string }>(
    `SELECT DISTINCT toString(s.request_id) AS request_id FROM ${store.db}.spans AS s
     WHERE s.request_id IN {requests:Array(UUID)}`,
    { requests: requestIds },
  );
  return new Set(rows.map((row) => row.request_id));
}
