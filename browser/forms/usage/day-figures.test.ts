/** Tiles say what was read, and a dash where nothing was. */
import { describe, expect, it } from "vitest";
import type { DailyUsage, UsageBucket } from "../../../shared/schema/usage-reads.ts";
import { BUCKET_MS, dayFigures, daySummary } from "./day-figures.ts";

const NOW_MS = Date.parse("2026-11-23T10:20:00Z");
const CURRENT_MS = Date.parse("2026-11-23T10:15:00Z");

function bucket(bucket_ms: number, requests: number, failed: number): UsageBucket {
  return {
    bucket_ms,
    requests,
    errors: failed,
    refused_requests: 0,
    failed_requests: failed,
    left_requests: 0,
    input_tokens: 0,
    output_tokens: 0,
    total_tokens: 10 * requests,
    cost_usd: requests / 100,
    avg_ttft_ms: 0,
    p50_ttft_ms: 200,
  };
}

describe("the last 24 hours", () => {
  it("are summed, and drawn by quarters of an hour with the current one last", () => {
    const figures = dayFigures([bucket(CURRENT_MS - 95 * BUCKET_MS, 4, 1), bucket(CURRENT_MS, 6, 6)], NOW_MS);
    expect(figures).toMatchObject({ requests: 10, failed: 7, failedShare: 0.7, tokens: 100 });
    const { requests, firstTokenMs } = figures.lines;
    expect({ length: requests.length, first: requests[0], second: requests[1], last: requests[95] }).toEqual({
      length: 96,
      first: 4,
      second: 0,
      last: 6,
    });
    expect({ first: firstTokenMs[0], second: firstTokenMs[1], last: firstTokenMs[95] }).toEqual({
      first: 200,
      second: null,
      last: null,
    });
  });

  it("count the part of a quarter that lies before the line", () => {
    expect(dayFigures([bucket(CURRENT_MS - 96 * BUCKET_MS, 3, 0)], NOW_MS).requests).toBe(3);
  });

  it("without requests have no share of failures", () => {
    expect(dayFigures([], NOW_MS)).toMatchObject({ requests: 0, failedShare: null });
  });
});

describe("a day", () => {
  it("has no cost and no times when nothing was asked", () => {
    const nothing = { costUsd: 0, p95FirstTokenMs: null, p95QueueWaitMs: null, p50QueueWaitMs: null };
    expect(daySummary([], "2026-11-23")).toEqual(nothing);
  });

  it("is found by its name", () => {
    const row = { day: "2026-11-23", cost_usd: 1.5, p95_ttft_ms: 900, p95_queue_wait_ms: 12, p50_queue_wait_ms: 0 };
    expect(daySummary([{ ...row, day: "2026-11-22" }, row] as DailyUsage[], "2026-11-23")).toEqual({
      costUsd: 1.5,
      p95FirstTokenMs: 900,
      p95QueueWaitMs: 12,
      p50QueueWaitMs: 0,
    });
  });
});
