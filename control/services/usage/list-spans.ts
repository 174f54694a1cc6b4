/**
 * The trace of one request (specification `GET /api/v1/usage/logs/{request_id}/spans`).
 */
import type { Span } from "../../../shared/schema/usage-reads.ts";
import { readSpans } from "../../analytics/spans.ts";
import type { AnalyticsStore } from "../../analytics/store.ts";
import { parseId } from "../../kernel/parse.ts";

/** In order of their start; none when it was not traced. Throws 404 for what is no UUID, 503. */
export async function listSpans(analytics: AnalyticsStore, requestId: string): Promise<readonly Span[]> {
  return await readSpans(analytics, parseId(requestId));
}
