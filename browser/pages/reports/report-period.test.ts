import { expect, it } from "vitest";
import { reportPeriod } from "./report-period.ts";

const NOW = Date.parse("2026-11-02T20:00:00Z");

it.each([
  [undefined, "UTC", { first: "2026-11-01", last: "2026-11-30" }, { first: "2026-10-01", last: "2026-10-02" }],
  ["24h", "UTC", { first: "2026-11-01", last: "2026-11-30" }, { first: "2026-10-01", last: "2026-10-02" }],
  // by the clock of the zone
  ["month", "Asia/Kolkata", { first: "2026-11-01", last: "2026-11-30" }, { first: "2026-10-01", last: "2026-10-03" }],
  ["last-month", "UTC", { first: "2026-10-01", last: "2026-10-31" }, { first: "2026-09-01", last: "2026-09-30" }],
  // the clocks of Los Angeles change on 1 November 2026; in Kolkata it is the next day already
  [
    "7d",
    "America/Los_Angeles",
    { first: "2026-10-27", last: "2026-11-02" },
    { first: "2026-10-20", last: "2026-10-26" },
  ],
  ["7d", "Asia/Kolkata", { first: "2026-10-28", last: "2026-11-03" }, { first: "2026-10-21", last: "2026-10-27" }],
  [
    "2026-10-31..2026-11-01",
    "America/Los_Angeles",
    { first: "2026-10-31", last: "2026-11-01" },
    { first: "2026-10-29", last: "2026-10-30" },
  ],
])("compares %s in %s with the days before", (param, zone, days, before) => {
  expect(reportPeriod(param, zone, NOW)).toMatchObject({ days, before });
});

it("compares with nothing that does not exist", () => {
  const old = "2025-09-01..2025-10-30";
  expect(reportPeriod(old, "Asia/Kolkata", NOW)).toMatchObject({ before: null });
  expect(reportPeriod(old, "UTC", NOW)).toMatchObject({ before: { first: "2025-07-03" } });
});
