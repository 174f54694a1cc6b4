import { describe, expect, it } from "vitest";
import { forecastUsd, monthDays } from "./month-costs.ts";

describe("the days of a month", () => {
  it.each([
    ["2026-11-30", "2026-11-01", "2026-11-30", "2026-10-01", "2026-10-31", "2026-10-30"],
    ["2026-12-31", "2026-12-01", "2026-12-31", "2026-11-01", "2026-11-30", "2026-11-30"],
    ["2026-03-30", "2026-03-01", "2026-03-31", "2026-02-01", "2026-02-28", "2026-02-28"],
    ["2028-03-30", "2028-03-01", "2028-03-31", "2028-02-01", "2028-02-29", "2028-02-29"],
    ["2028-02-29", "2028-02-01", "2028-02-29", "2028-01-01", "2028-01-31", "2028-01-29"],
    ["2026-01-01", "2026-01-01", "2026-01-31", "2025-12-01", "2025-12-31", "2025-12-01"],
  ])("%s is compared with the same days of the month before", (today, first, last, before, beforeLast, same) => {
    expect(monthDays(today)).toMatchObject({
      first,
      last,
      lastMonth: { first: before, last: beforeLast },
      sameDaysLast: same,
    });
  });

  it("take the forecast's rate from the seven days before today, also of the month before", () => {
    expect(monthDays("2026-11-03").recentFirst).toBe("2026-10-27");
  });
});

describe("the forecast of a month", () => {
  const november = (day: number) => monthDays(`2026-11-${String(day).padStart(2, "0")}`);
  const spent = { monthToDateUsd: 100, recentUsd: 70, todayUsd: 5, firstDay: "2026-10-01" };

  it("adds the mean of the last seven whole days for the time that is left", () => {
    // 20 whole days after today, and half of today
    expect(forecastUsd(spent, november(10), 0.5)).toBe(100 + 10 * 20.5);
  });

  it("divides by the days since the first spend, when these are fewer", () => {
    const young = { ...spent, recentUsd: 30, firstDay: "2026-11-07" };
    expect(forecastUsd(young, november(10), 0)).toBe(100 + 10 * 21);
  });

  it("takes today's rate on the first day of all, once an hour is known", () => {
    const first = { monthToDateUsd: 5, recentUsd: 0, todayUsd: 5, firstDay: "2026-11-10" };
    expect(forecastUsd(first, november(10), 0.25)).toBe(5 + 20 * 20.75);
    expect(forecastUsd(first, november(10), 0.04)).toBeNull();
  });

  it("is nothing of an empty month, and what was spent at the end of the last day", () => {
    expect(forecastUsd({ monthToDateUsd: 0, recentUsd: 0, todayUsd: 0, firstDay: null }, november(10), 0.5)).toBe(0);
    expect(forecastUsd(spent, november(30), 1)).toBe(100);
  });

  it("goes down to what was spent when nothing was used for a week", () => {
    expect(forecastUsd({ ...spent, recentUsd: 0, todayUsd: 0 }, november(20), 0.5)).toBe(100);
  });
});
