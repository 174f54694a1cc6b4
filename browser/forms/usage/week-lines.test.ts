/** What a summary says of seven days, and of this month against the last one. */
import { expect, it } from "vitest";
import { spendNote, weekLines } from "./week-lines.ts";

const SPEND = {
  last_month_start: "2026-10-01",
  same_days_end: "2026-10-29",
  month_to_date_usd: 9,
  same_days_usd: 8,
  forecast_usd: 9.5,
};

it("has a point for each of seven days, across months, and 0 for days without requests", () => {
  const row = { day: "2026-11-01", requests: 3, failed_requests: 1, cost_usd: 0.5 };
  expect(weekLines([row, { ...row, day: "2026-11-09" }], "2026-10-29")).toEqual({
    requests: [0, 0, 0, 3, 0, 0, 0],
    failed: [0, 0, 0, 1, 0, 0, 0],
    costUsd: [0, 0, 0, 0.5, 0, 0, 0],
  });
});

it("compares this month with the same days of the last one, if these had any spend", () => {
  expect({
    more: spendNote(SPEND),
    less: spendNote({ ...SPEND, month_to_date_usd: 4, forecast_usd: null }),
    first: spendNote({ ...SPEND, same_days_usd: 0 }),
    nothing: spendNote({ ...SPEND, same_days_usd: 0, month_to_date_usd: 0, forecast_usd: 0 }),
  }).toEqual({
    more: "+12.5% against 1\u2009–\u200929 Oct 2026; forecast $9.50",
    less: "-50% against 1\u2009–\u200929 Oct 2026",
    first: "nothing spent 1\u2009–\u200929 Oct 2026; forecast $9.50",
    nothing: "nothing spent 1\u2009–\u200929 Oct 2026",
  });
});
