/** What the tiles of the overview say of usage, from the reads of the last 24 hours and of today. Pure. */
import type { DailyUsage, UsageBucket } from "../../../shared/schema/usage-reads.ts";
import { type LinkTarget, pageTarget } from "../../explain/link-target.ts";

/** Width of a bucket of the small lines: a quarter of an hour. */
export const BUCKET_MS = 900_000;
const BUCKETS = 96;

/** Sums of the last 24 hours, and the line of each by quarters of an hour, the oldest first. */
interface DayFigures {
  readonly requests: number;
  readonly refused: number;
  readonly failed: number;
  readonly left: number;
  /** Null: there were no requests. */
  readonly failedShare: number | null;
  readonly tokens: number;
  readonly lines: {
    readonly requests: readonly number[];
    readonly failed: readonly number[];
    readonly tokens: readonly number[];
    readonly costUsd: readonly number[];
    /** Median time to the first token, ms; null: nothing succeeded in this quarter. */
    readonly firstTokenMs: readonly (number | null)[];
  };
}

/**
 * The sums are over all that was read; a line has the 96 quarters up to the one of `nowMs`, which is not over. A quarter that
 * is missing had no requests.
 */
export function dayFigures(buckets: readonly UsageBucket[], nowMs: number): DayFigures {
  const sum = (of: (bucket: UsageBucket) => number): number => buckets.reduce((total, one) => total + of(one), 0);
  const byStart = new Map(buckets.map((bucket) => [bucket.bucket_ms, bucket]));
  const lastMs = Math.floor(nowMs / BUCKET_MS) * BUCKET_MS;
  const quarters = Array.from({ length: BUCKETS }, (_, at) => byStart.get(lastMs - (BUCKETS - 1 - at) * BUCKET_MS));
  const requests = sum((bucket) => bucket.requests);
  const failed = sum((bucket) => bucket.failed_requests);
  return {
    requests,
    refused: sum((bucket) => bucket.refused_requests),
    failed,
    left: sum((bucket) => bucket.left_requests),
    failedShare: requests > 0 ? failed / requests : null,
    tokens: sum((bucket) => bucket.total_tokens),
    lines: {
      requests: quarters.map((bucket) => bucket?.requests ?? 0),
      failed: quarters.map((bucket) => bucket?.failed_requests ?? 0),
      tokens: quarters.map((bucket) => bucket?.total_tokens ?? 0),
      costUsd: quarters.map((bucket) => bucket?.cost_usd ?? 0),
      firstTokenMs: quarters.map((bucket) =>
        bucket === undefined || bucket.requests === bucket.errors ? null : bucket.p50_ttft_ms,
      ),
    },
  };
}

/** What a day of a zone had; null: not known. */
interface DaySummary {
  /** 0 on a day without requests. */
  readonly costUsd: number;
  readonly p95FirstTokenMs: number | null;
  readonly p95QueueWaitMs: number | null;
  readonly p50QueueWaitMs: number | null;
}

/** The row of a day, YYYY-MM-DD; a day without a row had no requests. */
export function daySummary(rows: readonly DailyUsage[], day: string): DaySummary {
  const row = rows.find((one) => one.day === day);
  return {
    costUsd: row?.cost_usd ?? 0,
    p95FirstTokenMs: row?.p95_ttft_ms ?? null,
    p95QueueWaitMs: row?.p95_queue_wait_ms ?? null,
    p50QueueWaitMs: row?.p50_queue_wait_ms ?? null,
  };
}

/** The requests that were slower than nearly all of a day; where that is not known, those that took any time. */
export function slowestTargets(day: DaySummary | null): {
  readonly firstToken: LinkTarget;
  readonly queueWait: LinkTarget;
} {
  return {
    firstToken: pageTarget("/logs", { min_total_ms: thresholdOf(day?.p95FirstTokenMs) }),
    queueWait: pageTarget("/logs", { min_queue_wait_ms: thresholdOf(day?.p95QueueWaitMs) }),
  };
}

/** The slowest requests begin here: whole milliseconds, as the list of requests filters. */
function thresholdOf(ms: number | null | undefined): string {
  return String(Math.max(1, Math.floor(ms ?? 1)));
}
