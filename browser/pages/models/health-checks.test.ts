/** Checks of a model and of its endpoints are one list, and lines that say what the last check took. */
import { expect, it } from "vitest";
import type { ModelHealthDetail } from "../../../shared/schema/model-health.ts";
import { checkLatencies, checkRows } from "./health-checks.ts";

const check = (second: number, latency_ms: number | null, http_status: number | null) => ({
  id: `c${second}`,
  model_id: "m",
  checked_at: `2026-11-23T05:00:0${second}.000Z`,
  trigger: "scheduled" as const,
  status: "healthy",
  latency_ms,
  http_status,
  message: null,
  response_excerpt: null,
});
const ofEndpoint = (endpoint_name: string | null, of: ReturnType<typeof check>) => ({
  ...of,
  endpoint_id: "e",
  endpoint_name,
});
const DETAIL: Pick<ModelHealthDetail, "checks" | "endpoint_checks"> = {
  checks: [check(3, 30, 200), check(1, 10, 200)],
  endpoint_checks: [
    ofEndpoint("node", check(2, 0, null)),
    ofEndpoint("node", check(0, 5, 200)),
    ofEndpoint(null, check(4, 1, 200)),
  ],
};

it("lists all checks, the newest first, with what was checked", () => {
  const rows = checkRows(DETAIL as ModelHealthDetail);
  expect(rows.map(({ id, of }) => [id, of])).toEqual([
    ["c4", "a removed endpoint"],
    ["c3", "the model"],
    ["c2", "node"],
    ["c1", "the model"],
    ["c0", "node"],
  ]);
});

it("holds each latency until the next check, with a gap after a check without an answer", () => {
  const { atMs, series } = checkLatencies(checkRows(DETAIL as ModelHealthDetail));
  const begin = Date.parse("2026-11-23T05:00:00Z");
  expect(atMs.map((at) => at - begin)).toEqual([0, 1000, 2000, 3000, 4000]);
  expect(series.map(({ id, values }) => [id, values])).toEqual([
    ["node", [5, 5, null, null, null]],
    ["the model", [null, 10, 10, 30, 30]],
    ["a removed endpoint", [null, null, null, null, 1]],
  ]);
});

it("draws nothing for checks without a valid time", () => {
  const odd = { checks: [{ ...check(1, 10, 200), checked_at: "soon" }], endpoint_checks: [] };
  expect(checkLatencies(checkRows(odd as unknown as ModelHealthDetail))).toEqual({ atMs: [], series: [] });
});
