import { expect, it } from "vitest";
import { type MonthGroup, reportLines } from "./report-lines.ts";
import type { ReportRow } from "./report-words.ts";

const ID = "7a1f4c1e-6d0b-4f57-9a53-2b8f0f1c9d3e";
const group = { tenant_id: ID, tenant_name: "", key_id: ID, key_name: "", key_prefix: "", end_user: "", tag_value: "" };
const row = (model: string, cost_usd: number, requests = 1) =>
  ({ ...group, day: "", model, cost_usd, requests, success_requests: requests, cache_hits: 0 }) as unknown as ReportRow;
const month = (model: string, last_month_usd: number, forecast_usd: number | null) =>
  ({ ...group, model, last_month_usd, forecast_usd }) as unknown as MonthGroup;

it("puts the largest spend first, and compares each row with its own spend before", () => {
  const lines = reportLines([row("small", 1), row("large", 6), row("new", 2)], {
    earlier: [row("large", 4), row("small", 2), row("gone", 3)],
    months: [month("large", 10, 12)],
  });
  expect(
    lines.map(({ row: { model }, figures, beforeUsd, change, lastMonthUsd, forecastUsd }) => ({
      model,
      usd: figures.costUsd,
      beforeUsd,
      change,
      lastMonthUsd,
      forecastUsd,
    })),
  ).toEqual([
    { model: "large", usd: 6, beforeUsd: 4, change: 0.5, lastMonthUsd: 10, forecastUsd: 12 },
    { model: "new", usd: 2, beforeUsd: 0, change: Number.POSITIVE_INFINITY, lastMonthUsd: 0, forecastUsd: 0 },
    { model: "small", usd: 1, beforeUsd: 2, change: -0.5, lastMonthUsd: 0, forecastUsd: 0 },
    { model: "gone", usd: 0, beforeUsd: 3, change: -1, lastMonthUsd: 0, forecastUsd: 0 },
  ]);
});

it("leaves unknown figures out, and puts rows without a price last", () => {
  const unpriced = row("unpriced", 0);
  const [first, last] = reportLines([unpriced, row("m", 1)], {});
  expect(first).toMatchObject({ row: { model: "m" }, beforeUsd: undefined, change: undefined, forecastUsd: undefined });
  expect(last).toMatchObject({ row: { model: "unpriced" }, figures: { costUsd: null } });
  const [compared] = reportLines([unpriced], { earlier: [], months: [month("unpriced", 0, 0)] });
  expect(compared).toMatchObject({ beforeUsd: null, change: null, lastMonthUsd: null, forecastUsd: null });
});
