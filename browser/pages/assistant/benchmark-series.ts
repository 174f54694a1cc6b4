/** What the plot of a benchmark shows. Pure. */
import type { BenchmarkPoint } from "../../../shared/schema/benchmark.ts";
import type { ChartSeries } from "../../charts/chart-data.ts";

/** Requests that ended in each second, those that succeeded and those that did not. */
export function rateSeries(
  points: readonly BenchmarkPoint[],
  labels: { readonly ok: string; readonly failed: string },
): readonly ChartSeries[] {
  return [
    { id: "ok", label: labels.ok, values: points.map(({ requests, errors }) => requests - errors) },
    { id: "failed", label: labels.failed, values: points.map(({ errors }) => errors) },
  ];
}

/** Latency of what ended in each second, in ms; a second without a success has none. */
export function latencySeries(points: readonly BenchmarkPoint[]): readonly ChartSeries[] {
  return [
    { id: "p50", label: "p50", values: points.map(({ p50_ms }) => p50_ms) },
    { id: "p95", label: "p95", values: points.map(({ p95_ms }) => p95_ms) },
    { id: "ttft", label: "TTFT p50", values: points.map(({ ttft_p50_ms }) => ttft_p50_ms) },
  ];
}
