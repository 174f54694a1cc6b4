/** The instant that is named is the first one at which the rule of the data plane answers otherwise. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type AccessTerms, accessRefusal } from "../../shared/access/access-window.ts";
import { nextAccessChangeMs } from "./access-change.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 1440 * MINUTE_MS;
const zone = fc.constantFrom("UTC", "Asia/Kolkata", "America/Los_Angeles", "Australia/Lord_Howe", "Atlantis/Nowhere");
/** Half of them near a change of clocks in Los Angeles or on Lord Howe. */
const CHANGES_MS = ["2026-03-08T10:00Z", "2026-11-01T09:00Z", "2026-04-04T15:00Z", "2026-10-03T15:30Z"].map((at) =>
  Date.parse(at),
);
const instant = fc.oneof(
  fc.integer({ min: Date.UTC(2024, 0, 1), max: Date.UTC(2030, 0, 1) }),
  fc.tuple(fc.constantFrom(...CHANGES_MS), fc.integer({ min: -DAY_MS, max: DAY_MS })).map(([at, by]) => at + by),
);
const weekly = fc
  .tuple(fc.integer({ min: 0, max: 6 }), fc.integer({ min: 0, max: 1439 }), fc.integer({ min: 1, max: 1440 }))
  .map(([day, one, other]) => ({ day, start_min: Math.min(one, other - 1), end_min: Math.max(one + 1, other) }));
const terms = (nowMs: number): fc.Arbitrary<AccessTerms> => {
  const bound = fc.option(fc.integer({ min: -3 * DAY_MS, max: 3 * DAY_MS }).map((by) => nowMs + by));
  return fc.record({
    status: fc.constantFrom("active" as const, "active" as const, "active" as const, "suspended" as const),
    timezone: zone,
    active_from_ms: bound,
    active_until_ms: bound,
    weekly_windows: fc.array(weekly, { maxLength: 4 }),
  });
};
const world = instant.chain((nowMs) => fc.tuple(fc.constant(nowMs), terms(nowMs)));

describe("the next change of access", () => {
  it("changes the answer of the rule, which is the same until then", () => {
    fc.assert(
      fc.property(world, fc.double({ min: 0, max: 1, noNaN: true }), ([nowMs, tenant], part) => {
        const isServed = (atMs: number): boolean => accessRefusal(tenant, atMs) === null;
        const changeMs = nextAccessChangeMs(tenant, nowMs);
        const endMs = changeMs ?? nowMs + 7 * DAY_MS;
        if (changeMs !== null)
          expect({ isLater: changeMs > nowMs, isServedAfter: isServed(changeMs) }).toEqual({
            isLater: true,
            isServedAfter: !isServed(nowMs),
          });
        // Every edge of a window and of the term before it, and a time at random, are as the present is.
        const edges = [tenant.active_from_ms, tenant.active_until_ms, nowMs + Math.floor(part * (endMs - nowMs))];
        for (let atMs = Math.ceil(nowMs / MINUTE_MS) * MINUTE_MS; atMs < endMs; atMs += 60 * MINUTE_MS)
          edges.push(atMs);
        for (const atMs of edges)
          if (atMs !== null && atMs >= nowMs && atMs < endMs) expect(isServed(atMs)).toBe(isServed(nowMs));
      }),
      { numRuns: 60 },
    );
  });

  it.each([
    ["the end of a window", {}, "2026-11-23T10:00Z", "2026-11-23T17:30:00Z"],
    ["the next window", {}, "2026-11-23T18:00Z", "2026-11-30T09:00:00Z"],
    [
      "the end of the term in a window",
      { active_until_ms: Date.parse("2026-11-23T12:00Z") },
      "2026-11-23T10:00Z",
      "2026-11-23T12:00:00Z",
    ],
    [
      "nothing after the end of the term",
      { active_until_ms: Date.parse("2026-11-24T00:00Z") },
      "2026-11-23T18:00Z",
      null,
    ],
    [
      "the first window of the term",
      { active_from_ms: Date.parse("2026-11-24T00:00Z") },
      "2026-11-23T18:00Z",
      "2026-11-30T09:00:00Z",
    ],
    ["nothing of a suspended one", { status: "suspended" }, "2026-11-23T10:00Z", null],
    ["nothing without windows", { weekly_windows: [] }, "2026-11-23T10:00Z", null],
  ] as const)("is %s", (_, more, now, change) => {
    const tenant: AccessTerms = {
      status: "active",
      timezone: "UTC",
      active_from_ms: null,
      active_until_ms: null,
      weekly_windows: [{ day: 1, start_min: 540, end_min: 1050 }],
      ...more,
    };
    expect(nextAccessChangeMs(tenant, Date.parse(now))).toBe(change === null ? null : Date.parse(change));
  });
});
