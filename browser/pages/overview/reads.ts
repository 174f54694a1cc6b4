/** What the overview reads again and again. Parts of the page that read the same share one request. */
import { read } from "../../data/reads.ts";

const LIVE_EVERY_MS = 5000;
const ATTENTION_EVERY_MS = 15_000;
const USAGE_EVERY_MS = 60_000;

export const attentionRead = read("/api/v1/overview/attention", {}, { everyMs: ATTENTION_EVERY_MS });
export const statsRead = read("/api/v1/stats", {}, { everyMs: LIVE_EVERY_MS });
export const liveRead = read("/api/v1/fairshare/live", {}, { everyMs: LIVE_EVERY_MS });

/** Numbers of tenants and models. Its usage is 0 while the analytics store is away, so the page takes usage elsewhere. */
export const summaryRead = read("/api/v1/overview/summary", {}, { everyMs: USAGE_EVERY_MS });

/** Usage of the last 24 hours by buckets of this width. */
export function seriesRead(bucketMs: number) {
  return read(
    "/api/v1/usage/series",
    { params: { query: { bucket_ms: String(bucketMs) } } },
    { everyMs: USAGE_EVERY_MS },
  );
}

/** Usage of days of a zone, YYYY-MM-DD, both inclusive. */
export function daysRead(zone: string, first: string, last: string) {
  return read(
    "/api/v1/usage/daily",
    { params: { query: { start_day: first, end_day: last, timezone: zone } } },
    { everyMs: USAGE_EVERY_MS },
  );
}
