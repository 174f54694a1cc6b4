/** Reads the spans of a traced request, and finds which requests have spans. */
import type { Span } from "../../../shared/schema/usage-reads.ts";
import type { AnalyticsStore } from "./store.ts";

/** Span and row may be stamped by two clocks, which differ by less. */
const CLOCKS_APART_MS = 3_600_000;

/** The choice of a model is kept of every `auto` request, traced or not (docs/rules/auto-router.md#explanation). */
export const CHOICE_SPAN = "auto_route";

/** Everything that is kept of a request's spans, in order of their start. Throws 503. */
export async function readSpans(store: AnalyticsStore, requestId: string): Promise<readonly Span[]> {
  return await store.rows<Span>(
    `SELECT toString(s.request_id) AS request_id, s.span_name AS span_name, s.parent_span AS parent_span,
       toUnixTimestamp64Milli(s.start) AS start_ms, s.duration_ms AS duration_ms, s.status AS status,
       s.attributes AS attributes
     FROM ${store.db}.spans AS s WHERE s.request_id = {request:UUID} ORDER BY s.start, s.duration_ms DESC, s.span_name`,
    { request: requestId },
  );
}

/** What is known of a request whose spans are looked for. */
interface Ended {
  readonly request_id: string;
  readonly ts_ms: number;
  readonly total_ms: number;
}

/** The trace among the spans of a request; none when the request was not traced. */
export function traceAmong(spans: readonly Span[]): readonly Span[] {
  return spans.every(({ span_name }) => span_name === CHOICE_SPAN) ? [] : spans;
}

/** Ids of those of the requests that were traced. Throws 503. */
export async function tracedAmong(store: AnalyticsStore, requests: readonly Ended[]): Promise<ReadonlySet<string>> {
  if (requests.length === 0) return new Set();
  const rows = await store.rows<{ request_id: string }>(
    `SELECT DISTINCT toString(s.request_id) AS request_id FROM ${store.db}.spans AS s
     WHERE s.request_id IN {requests:Array(UUID)} AND s.span_name != '${CHOICE_SPAN}'
       AND s.start BETWEEN fromUnixTimestamp64Milli({first:Int64}) AND fromUnixTimestamp64Milli({last:Int64})`,
    {
      requests: requests.map(({ request_id }) => request_id),
      first: Math.min(...requests.map(({ ts_ms, total_ms }) => ts_ms - total_ms)) - CLOCKS_APART_MS,
      last: Math.max(...requests.map(({ ts_ms }) => ts_ms)) + CLOCKS_APART_MS,
    },
  );
  return new Set(rows.map((row) => row.request_id));
}
