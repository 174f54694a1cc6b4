import { expect, it } from "vitest";
import { average, each, quantile, sum, sumBy } from "./promql.ts";

it("an expression keeps one series of a cell before it sums", () => {
  expect({
    gauge: each("gateway_in_flight"),
    counter: sumBy(["status"], "gateway_requests_total", { admission: "fast", status: ["4xx", "5xx"] }),
    histogram: quantile(0.95, "gateway_ttft_ms"),
    control: each("gateway_outbox_pending"),
    "counter of the control service": sum("gateway_job_runs_total", { name: "resync", outcome: "failed" }),
  }).toEqual({
    gauge: 'max by (cell) (gateway_in_flight{cell=~"$cell"})',
    counter:
      'sum by (status) (max by (cell, admission, status) (rate(gateway_requests_total{cell=~"$cell",admission="fast",status=~"4xx|5xx"}[$__rate_interval])))',
    histogram:
      'histogram_quantile(0.95, sum by (le) (max by (cell, le) (rate(gateway_ttft_ms_bucket{cell=~"$cell"}[$__rate_interval]))))',
    control: "max by (job) (gateway_outbox_pending)",
    "counter of the control service":
      'sum(rate(gateway_job_runs_total{name="resync",outcome="failed"}[$__rate_interval]))',
  });
});

it("a name that the catalogue does not have does not compile", () => {
  const wrong = (): readonly string[] => [
    // @ts-expect-error no such metric
    each("gateway_request_total"),
    // @ts-expect-error no such label
    sum("gateway_requests_total", { tenant: "a" }),
    // @ts-expect-error no such label to group by
    sumBy(["tenant"], "gateway_requests_total"),
    // @ts-expect-error no such value of the label
    sum("gateway_requests_total", { status: "6xx" }),
    // @ts-expect-error a histogram has no value of its own
    each("gateway_ttft_ms"),
    // @ts-expect-error a counter has no quantiles
    average("gateway_requests_total"),
  ];
  expect(wrong).toBeTypeOf("function");
});
