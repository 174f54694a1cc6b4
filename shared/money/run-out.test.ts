import { describe, expect, it } from "vitest";
import { type RecentUse, ratePerDay, runOutOf, withUse } from "./run-out.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const START = Date.UTC(2026, 10, 1);
const END = Date.UTC(2026, 11, 1);
const now = START + 10 * DAY_MS;

describe("the rate of a budget", () => {
  const used = (...uses: readonly (readonly [day: number, tokens: number])[]): RecentUse | undefined =>
    uses.reduce<RecentUse | undefined>(
      (recent, [day, tokens]) => withUse(recent, { tokens, nanoUsd: 2 * tokens }, START + day * DAY_MS),
      undefined,
    );
  const rate = (recent: RecentUse | undefined, day: number) => ratePerDay(recent, "tokens", START + day * DAY_MS);

  it("covers the time since the first use, and counts the first day whole", () => {
    const recent = used([29.5, 10_000]);
    expect(rate(recent, 29.5)).toBe(10_000);
    expect(rate(recent, 29.51)).toBeCloseTo(10_000, -2);
    expect(ratePerDay(recent, "nanoUsd", START + 29.5 * DAY_MS)).toBe(20_000);
  });

  it("is the use per day of somebody who uses the same every day", () => {
    const daily = used(...Array.from({ length: 60 }, (_, day) => [day, 1_000_000] as const));
    expect(rate(daily, 59.5)).toBeCloseTo(1_000_000, -5);
  });

  it("follows the last days", () => {
    const grown = used(...Array.from({ length: 30 }, (_, day) => [day, day < 20 ? 1000 : 10_000] as const));
    expect(rate(grown, 29.5)).toBeGreaterThan(7000);
    expect(rate(grown, 60)).toBeLessThan(200);
  });

  it("is not known before the first use, and survives a clock that was set back", () => {
    expect(rate(undefined, 3)).toBeNull();
    const back = used([5, 100], [4, 100]);
    expect(back).toMatchObject({ sinceMs: START + 4 * DAY_MS, tokens: 200 });
    expect(rate(back, 3)).toBe(200);
  });

  it("loses nothing of many small requests", () => {
    const many = used(...Array.from({ length: 1000 }, (_, at) => [at / 100_000, 1] as const));
    expect(rate(many, 0.01)).toBeCloseTo(1000, -1);
    expect(rate(many, 0.01)).toBeGreaterThan(999);
  });
});

describe("the run-out of a budget", () => {
  it("is where the rate meets the cap", () => {
    expect(runOutOf({ used: 50, cap: 100, perDay: 5 }, END, now)).toEqual({
      atMs: START + 20 * DAY_MS,
      capToLast: 150,
      perDayToLast: 2.5,
    });
  });

  it("is none when the period ends first, to the instant of the reset", () => {
    expect(runOutOf({ used: 10, cap: 100, perDay: 1 }, END, now)).toEqual({
      atMs: null,
      capToLast: 30,
      perDayToLast: 4.5,
    });
    expect(runOutOf({ used: 10, cap: 30, perDay: 1 }, END, now)).toMatchObject({ atMs: null });
  });

  it("is now when nothing is left, also of a cap of 0", () => {
    expect(runOutOf({ used: 120, cap: 100, perDay: 12 }, END, now)).toMatchObject({
      atMs: now,
      perDayToLast: 0,
      capToLast: 360,
    });
    expect(runOutOf({ used: 0, cap: 0, perDay: 0 }, END, now)).toMatchObject({ atMs: now, capToLast: 0 });
  });

  it("is none while nothing is used", () => {
    expect(runOutOf({ used: 0, cap: 100, perDay: 0 }, END, now)).toMatchObject({ atMs: null, capToLast: 0 });
  });

  it("has a date without an end of the period, and then nothing to last until", () => {
    expect(runOutOf({ used: 50, cap: 100, perDay: 5 }, null, now)).toEqual({
      atMs: START + 20 * DAY_MS,
      capToLast: null,
      perDayToLast: null,
    });
    expect(runOutOf({ used: 0, cap: 1e9, perDay: 1e-9 }, null, now)).toMatchObject({ atMs: null });
  });

  it("leaves a period that is over without a rate to last", () => {
    expect(runOutOf({ used: 50, cap: 100, perDay: 5 }, END, END + 1)).toMatchObject({ atMs: null, perDayToLast: null });
  });
});
