/** Windows of lines follow the slots that are idle (docs/rules/batches.md#windows). */
import { describe, expect, it } from "vitest";
import { LineWindows } from "./line-windows.ts";

/** Sends lines to a cell with so many idle slots, turn by turn; returns how many were under way in the last turn. */
function underWayWith(windows: LineWindows, idleSlots: number, turns: number): number {
  let most = 0;
  for (let turn = 0; turn < turns; turn += 1) {
    const lines = windows.room("eu", "m");
    for (let at = 0; at < lines; at += 1) windows.sent("eu", "m");
    for (let at = 0; at < lines; at += 1) windows.ended("eu", "m", at < idleSlots ? 0 : 900);
    most = lines;
  }
  return most;
}

describe("the window of a model", () => {
  it("comes to what is idle and stays near it, in either direction", () => {
    const windows = new LineWindows(() => 0);
    const first = underWayWith(windows, 24, 20);
    expect(first).toBeGreaterThan(24);
    expect(first).toBeLessThanOrEqual(52);
    expect(underWayWith(windows, 1, 60)).toBeLessThanOrEqual(4);
    expect(underWayWith(windows, 24, 20)).toBeGreaterThan(24);
  });

  it("stays shut after a failure, longer after each, and not for other models", () => {
    let nowMs = 0;
    const windows = new LineWindows(() => nowMs);
    const fail = (): void => {
      windows.sent("eu", "m");
      windows.ended("eu", "m", null);
      windows.failed("eu", "m", null);
    };
    fail();
    expect({ shut: windows.room("eu", "m"), other: windows.room("eu", "n") }).toEqual({ shut: 0, other: 2 });
    nowMs += 1001;
    expect(windows.room("eu", "m")).toBe(1);
    fail();
    nowMs += 1001;
    expect(windows.room("eu", "m")).toBe(0);
    nowMs += 1000;
    expect(windows.room("eu", "m")).toBe(1);
  });
});
