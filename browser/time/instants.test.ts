/** Instants and ages as text, and what is not known as a dash. */
import { describe, expect, it } from "vitest";
import {
  formatAge,
  formatDay,
  formatInstant,
  formatMinutes,
  formatMonth,
  formatShortDay,
  formatTimeOfDay,
  instantOf,
  minutesOf,
  weekdayName,
} from "./instants.ts";

const AT = Date.UTC(2026, 10, 22, 20, 12, 7, 45);

describe("instants", () => {
  it("are written by the clock of the zone", () => {
    expect(formatInstant("UTC", AT)).toBe("22 Nov 2026, 20:12:07");
    expect(formatInstant("Asia/Kolkata", AT, "minute")).toBe("23 Nov 2026, 01:42");
    expect(formatInstant("America/Los_Angeles", AT, "ms")).toBe("22 Nov 2026, 12:12:07.045");
    expect(formatTimeOfDay("Asia/Kolkata", AT, "minute")).toBe("01:42");
    expect(formatTimeOfDay("UTC", AT, "second")).toBe("20:12:07");
    expect(formatShortDay("Asia/Kolkata", AT)).toBe("23 Nov");
    expect(formatMonth("UTC", AT)).toBe("Nov 2026");
    expect(formatDay("2026-11-23")).toBe("Mon, 23 Nov 2026");
  });

  it("show midnight as 00:00", () => {
    expect(formatTimeOfDay("UTC", 0, "minute")).toBe("00:00");
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, 1e308, -1e308, 8.64e15 + 2])("%s is no instant", (value) => {
    const written = [
      formatInstant("UTC", value),
      formatTimeOfDay("UTC", value, "second"),
      formatShortDay("UTC", value),
      formatMonth("UTC", value),
      formatAge(AT, value),
      formatAge(value, AT),
    ];
    expect(new Set(written)).toEqual(new Set(["–"]));
  });

  it("that are not known are a dash", () => {
    expect({
      instant: formatInstant("UTC", null),
      age: formatAge(AT, null),
      day: formatDay("2026-13-01"),
    }).toEqual({ instant: "–", age: "–", day: "–" });
    expect({
      missing: instantOf(null),
      unreadable: instantOf("yesterday"),
      epoch: instantOf("1970-01-01T00:00:00.000Z"),
    }).toEqual({ missing: null, unreadable: null, epoch: 0 });
  });
});

describe("times of the week", () => {
  it("have names, and are read as they are written", () => {
    expect([0, 1, 6].map((day) => weekdayName(day, "short"))).toEqual(["Sun", "Mon", "Sat"]);
    expect(weekdayName(3, "long")).toBe("Wednesday");
    expect([0, 570, 1440].map(formatMinutes)).toEqual(["00:00", "09:30", "24:00"]);
    expect(["00:00", " 09:30", "23:59"].map(minutesOf)).toEqual([0, 570, 1439]);
    for (const text of ["", "24:00", "9:30", "09:60", "09:30:00", "x"]) expect(minutesOf(text)).toBeNull();
  });
});

describe("ages", () => {
  it.each([
    [0, "now"],
    [900, "now"],
    [-4000, "now"],
    [-6000, "in 6 sec"],
    [59_999, "59 sec ago"],
    [60_000, "1 min ago"],
    [3_599_999, "59 min ago"],
    [2 * 3_600_000, "2 hr ago"],
    [47 * 3_600_000, "47 hr ago"],
    [3 * 86_400_000, "3 days ago"],
    [-3 * 86_400_000, "in 3 days"],
    [-7 * 86_400_000 + 1000, "in 7 days"],
    [-9.75 * 3_600_000, "in 10 hr"],
    [59 * 86_400_000, "59 days ago"],
    [90 * 86_400_000, "2 mo ago"],
    [1000 * 86_400_000, "2 yr ago"],
  ])("%d ms", (agoMs, text) => {
    expect(formatAge(AT, AT - agoMs)).toBe(text);
  });
});
