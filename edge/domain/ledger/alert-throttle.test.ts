import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Issue } from "../../../shared/alerts.ts";
import { AlertThrottle, type CountedIssue, ISSUES_MAX, QUIET_MS } from "./alert-throttle.ts";

const issue = (issueKey: string, detail = "d"): Issue => ({ issueKey, title: "t", detail });
const total = (left: readonly CountedIssue[]): number => left.reduce((sum, { count }) => sum + count, 0);

describe("repeats of an issue", () => {
  it("36 failures in 36 s leave as five alerts that stand for 36, without a 37th", () => {
    const repeats = new AlertThrottle();
    const left: CountedIssue[] = [];
    for (let second = 0; second < 36; second += 1) {
      const nowMs = 1_000_000 + second * 1_000;
      left.push(...repeats.due(nowMs), ...repeats.raise(issue("k", `at ${second}`), nowMs));
    }
    left.push(...repeats.due(1_000_000 + 60_000));
    expect(left.map(({ issue: { detail }, count }) => [detail, count])).toEqual([
      ["at 0", 1],
      ["at 9", 9],
      ["at 19", 10],
      ["at 29", 10],
      ["at 35", 6],
    ]);
    expect({ leftTotal: total(left), dueInMs: repeats.dueInMs(1_060_000) }).toEqual({ leftTotal: 36, dueInMs: null });
  });

  it("report when they are due, separately for each issue", () => {
    const repeats = new AlertThrottle();
    repeats.raise(issue("a"), 0);
    repeats.raise(issue("b"), 4_000);
    expect(repeats.dueInMs(5_000)).toBeNull();
    repeats.raise(issue("b"), 5_000);
    expect(repeats.dueInMs(5_000)).toBe(9_000);
    repeats.raise(issue("a"), 6_000);
    expect(repeats.dueInMs(6_000)).toBe(4_000);
    expect(repeats.due(10_000).map((left) => left.issue.issueKey)).toEqual(["a"]);
    expect({ at10s: repeats.dueInMs(10_000), at20s: repeats.dueInMs(20_000) }).toEqual({ at10s: 4_000, at20s: 0 });
  });

  it("do not wait for a clock that was set back", () => {
    const repeats = new AlertThrottle();
    repeats.raise(issue("k"), 9_000_000);
    repeats.raise(issue("k"), 9_000_001);
    expect(repeats.dueInMs(1_000)).toBe(0);
    expect(repeats.due(1_000)).toMatchObject([{ count: 1 }]);
    expect(repeats.raise(issue("k"), 500)).toMatchObject([{ count: 1 }]);
  });

  it("leave when their issue is dropped for lack of room", () => {
    const repeats = new AlertThrottle();
    repeats.raise(issue("k"), 0);
    repeats.raise(issue("k"), 1);
    repeats.raise(issue("k"), 2);
    for (let n = 1; n < ISSUES_MAX; n += 1) expect(repeats.raise(issue(`other ${n}`), 3)).toHaveLength(1);
    expect(repeats.raise(issue("one more"), 3).map((left) => [left.issue.issueKey, left.count])).toEqual([
      ["one more", 1],
      ["k", 2],
    ]);
    expect(repeats.dueInMs(3)).toBeNull();
  });

  it("are counted exactly at any timing, and an issue leaves at most once per quiet time", () => {
    const step = fc.record({
      waitMs: fc.integer({ min: 0, max: 15_000 }),
      key: fc.constantFrom("a", "b", "c"),
      isRead: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const repeats = new AlertThrottle();
        const left: (CountedIssue & { readonly atMs: number })[] = [];
        let nowMs = 0;
        const take = (leaving: readonly CountedIssue[]) => {
          for (const one of leaving) left.push({ ...one, atMs: nowMs });
        };
        for (const { waitMs, key, isRead } of steps) {
          nowMs += waitMs;
          if (isRead) take(repeats.due(nowMs));
          take(repeats.raise(issue(key), nowMs));
        }
        nowMs += QUIET_MS;
        take(repeats.due(nowMs));
        for (const key of ["a", "b", "c"]) {
          const own = left.filter((one) => one.issue.issueKey === key);
          expect(total(own)).toBe(steps.filter((one) => one.key === key).length);
          for (const [at, one] of own.slice(1).entries())
            expect(one.atMs - (own[at]?.atMs ?? 0)).toBeGreaterThanOrEqual(QUIET_MS);
        }
        expect(repeats.dueInMs(nowMs)).toBeNull();
      }),
    );
  });
});
