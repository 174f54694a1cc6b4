import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { timestamp } from "../schema/common.ts";
import { isCalendarDay, parseTimestamp } from "./timestamp.ts";

const pad = (value: number, width = 2): string => String(value).padStart(width, "0");

/** Days of the months of a year, computed without a JavaScript date. */
function daysOf(year: number, month: number): number {
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1] ?? 0;
}

/** Days from 0001-01-01 to the given day, computed in the same way. */
function daysBefore(year: number, month: number, day: number): number {
  const years = year - 1;
  const whole = years * 365 + Math.floor(years / 4) - Math.floor(years / 100) + Math.floor(years / 400);
  let days = whole + day - 1;
  for (let earlier = 1; earlier < month; earlier += 1) days += daysOf(year, earlier);
  return days;
}

const EPOCH_DAYS = daysBefore(1970, 1, 1);
const year = fc.oneof(
  fc.integer({ min: 0, max: 9999 }),
  fc.constantFrom(0, 1, 4, 100, 400, 1900, 1970, 2000, 2024, 9999),
);
const between = (low: number, high: number) => fc.integer({ min: low, max: high });
/** Also values that no calendar, clock or zone has. */
const written = fc.record({
  year,
  month: between(0, 13),
  day: between(0, 32),
  hour: between(0, 25),
  minute: between(0, 61),
  second: fc.option(between(0, 61)),
  fraction: fc.option(fc.stringMatching(/^[0-9]{1,12}$/)),
  zone: fc.option(
    fc.oneof(
      fc.constant("Z" as const),
      fc.record({ sign: fc.constantFrom(1, -1), hours: between(0, 25), minutes: between(0, 61), colon: fc.boolean() }),
    ),
  ),
});

describe("a point in time", () => {
  it("is computed from calendar, clock and offset, and null when one of them does not exist", () => {
    let accepted = 0;
    fc.assert(
      fc.property(written, (at) => {
        const { zone } = at;
        const offset =
          zone === null || zone === "Z"
            ? (zone ?? "")
            : `${zone.sign === 1 ? "+" : "-"}${pad(zone.hours)}${zone.colon ? ":" : ""}${pad(zone.minutes)}`;
        const seconds = at.second === null ? "" : `:${pad(at.second)}${at.fraction === null ? "" : `.${at.fraction}`}`;
        const text = `${pad(at.year, 4)}-${pad(at.month)}-${pad(at.day)}T${pad(at.hour)}:${pad(at.minute)}${seconds}${offset}`;
        const exists =
          at.year >= 1 &&
          at.month >= 1 &&
          at.month <= 12 &&
          at.day >= 1 &&
          at.day <= daysOf(at.year, at.month) &&
          at.hour <= 23 &&
          at.minute <= 59 &&
          (at.second ?? 0) <= 59 &&
          zone !== null &&
          (zone === "Z" || (zone.hours <= 23 && zone.minutes <= 59));
        const east = zone === null || zone === "Z" ? 0 : zone.sign * (zone.hours * 60 + zone.minutes);
        const millis = at.second === null ? 0 : Number((at.fraction ?? "").slice(0, 3).padEnd(3, "0"));
        const minutes = (daysBefore(at.year, at.month, at.day) - EPOCH_DAYS) * 1440 + at.hour * 60 + at.minute - east;
        const epochMs = minutes * 60_000 + (at.second ?? 0) * 1000 + millis;
        const writable = epochMs >= -EPOCH_DAYS * 86_400_000 && epochMs < Date.UTC(10_000, 0, 1);
        const expected = exists && writable ? epochMs : null;
        if (expected !== null) accepted += 1;
        expect({ text, timestamp: parseTimestamp(text) }).toEqual({ text, timestamp: expected });
      }),
      { numRuns: 20_000 },
    );
    expect(accepted).toBeGreaterThan(100);
  });

  it("is written in UTC with milliseconds, and read back as the same time", () => {
    fc.assert(
      fc.property(
        fc.date({
          min: new Date("0001-01-01T00:00:00Z"),
          max: new Date("9999-12-31T23:59:59.999Z"),
          noInvalidDate: true,
        }),
        (date) => {
          expect(timestamp.parse(date.toISOString())).toBe(date.toISOString());
        },
      ),
    );
  });

  it("is never read from any other text", { tags: ["check"] }, () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: "binary" }), fc.json(), fc.float().map(String)), (text) => {
        const epochMs = parseTimestamp(text);
        if (epochMs !== null) expect(text).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d/i);
      }),
    );
  });

  it.each([
    ["2026-02-31T00:00:00Z", "a day that does not exist"],
    ["1900-02-29T00:00:00Z", "a leap day of no leap year"],
    ["2026-01-01T24:00:00Z", "24:00"],
    ["2026-01-01T25:00:00Z", "hour 25"],
    ["2016-12-31T23:59:60Z", "a leap second"],
    ["0000-01-01T00:00:00Z", "year 0"],
    ["0000-12-31T23:59:00-01:00", "year 0, though not in UTC"],
    ["0001-01-01T00:00:00+01:00", "year 0 in UTC"],
    ["9999-12-31T23:59:59-01:00", "year 10000 in UTC"],
    ["+010000-01-01T00:00:00Z", "a year of six digits"],
    ["2026-01-01T00:00:00+99:99", "an offset of no zone"],
    ["2026-01-01T00:00:00+24:00", "an offset of a day"],
    ["2026-01-01T00:00:00", "no zone"],
    ["2026-01-01T00:00:00 Z", "a gap"],
    ["2026-01-01 00:00:00Z", "no T"],
    ["2026-01-01", "no time"],
    ["2026-01-01T00:00:00Z\u0000", "NUL"],
    ["２０２６-01-01T00:00:00Z", "digits of another script"],
    ["1767225600000", "epoch ms"],
    ["Thu, 01 Jan 2026 00:00:00 GMT", "the format of HTTP"],
  ])("is not %j: %s", (text) => {
    expect(parseTimestamp(text)).toBeNull();
    expect(timestamp.safeParse(text).success).toBe(false);
  });

  it.each([
    ["2026-01-01T00:00Z", "2026-01-01T00:00:00.000Z"],
    ["2026-01-01t00:00:00z", "2026-01-01T00:00:00.000Z"],
    ["2026-01-01T00:00:00,5Z", "2026-01-01T00:00:00.500Z"],
    ["2026-01-01T00:00:00.123456789Z", "2026-01-01T00:00:00.123Z"],
    ["2026-01-01T00:00:00+0530", "2025-12-31T18:30:00.000Z"],
    ["2026-01-01T00:00:00-08", "2026-01-01T08:00:00.000Z"],
    ["2026-01-01T00:00:00-00:00", "2026-01-01T00:00:00.000Z"],
    ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"],
    ["  2024-02-29T00:00:00Z ", "2024-02-29T00:00:00.000Z"],
  ])("%j is %s", (text, utc) => {
    expect(timestamp.parse(text)).toBe(utc);
  });
});

it("a day must exist in the calendar", () => {
  fc.assert(
    fc.property(year, between(0, 13), between(0, 32), (y, month, day) => {
      const exists = y >= 1 && month >= 1 && month <= 12 && day >= 1 && day <= daysOf(y, month);
      expect(isCalendarDay(`${pad(y, 4)}-${pad(month)}-${pad(day)}`)).toBe(exists);
    }),
    { numRuns: 2000 },
  );
  for (const text of ["2026-1-1", "2026-01-01T00:00:00Z", "", "today"]) expect(isCalendarDay(text)).toBe(false);
});
