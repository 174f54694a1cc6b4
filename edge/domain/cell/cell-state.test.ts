/** The state of a Cell beside its scheduler: revisions, counters, the bound on refusals, the end of a permit's row. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { zeroUsageRow } from "../../../shared/usage/usage-row.ts";
import { INVALIDATION_KINDS, type RevItem } from "../../../shared/wire/internal.ts";
import { limitsWith } from "../../../test/harness/edge/budget/simulation.ts";
import { lostSettlement, settledRow } from "../admission/request-end.ts";
import type { AdmissionRequest } from "../admission/rpc.ts";
import { RefusalRateLimit, UNAUTHENTICATED_ROWS_PER_SECOND } from "./refusal-rate-limit.ts";
import { RequestCounters } from "./request-counters.ts";
import { REVISION_KEEP_MS, Revisions } from "./revisions.ts";

const request: AdmissionRequest = {
  requestId: "r",
  tenant: { id: "t", name: "T", weight: 1, maxInFlight: null },
  group: { name: "g", weight: 1 },
  model: { name: "m", admissionWeight: 100, maxInFlight: null },
  costTokens: 30,
  revs: [],
  openUntilMs: null,
  waitedMs: null,
  row: { ...zeroUsageRow("r", 0), status_code: 499, estimated_tokens: 30 },
  limits: limitsWith({}),
  need: { bucketTokens: 30, termTokens: 30, nanoUsd: 250_000_000 },
  estimate: { inputTokens: 10, outputTokens: 20, costUsd: 0.25 },
};

describe("revisions", () => {
  it("know the newest of every record, in whatever order they come", () => {
    const item = fc.record({
      kind: fc.constantFrom(...INVALIDATION_KINDS),
      id: fc.constantFrom("a", "b"),
      rev: fc.integer({ min: 1, max: 9 }),
    });
    fc.assert(
      fc.property(fc.array(item, { maxLength: 30 }), item, (items, asked) => {
        const revisions = new Revisions();
        for (const one of items) revisions.note([one], 0);
        const same = (one: RevItem) => one.kind === asked.kind && (one.kind === "all" || one.id === asked.id);
        const newest = Math.max(0, ...items.filter(same).map((one) => one.rev));
        expect(revisions.staleAmong([asked])).toEqual(newest > asked.rev ? [{ ...asked, rev: newest }] : []);
      }),
    );
  });

  it("report only news, and forget after their time", () => {
    const revisions = new Revisions();
    expect(revisions.note([{ kind: "key", id: "k", rev: 2 }], 0)).toHaveLength(1);
    expect(revisions.note([{ kind: "key", id: "k", rev: 2 }], 1)).toEqual([]);
    revisions.prune(REVISION_KEEP_MS);
    expect(revisions.size).toBe(1);
    revisions.prune(REVISION_KEEP_MS + 1);
    expect(revisions.size).toBe(0);
  });
});

describe("counters", () => {
  const value = (counters: RequestCounters, name: string, labels: object) =>
    counters
      .families()
      .find((family) => family.name === name)
      ?.samples.find((sample) => JSON.stringify(sample.labels) === JSON.stringify(labels))?.value;

  it("show every label from the start, and count a request once however often it comes", () => {
    const counters = new RequestCounters();
    expect(counters.families()[0]?.samples.map((sample) => sample.value)).toEqual(Array(20).fill(0));
    const row = { ...request.row, admission: "queued" as const, input_tokens: 3, output_tokens: 4 };
    counters.count(row);
    counters.count({ ...row, status_code: 200 });
    expect(value(counters, "gateway_requests_total", { admission: "queued", status: "4xx" })).toBe(1);
    expect(value(counters, "gateway_requests_total", { admission: "queued", status: "2xx" })).toBe(0);
    expect(value(counters, "gateway_input_tokens_total", {})).toBe(3);
    expect(value(counters, "gateway_output_tokens_total", {})).toBe(4);
  });
});

describe("times", () => {
  it("are observed to the first byte for upstream successes, in total for all but refusals", () => {
    const counters = new RequestCounters();
    const counts = () =>
      ["gateway_ttft_ms", "gateway_total_ms"].map(
        (name) =>
          counters
            .families()
            .find((family) => family.name === name)
            ?.samples.at(-1)?.value,
      );
    const row = (id: string) => ({
      ...request.row,
      request_id: id,
      admission: "fast" as const,
      ttft_ms: 7,
      total_ms: 20,
    });
    counters.count({ ...row("served"), upstream_status: 200 });
    counters.count({ ...row("failed"), upstream_status: 503 });
    counters.count({ ...row("cached"), upstream_status: 0 });
    counters.count({ ...row("refused"), upstream_status: 0, admission: "rejected" });
    expect(counts()).toEqual([1, 3]);
  });
});

describe("the bound on unauthenticated refusals", () => {
  it("allows fifty in each second", () => {
    const bound = new RefusalRateLimit();
    const allowed = (nowMs: number) => Array.from({ length: 80 }, () => bound.allow(nowMs)).filter(Boolean).length;
    expect({
      at1999Ms: allowed(1_999),
      at2000Ms: allowed(2_000),
      at2999Ms: allowed(2_999),
      at3000Ms: allowed(3_000),
    }).toEqual({
      at1999Ms: UNAUTHENTICATED_ROWS_PER_SECOND,
      at2000Ms: UNAUTHENTICATED_ROWS_PER_SECOND,
      at2999Ms: 0,
      at3000Ms: UNAUTHENTICATED_ROWS_PER_SECOND,
    });
  });
});

describe("the end of a permit", () => {
  it.each(["waiting", "stale", "reserving", "running", "refused"] as const)(
    "bills the estimate of a lost request only when it was running: %s",
    (state) => {
      const { row, actualTokens } = lostSettlement({ request, state, arrivedMs: 100 }, 350);
      const billed = state === "running";
      expect({
        actualTokens,
        total_tokens: row.total_tokens,
        input_tokens: row.input_tokens,
        cost_usd: row.cost_usd,
        attempts: row.attempts,
      }).toEqual(
        billed
          ? { actualTokens: 30, total_tokens: 30, input_tokens: 10, cost_usd: 0.25, attempts: 1 }
          : { actualTokens: 0, total_tokens: 0, input_tokens: 0, cost_usd: 0, attempts: 0 },
      );
      expect({
        status_code: row.status_code,
        total_ms: row.total_ms,
        ts_ms: row.ts_ms,
        estimated_tokens: row.estimated_tokens,
      }).toEqual({ status_code: 499, total_ms: 250, ts_ms: 350, estimated_tokens: 30 });
    },
  );

  it("states cell, admission and wait as the Cell saw them; a refusal stays one", () => {
    const row = { ...request.row, admission: "fast" as const };
    const seen = (admission: "fast" | "rejected", grant: Parameters<typeof settledRow>[1]) => {
      const settled = settledRow({ row: { ...row, admission }, actualTokens: 0 }, grant, "cell-9", 40);
      return [settled.cell, settled.admission, settled.queue_wait_ms];
    };
    expect(seen("fast", { admission: "queued", queueWaitMs: 12 })).toEqual(["cell-9", "queued", 12]);
    expect(seen("fast", null)).toEqual(["cell-9", "queued", 40]);
    expect(seen("rejected", null)).toEqual(["cell-9", "rejected", 40]);
  });
});
