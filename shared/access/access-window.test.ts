import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type AccessTerms,
  accessRefusal,
  isModelPermitted,
  isWithinWindows,
  openUntilMs,
  type WeeklyWindow,
} from "./access-window.ts";

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const open: AccessTerms = {
  status: "active",
  timezone: "UTC",
  active_from_ms: null,
  active_until_ms: null,
  weekly_windows: [],
};

/** Day number of the nth (or, counted from the end, -1st) Sunday of a month. */
function sunday(year: number, month: number, nth: number): number {
  const first = Date.UTC(year, month, 1) / DAY_MS;
  const firstSunday = first + ((10 - (first % 7)) % 7);
  if (nth > 0) return firstSunday + 7 * (nth - 1);
  const last = Date.UTC(year, month + 1, 0) / DAY_MS;
  return last - ((last + 4) % 7);
}

/** Offsets from UTC in minutes, by the laws of the places and not from the platform's tables. */
const OFFSETS: Readonly<Record<string, (nowMs: number) => number>> = {
  UTC: () => 0,
  "Asia/Kathmandu": () => 345,
  "America/Phoenix": () => -420,
  "Pacific/Kiritimati": () => 840,
  "Europe/Berlin": (nowMs) => {
    const year = new Date(nowMs).getUTCFullYear();
    const begins = sunday(year, 2, -1) * DAY_MS + HOUR_MS;
    const ends = sunday(year, 9, -1) * DAY_MS + HOUR_MS;
    return nowMs >= begins && nowMs < ends ? 120 : 60;
  },
  "America/New_York": (nowMs) => {
    const year = new Date(nowMs).getUTCFullYear();
    const begins = sunday(year, 2, 2) * DAY_MS + 7 * HOUR_MS;
    const ends = sunday(year, 10, 1) * DAY_MS + 6 * HOUR_MS;
    return nowMs >= begins && nowMs < ends ? -240 : -300;
  },
  // half an hour of summer time, across the new year
  "Australia/Lord_Howe": (nowMs) => {
    const year = new Date(nowMs).getUTCFullYear();
    const ends = sunday(year, 3, 1) * DAY_MS - 9 * HOUR_MS;
    const begins = sunday(year, 9, 1) * DAY_MS - 8.5 * HOUR_MS;
    return nowMs >= ends && nowMs < begins ? 630 : 660;
  },
};

/** Weekday and minute by arithmetic alone. 1970-01-01 was a Thursday. */
function localByArithmetic(zone: string, nowMs: number): { day: number; minute: number } {
  const minutes = Math.floor(nowMs / 60_000) + (OFFSETS[zone]?.(nowMs) ?? 0);
  return { day: (Math.floor(minutes / 1440) + 4) % 7, minute: minutes % 1440 };
}

const windowArbitrary: fc.Arbitrary<WeeklyWindow> = fc
  .tuple(fc.integer({ min: 0, max: 6 }), fc.integer({ min: 0, max: 1439 }), fc.integer({ min: 1, max: 1440 }))
  .filter(([, start, end]) => start < end)
  .map(([day, start_min, end_min]) => ({ day, start_min, end_min }));
const zoneArbitrary = fc.constantFrom(...Object.keys(OFFSETS));
const instantArbitrary = fc.integer({ min: Date.UTC(2010, 0, 1), max: Date.UTC(2060, 0, 1) });

/** Instants close to a change of offset, where mistakes are likely. */
const nearChange = fc
  .tuple(
    fc.integer({ min: 2010, max: 2059 }),
    fc.constantFrom([2, 2], [2, -1], [3, 1], [9, 1], [9, -1], [10, 1]),
    fc.integer({ min: -36 * 60, max: 36 * 60 }),
    fc.integer({ min: 0, max: 59_999 }),
  )
  .map(([year, [month, nth], minute, ms]) => sunday(year, month ?? 0, nth ?? 1) * DAY_MS + minute * 60_000 + ms);

describe("weekly windows", () => {
  it("agree with arithmetic on the laws of each zone, at changes of offset too", () => {
    fc.assert(
      fc.property(
        fc.array(windowArbitrary, { minLength: 1, maxLength: 6 }),
        zoneArbitrary,
        fc.oneof(instantArbitrary, nearChange),
        (windows, zone, nowMs) => {
          const { day, minute } = localByArithmetic(zone, nowMs);
          const expected = windows.some(
            (window) => window.day === day && minute >= window.start_min && minute < window.end_min,
          );
          expect(isWithinWindows(windows, zone, nowMs)).toBe(expected);
        },
      ),
      { numRuns: 3000 },
    );
  });

  it("open with their first minute and close before their last", () => {
    const window = [{ day: 1, start_min: 540, end_min: 1020 }];
    const at = (text: string): boolean => isWithinWindows(window, "Europe/Berlin", Date.parse(text));
    expect(at("2026-07-06T06:59:59.999Z")).toBe(false);
    expect(at("2026-07-06T07:00:00.000Z")).toBe(true);
    expect(at("2026-07-06T14:59:59.999Z")).toBe(true);
    expect(at("2026-07-06T15:00:00.000Z")).toBe(false);
    // the same hours in winter are an hour later in UTC
    expect(at("2026-12-07T07:30:00.000Z")).toBe(false);
    expect(at("2026-12-07T08:00:00.000Z")).toBe(true);
  });

  it("never open in the hour that a zone skips, twice in the hour that it repeats", () => {
    const night = [{ day: 0, start_min: 120, end_min: 180 }];
    const openMinutes = (from: string): number => {
      const minutes = Array.from({ length: 1440 }, (_, at) => Date.parse(from) + at * 60_000);
      return minutes.filter((nowMs) => isWithinWindows(night, "Europe/Berlin", nowMs)).length;
    };
    expect(openMinutes("2026-03-28T23:00:00Z")).toBe(0);
    expect(openMinutes("2026-10-24T22:00:00Z")).toBe(120);
    expect(openMinutes("2026-06-06T22:00:00Z")).toBe(60);
  });

  it("that fill the week are always open", () => {
    const week = Array.from({ length: 7 }, (_, day) => ({ day, start_min: 0, end_min: 1440 }));
    fc.assert(fc.property(zoneArbitrary, nearChange, (zone, nowMs) => isWithinWindows(week, zone, nowMs)));
  });

  it("count in UTC when the zone is not valid", () => {
    const window = [{ day: 4, start_min: 0, end_min: 60 }];
    for (const zone of ["Mars/Base", "", "UTC"]) {
      expect(isWithinWindows(window, zone, 0)).toBe(true);
      expect(isWithinWindows(window, zone, HOUR_MS)).toBe(false);
    }
  });
});

describe("the gates of a tenant", () => {
  it("admit an active tenant without a schedule", () => {
    expect(accessRefusal(open, 0)).toBeNull();
  });

  it("include the first instant of a term and exclude its last one", () => {
    const term = { ...open, active_from_ms: 1000, active_until_ms: 2000 };
    expect([999, 1000, 1999, 2000].map((nowMs) => accessRefusal(term, nowMs))).toEqual([
      "tenant_not_started",
      null,
      null,
      "tenant_expired",
    ]);
  });

  it("refuse by status, start, end, window, in this order", () => {
    const wrong: AccessTerms = {
      status: "suspended",
      timezone: "UTC",
      active_from_ms: 10,
      active_until_ms: 5,
      weekly_windows: [{ day: 0, start_min: 0, end_min: 1 }],
    };
    expect(accessRefusal(wrong, 7)).toBe("tenant_not_active");
    const active: AccessTerms = { ...wrong, status: "active" };
    expect(accessRefusal(active, 7)).toBe("tenant_not_started");
    expect(accessRefusal({ ...active, active_from_ms: null }, 7)).toBe("tenant_expired");
    expect(accessRefusal({ ...active, active_from_ms: null, active_until_ms: null }, 7)).toBe("outside_access_window");
  });
});

describe("how long a tenant is served for certain", () => {
  const window = fc
    .record({ day: fc.nat(6), from: fc.nat(1439), minutes: fc.integer({ min: 1, max: 1440 }) })
    .map(({ day, from, minutes }) => ({ day, start_min: from, end_min: Math.min(1440, from + minutes) }));

  it("ends no later than any instant of refusal, in any zone, over any change of its offset", () => {
    // every hour around the changes of 2026, and any time
    const changes = [Date.UTC(2026, 2, 8), Date.UTC(2026, 2, 29), Date.UTC(2026, 3, 5), Date.UTC(2026, 9, 4)];
    const instant = fc.oneof(
      fc.integer({ min: Date.UTC(2024, 0), max: Date.UTC(2030, 0) }),
      fc
        .tuple(fc.constantFrom(...changes), fc.integer({ min: -36 * HOUR_MS, max: 36 * HOUR_MS }))
        .map(([at, more]) => at + more),
    );
    const term = fc.option(fc.integer({ min: 1, max: DAY_MS }), { nil: null });
    const zone = fc.constantFrom(...Object.keys(OFFSETS));
    const windows = fc.array(window, { maxLength: 6 });
    const parts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 8, maxLength: 8 });
    fc.assert(
      fc.property(instant, zone, windows, term, parts, (nowMs, timezone, weekly_windows, leftMs, fractions) => {
        const active_until_ms = leftMs === null ? null : nowMs + leftMs;
        const tenant: AccessTerms = { ...open, timezone, weekly_windows, active_until_ms };
        fc.pre(accessRefusal(tenant, nowMs) === null);
        const untilMs = openUntilMs(tenant, nowMs);
        expect(untilMs === null).toBe(weekly_windows.length === 0 && active_until_ms === null);
        if (untilMs === null) return;
        expect(untilMs).toBeGreaterThan(nowMs);
        for (const fraction of [...fractions, 1])
          expect(
            accessRefusal(tenant, Math.min(untilMs - 1, nowMs + Math.floor(fraction * (untilMs - nowMs)))),
          ).toBeNull();
      }),
      { numRuns: 500 },
    );
  });

  it("ends with the window, or of the term when that comes first", () => {
    const tenant = { ...open, timezone: "Asia/Kathmandu", weekly_windows: [{ day: 4, start_min: 0, end_min: 600 }] };
    const thursdayMs = Date.UTC(2026, 0, 1);
    const endMs = thursdayMs + (600 - 345) * 60_000;
    expect(openUntilMs(tenant, thursdayMs + 12_345)).toBe(endMs);
    expect(openUntilMs({ ...tenant, active_until_ms: endMs - 1 }, thursdayMs)).toBe(endMs - 1);
    expect({ unlimited: openUntilMs(open, 5), limited: openUntilMs({ ...open, active_until_ms: 9 }, 5) }).toEqual({
      unlimited: null,
      limited: 9,
    });
  });
});

describe("the models of a tenant", () => {
  it("are all of them without a list, and exactly those of a list", () => {
    expect(isModelPermitted({ allowed_models: null }, "m")).toBe(true);
    expect(isModelPermitted({ allowed_models: [] }, "m")).toBe(true);
    expect(isModelPermitted({ allowed_models: ["a", "m"] }, "m")).toBe(true);
    expect(isModelPermitted({ allowed_models: ["M"] }, "m")).toBe(false);
  });
});
