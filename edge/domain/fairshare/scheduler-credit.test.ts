/**
 * No tenant gains by requesting more than it uses, or by mixing models of different weights
 * (docs/rules/fairshare.md#served-score, docs/rules/fairshare.md#choosing-the-next,
 * docs/rules/fairshare.md#required-behaviour).
 */
import { describe, expect, it } from "vitest";
import { LoopCell } from "../../../test/harness/edge/loops.ts";

const ALGORITHMS = ["weighted", "hierarchical"] as const;
const LIGHT = { model: "light", admissionWeight: 5 } as const;
const HEAVY = { model: "heavy", admissionWeight: 100 } as const;

/** Each is within a tenth of the others, and one round of the slots. */
function expectEven(granted: readonly number[], slots: number): void {
  const mean = granted.reduce((sum, value) => sum + value, 0) / granted.length;
  const far = granted.filter((value) => Math.abs(value - mean) > 0.1 * mean + slots);
  expect({ granted, far }).toEqual({ granted, far: [] });
}

describe.each(ALGORITHMS)("an oversized request that comes to nothing (%s)", (algorithm) => {
  it.each([
    [4, "g"],
    [4, "other"],
    [1, "g"],
    [1, "other"],
  ])("does not hold up the next tenant: %i slots, group %s", (slots, group) => {
    const cell = new LoopCell(algorithm, slots);
    cell.loops(20, { tenant: "a" });
    cell.pass(1000, []);
    cell.request({ tenant: "a", costTokens: 2_000_000, actualTokens: 0 });
    cell.pass(4000, []);
    cell.loops(20, { tenant: "v", group });
    expectEven(cell.pass(8000, ["a", "v"]), slots);
  });

  it("leaves equal tenants equal when they come one after the other", () => {
    const cell = new LoopCell(algorithm, 4);
    cell.loops(20, { tenant: "a" });
    cell.request({ tenant: "a", costTokens: 2_000_000, actualTokens: 0 });
    cell.pass(2000, []);
    const others = Array.from({ length: 6 }, (_, at) => `t${at}`);
    for (const tenant of others) cell.loops(20, { tenant });
    expectEven(cell.pass(50_000, ["a", ...others]), 4);
  });

  it("is worth nothing when it is sent again and again", () => {
    const cell = new LoopCell(algorithm, 4);
    cell.loops(20, { tenant: "a" });
    for (let count = 0; count < 8; count += 1) cell.loops(1, { tenant: "a", costTokens: 500_000, actualTokens: 0 });
    cell.pass(3000, []);
    for (const tenant of ["v", "w"]) {
      cell.loops(20, { tenant });
      cell.pass(3000, []);
    }
    const [a = 0, ...rivals] = cell.pass(20_000, ["a", "v", "w"]);
    expectEven(rivals, 4);
    expect(a).toBeLessThanOrEqual(Math.min(...rivals) + 4);
  });
});

describe.each(ALGORITHMS)("models of different weights (%s)", (algorithm) => {
  it.each([
    ["g", "g"],
    ["a", "rivals"],
  ])("bank no credit: one light request, then heavy ones (groups %s, %s)", (own, rivals) => {
    const cell = new LoopCell(algorithm, 4);
    for (const tenant of ["v", "b"]) cell.loops(12, { tenant, group: rivals, ...HEAVY });
    cell.pass(8000, []);
    cell.request({ tenant: "a", group: own, ...LIGHT });
    cell.loops(12, { tenant: "a", group: own, ...HEAVY });
    const [a = 0, v = 0, b = 0] = cell.pass(5000, ["a", "v", "b"]);
    const due = algorithm === "hierarchical" && own !== rivals ? 50 : 66;
    expect({ a, v, b, fair: v >= 0.75 * due && b >= 0.75 * due && a > 0 }).toEqual({ a, v, b, fair: true });
  });

  it("bank no credit on one slot: requests of weight 100 that join one of weight 1 in its queue", () => {
    const cell = new LoopCell(algorithm, 1);
    cell.loops(4, { tenant: "v", ...HEAVY });
    cell.pass(200_000, []);
    cell.request({ tenant: "a", model: "lightest", admissionWeight: 1 });
    cell.loops(4, { tenant: "a", ...HEAVY });
    const [a = 0, v = 0] = cell.pass(400_000, ["a", "v"]);
    // One of weight 1 counts as much as a hundred of weight 100.
    expect(Math.abs(v - a - 100)).toBeLessThanOrEqual(10);
  });

  it("leave the past settled for the tenant itself: 2000 requests on a heavy model, then a lighter one", () => {
    const cell = new LoopCell(algorithm, 1);
    cell.loops(4, { tenant: "v", model: "lighter", admissionWeight: 10 });
    for (let at = 0; at < 2000; at += 1) cell.request({ tenant: "a", ...HEAVY });
    const [before = 0] = cell.pass(230_000, ["a"]);
    expect(before).toBe(2000);
    cell.loops(4, { tenant: "a", model: "lighter", admissionWeight: 10 });
    expectEven(cell.pass(400_000, ["a", "v"]), 1);
  });
});

describe("slot caps (hierarchical)", () => {
  const shares = (disturb: (cell: LoopCell) => void): number[] => {
    const cell = new LoopCell("hierarchical", 8);
    for (const tenant of ["a", "v"]) cell.loops(24, { tenant, ...LIGHT });
    cell.pass(2000, []);
    disturb(cell);
    return cell.pass(5000, ["a", "v"]);
  };

  it("are not moved by requests to a heavy model that are cancelled", () => {
    const granted = shares((cell) => {
      for (let at = 0; at < 600; at += 1)
        cell.after(8 * at, () => cell.request({ tenant: "a", cancelledMs: 15, ...HEAVY }));
    });
    expectEven(granted, 8);
  });

  it("for light requests are not those of a heavy one that waits or runs", () => {
    const granted = shares((cell) => cell.loops(1, { tenant: "a", ...HEAVY }));
    expectEven(granted, 8);
  });

  it("are those of the model that is asked for: 7 to 1 for the heavy one", () => {
    const cell = new LoopCell("hierarchical", 8);
    cell.loops(24, { tenant: "v", model: "m50", admissionWeight: 50 });
    cell.loops(24, { tenant: "a", model: "m500", admissionWeight: 500 });
    cell.pass(2000, []);
    const [a = 0, v = 0] = cell.pass(10_000, ["a", "v"]);
    expect([Math.round(a / 100), Math.round(v / 100)]).toEqual([7, 1]);
  });
});
