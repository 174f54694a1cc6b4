import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { dayAfter, dayIn, dayStartMs, daysBetween, QUARTER_MS } from "./zone-days.ts";

const HOUR_MS = 3_600_000;
const utc = (text: string): number => Date.parse(`${text}Z`);

const zone = fc.constantFrom(
  "UTC",
  "Asia/Kolkata",
  "America/Los_Angeles",
  "Australia/Lord_Howe",
  "Pacific/Chatham",
  "America/Nuuk",
  "America/Havana",
  "Africa/Cairo",
  "Asia/Beirut",
  "America/Asuncion",
  "Pacific/Kiritimati",
  "Pacific/Apia",
  "Etc/GMT+12",
);
const instant = fc.integer({ min: utc("2012-01-01T00:00:00"), max: utc("2037-12-31T00:00:00") });

/** What the clock of a zone shows, by a formatter that the tested code does not use. */
const shownIn = (name: string, epochMs: number): string =>
  new Intl.DateTimeFormat("sv-SE", { timeZone: name, dateStyle: "short" }).format(epochMs);

describe("days of a zone", () => {
  it("start when the calendar shows them, at a full quarter of an hour", () => {
    fc.assert(
      fc.property(zone, instant, (name, epochMs) => {
        const day = dayIn(name, epochMs);
        const startMs = dayStartMs(name, day);
        expect(day).toBe(shownIn(name, epochMs));
        expect(startMs % QUARTER_MS).toBe(0);
        expect(startMs).toBeLessThanOrEqual(epochMs);
        expect(shownIn(name, startMs)).toBe(day);
        expect(shownIn(name, startMs - 1) < day).toBe(true);
        expect(dayStartMs(name, dayAfter(day))).toBeGreaterThan(epochMs);
      }),
    );
  });

  it("have no gap and no overlap, and each instant lies in the day that its clock shows", () => {
    fc.assert(
      fc.property(
        zone,
        instant,
        fc.nat({ max: 40 }),
        fc.array(fc.nat({ max: 999 })),
        (name, epochMs, count, places) => {
          const first = dayIn(name, epochMs);
          let last = first;
          for (let each = 0; each < count; each += 1) last = dayAfter(last);
          const { days, endMs } = daysBetween(name, first, last);
          expect(days).toHaveLength(count + 1);
          const startMs = days[0]?.startMs ?? 0;
          for (const [at, each] of days.entries()) {
            const nextMs = days[at + 1]?.startMs ?? endMs;
            const hours = (nextMs - each.startMs) / HOUR_MS;
            expect(hours >= 23 && hours <= 25).toBe(true);
          }
          for (const place of places) {
            const at = startMs + Math.floor(((endMs - startMs) * place) / 1000);
            expect(days.findLast((each) => each.startMs <= at)?.day).toBe(shownIn(name, at));
          }
        },
      ),
    );
  });

  it.each([
    ["Asia/Kolkata", "2026-11-23", "2026-11-22T18:30:00", 24],
    ["America/Los_Angeles", "2026-11-01", "2026-11-01T07:00:00", 25],
    ["America/Los_Angeles", "2026-03-08", "2026-03-08T08:00:00", 23],
    ["Australia/Lord_Howe", "2026-04-05", "2026-04-04T13:00:00", 24.5],
    ["Australia/Lord_Howe", "2026-10-04", "2026-10-03T13:30:00", 23.5],
    ["Pacific/Chatham", "2026-04-05", "2026-04-04T10:15:00", 25],
    ["Pacific/Chatham", "2026-09-27", "2026-09-26T11:15:00", 23],
    // clocks go from midnight to one o'clock
    ["America/Havana", "2026-03-08", "2026-03-08T05:00:00", 23],
  ])("%s: %s starts at %s and has %d hours", (name, day, start, hours) => {
    const startMs = dayStartMs(name, day);
    expect(new Date(startMs).toISOString()).toBe(new Date(utc(start)).toISOString());
    expect((dayStartMs(name, dayAfter(day)) - startMs) / HOUR_MS).toBe(hours);
  });

  it("that a zone skipped are empty", () => {
    expect(dayStartMs("Pacific/Apia", "2011-12-30")).toBe(dayStartMs("Pacific/Apia", "2011-12-31"));
    expect(daysBetween("UTC", "2026-01-02", "2026-01-01").days).toEqual([]);
  });

  it("need a zone", () => {
    expect(() => dayIn("Nowhere", 0)).toThrow(RangeError);
  });
});
