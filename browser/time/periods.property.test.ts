/** Periods begin and end where the days of their zone do, at every instant, clock changes included. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { dayAfter, dayIn } from "../../shared/time/zone-days.ts";
import {
  formatDays,
  keptFrom,
  type Period,
  periodBounds,
  periodFrom,
  periodLabel,
  periodParam,
  periodProblem,
} from "./periods.ts";

const zone = fc.constantFrom("Asia/Kolkata", "America/Los_Angeles", "UTC", "Australia/Lord_Howe", "Atlantis/Nowhere");
/** Half of them within two days of a change of clocks in Los Angeles or on Lord Howe. */
const CHANGES_MS = ["2026-03-08T10:00Z", "2026-11-01T09:00Z", "2026-04-04T15:00Z", "2026-10-03T15:30Z"].map((at) =>
  Date.parse(at),
);
const instant = fc.oneof(
  fc.integer({ min: Date.UTC(2000, 0, 1), max: Date.UTC(2049, 11, 31) }),
  fc
    .tuple(fc.constantFrom(...CHANGES_MS), fc.integer({ min: -172_800_000, max: 172_800_000 }))
    .map(([at, by]) => at + by),
);
const day = fc.integer({ min: 0, max: 25_000 }).map((days) => new Date(days * 86_400_000).toISOString().slice(0, 10));
const moving = fc.constantFrom<Period>({ kind: "24h" }, { kind: "7d" }, { kind: "30d" }, { kind: "month" });

/** The zone that is counted in when a name is no zone's. */
const counted = (name: string): string => (name.startsWith("Atlantis") ? "UTC" : name);

describe("periods", () => {
  it("of days hold their first and last day whole, and nothing else", () => {
    fc.assert(
      fc.property(moving, zone, instant, (period, name, nowMs) => {
        const { fromMs, toMs, days } = periodBounds(period, name, nowMs);
        expect(fromMs).toBeLessThan(toMs);
        if (days === null) {
          expect({ fromMs, toMs }).toEqual({ fromMs: nowMs - 86_400_000, toMs: nowMs });
          return;
        }
        const inZone = (ms: number): string => dayIn(counted(name), ms);
        expect({ firstDay: inZone(fromMs), lastDay: inZone(toMs - 1) }).toEqual({
          firstDay: days.first,
          lastDay: days.last,
        });
        expect({ isDayBeforeEarlier: inZone(fromMs - 1) < days.first, dayAfterEnd: inZone(toMs) }).toEqual({
          isDayBeforeEarlier: true,
          dayAfterEnd: dayAfter(days.last),
        });
        expect(fromMs <= nowMs && nowMs < toMs).toBe(true);
      }),
    );
  });

  it("lack days before the last 400 of their zone, and none of UTC", () => {
    const nowMs = Date.parse("2026-11-02T20:00:00Z");
    expect(keptFrom("Asia/Kolkata", "2025-09-28", nowMs)).toBe("2025-09-29");
    expect(keptFrom("Asia/Kolkata", "2025-09-29", nowMs)).toBeNull();
    expect(keptFrom("America/Los_Angeles", "2025-09-27", nowMs)).toBe("2025-09-28");
    for (const name of ["UTC", "Etc/UTC", "Atlantis/Nowhere"]) expect(keptFrom(name, "1970-01-01", nowMs)).toBeNull();
  });

  it("of a month are its days, and the next month starts at their end", () => {
    fc.assert(
      fc.property(zone, instant, (name, nowMs) => {
        const { toMs, days } = periodBounds({ kind: "month" }, name, nowMs);
        expect(days?.first).toBe(`${days?.last.slice(0, 7)}-01`);
        expect(dayIn(counted(name), toMs).slice(8)).toBe("01");
      }),
    );
  });

  it("of seven days that are chosen in sequence have no gap and no overlap", () => {
    fc.assert(
      fc.property(zone, instant, (name, nowMs) => {
        const week = periodBounds({ kind: "7d" }, name, nowMs);
        const next = periodBounds({ kind: "7d" }, name, week.toMs + 6.5 * 86_400_000);
        expect(next.fromMs).toBe(week.toMs);
      }),
    );
  });

  it("read back from an address as they were written", () => {
    const custom = fc.tuple(day, fc.integer({ min: 0, max: 399 })).map(([fromDay, more]): Period => {
      const toDay = new Date(Date.parse(fromDay) + more * 86_400_000).toISOString().slice(0, 10);
      return { kind: "custom", fromDay, toDay };
    });
    fc.assert(
      fc.property(fc.oneof(moving, custom), (period) => {
        expect(periodFrom(periodParam(period))).toEqual(period);
      }),
    );
  });

  it("are refused, never thrown at, when an address holds anything else", () => {
    fc.assert(
      fc.property(fc.string(), (param) => {
        const period = periodFrom(param);
        if (period !== null) expect(periodParam(period)).toBe(param);
      }),
    );
    for (const param of [
      "",
      "8d",
      "2026-02-30..2026-03-01",
      "2026-03-02..2026-03-01",
      "2020-01-01..2026-01-01",
      "a..b..c",
    ])
      expect(periodFrom(param)).toBeNull();
  });

  it("that are wrong name the field and what to do", () => {
    expect(periodProblem("2026-02-30", "2026-03-01")).toMatchObject({ field: "from" });
    expect(periodProblem("2026-02-01", "1e308")).toMatchObject({ field: "to" });
    expect(periodProblem("2026-02-02", "2026-02-01")?.text).toContain("before the first day");
    expect(periodProblem("2020-01-01", "2026-02-01")?.text).toContain("400 days");
  });

  it("have a name", () => {
    expect(periodLabel({ kind: "7d" })).toBe("Last 7 days");
    expect(periodLabel({ kind: "custom", fromDay: "2026-11-02", toDay: "2026-11-02" })).toBe("2 Nov 2026");
    expect(periodLabel({ kind: "custom", fromDay: "2026-11-02", toDay: "2026-11-08" })).toBe(
      "2\u2009–\u20098 Nov 2026",
    );
    expect(formatDays("2025-12-30", "2026-01-02")).toBe("30 Dec 2025\u2009–\u20092 Jan 2026");
    expect(formatDays("2026-11-01", "")).toBe("–");
  });
});
