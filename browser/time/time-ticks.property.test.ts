/** Marks of a time axis are few, in order, inside, and at round times of the zone's clock. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { timeTicks } from "./time-ticks.ts";

const zone = fc.constantFrom("Asia/Kolkata", "America/Los_Angeles", "UTC", "Australia/Lord_Howe");
const from = fc.integer({ min: Date.UTC(2025, 0, 1), max: Date.UTC(2027, 0, 1) });
/** A second to three years, as many short ones as long ones. */
const length = fc.double({ min: 3, max: 11, noNaN: true }).map((power) => Math.round(10 ** power));
/** More than the wanted number: the hour that a change of clocks repeats. */
const REPEATED = 2;

describe("timeTicks", () => {
  it("gives at most as many marks as wanted, in order, inside, each with a label", () => {
    fc.assert(
      fc.property(zone, from, length, fc.integer({ min: 1, max: 20 }), (name, fromMs, ms, most) => {
        const { atMs, labels } = timeTicks(name, fromMs, fromMs + ms, most);
        expect(labels).toHaveLength(atMs.length);
        expect(atMs.length).toBeLessThanOrEqual(most + 1 + REPEATED);
        expect([...new Set(atMs)].sort((a, b) => a - b)).toEqual([...atMs]);
        for (const at of atMs) expect(at >= fromMs && at <= fromMs + ms).toBe(true);
        expect(labels.every((label) => label !== "" && !label.includes("undefined"))).toBe(true);
      }),
    );
  });

  it("never leaves a period of a minute or more without marks", () => {
    fc.assert(
      fc.property(zone, from, length, (name, fromMs, ms) => {
        if (ms >= 60_000) expect(timeTicks(name, fromMs, fromMs + ms, 8).atMs.length).toBeGreaterThan(0);
      }),
    );
  });

  it("marks clock hours on the day clocks go forward, in Los Angeles and on Lord Howe", () => {
    const dayOf = (name: string, at: string): readonly string[] =>
      timeTicks(name, Date.parse(at), Date.parse(at) + 6 * 3_600_000, 6).labels;
    expect(dayOf("America/Los_Angeles", "2026-03-08T08:00Z")).toEqual([
      "00:00\n8 Mar",
      "01:00",
      "03:00",
      "04:00",
      "05:00",
      "06:00",
      "07:00",
    ]);
    expect(dayOf("Australia/Lord_Howe", "2026-10-03T13:30Z")).toEqual([
      "00:00\n4 Oct",
      "01:00",
      "03:00",
      "04:00",
      "05:00",
      "06:00",
    ]);
  });

  it("marks days at their first instant, with 23 and 25 hours between them where clocks change", () => {
    const { atMs } = timeTicks(
      "America/Los_Angeles",
      Date.parse("2026-10-30T07:00Z"),
      Date.parse("2026-11-04T08:00Z"),
      8,
    );
    const hours = atMs.slice(1).map((at, index) => (at - (atMs[index] ?? 0)) / 3_600_000);
    expect(hours).toContain(25);
  });

  it.each([
    [Number.NaN, 1000, 5],
    [0, Number.POSITIVE_INFINITY, 5],
    [-1e308, 1e308, 5],
    [1000, 1000, 5],
    [2000, 1000, 5],
    [0, 1000, Number.NaN],
    [0, 1000, 0],
  ])("has no marks from %s to %s with at most %s", (fromMs, toMs, most) => {
    expect(timeTicks("UTC", fromMs, toMs, most)).toEqual({ atMs: [], labels: [] });
  });

  it("ends for every span of the calendar", () => {
    expect(timeTicks("UTC", -8.64e15, 8.64e15, 5).atMs.length).toBeLessThan(200_000);
  });
});
