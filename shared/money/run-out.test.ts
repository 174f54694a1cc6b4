import { describe, expect, it } from "vitest";
import { meanPerDay, runOutOf } from "./run-out.ts";

const DAY_MS = 86_400_000;
const START = Date.UTC(2026, 10, 1);
const MONTH = { startMs: START, endMs: Date.UTC(2026, 11, 1) };

describe("the run-out of a budget", () => {
  it("is where the mean rate of the period meets the cap", () => {
    const now = START + 10 * DAY_MS;
    expect(meanPerDay(50, MONTH, now)).toBe(5);
    expect(runOutOf({ used: 50, cap: 100 }, MONTH, now)).toEqual({
      atMs: START + 20 * DAY_MS,
      capToLast: 150,
      perDayToLast: 2.5,
    });
  });

  it("is none when the period ends first", () => {
    expect(runOutOf({ used: 10, cap: 100 }, MONTH, START + 10 * DAY_MS)).toEqual({
      atMs: null,
      capToLast: 30,
      perDayToLast: 4.5,
    });
    // to the instant of the reset
    expect(runOutOf({ used: 10, cap: 30 }, MONTH, START + 10 * DAY_MS)).toMatchObject({ atMs: null });
  });

  it("is now when nothing is left, also of a cap of 0", () => {
    const now = START + 10 * DAY_MS;
    expect(runOutOf({ used: 120, cap: 100 }, MONTH, now)).toMatchObject({ atMs: now, perDayToLast: 0, capToLast: 360 });
    expect(runOutOf({ used: 0, cap: 0 }, MONTH, now)).toMatchObject({ atMs: now, capToLast: 0 });
  });

  it("is none while nothing is used", () => {
    expect(runOutOf({ used: 0, cap: 100 }, MONTH, START + DAY_MS)).toMatchObject({ atMs: null, capToLast: 0 });
  });

  it("has a date without an end of the period, and then nothing to last until", () => {
    const lifetime = { startMs: START, endMs: null };
    expect(runOutOf({ used: 50, cap: 100 }, lifetime, START + 10 * DAY_MS)).toEqual({
      atMs: START + 20 * DAY_MS,
      capToLast: null,
      perDayToLast: null,
    });
    expect(runOutOf({ used: 1e-9, cap: 1e9 }, lifetime, START + DAY_MS)).toMatchObject({ atMs: null });
  });

  it("is not known in the first hour, before the start, or without one", () => {
    for (const [startMs, nowMs] of [
      [START, START + 3_599_999],
      [START, START - DAY_MS],
      [null, START],
    ] as const)
      expect(runOutOf({ used: 5, cap: 10 }, { startMs, endMs: null }, nowMs)).toBeNull();
    expect(runOutOf({ used: 5, cap: 10 }, MONTH, START + 3_600_000)).not.toBeNull();
  });

  it("leaves a period that is over without a rate to last", () => {
    expect(runOutOf({ used: 50, cap: 100 }, MONTH, MONTH.endMs + 1)).toMatchObject({ atMs: null, perDayToLast: null });
  });
});
