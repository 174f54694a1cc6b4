/** Windows of lines follow the slots that are idle (docs/rules/batches.md#windows). */
import { describe, expect, it } from "vitest";
import { LineWindows } from "./line-windows.ts";

const QUEUE = { tenantId: "t", batchId: "b", cell: "eu", model: "m" };

/** Sends lines to a cell with so many idle slots, turn by turn; returns how many were under way in the last turn. */
function underWayWith(windows: LineWindows, idleSlots: number, turns: number): number {
  let most = 0;
  for (let turn = 0; turn < turns; turn += 1) {
    const lines = windows.room(QUEUE);
    for (let at = 0; at < lines; at += 1) windows.sent(QUEUE, 2);
    for (let at = 0; at < lines; at += 1) windows.ended(QUEUE, 2, at < idleSlots ? 0 : 900);
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

  it("stays shut after a failure, longer after each, and not for others", () => {
    let nowMs = 0;
    const windows = new LineWindows(() => nowMs);
    const fail = (): void => {
      windows.sent(QUEUE, 2);
      windows.ended(QUEUE, 2, null);
      windows.failed(QUEUE, null);
    };
    fail();
    const shut = windows.room(QUEUE);
    const otherModel = windows.room({ ...QUEUE, model: "n" });
    const otherBatch = windows.room({ ...QUEUE, batchId: "c" });
    expect({ shut, otherModel, otherBatch }).toEqual({ shut: 0, otherModel: 2, otherBatch: 2 });
    nowMs += 1001;
    expect(windows.room(QUEUE)).toBe(1);
    fail();
    nowMs += 1001;
    expect(windows.room(QUEUE)).toBe(0);
    nowMs += 1000;
    expect(windows.room(QUEUE)).toBe(1);
  });

  it("never leaves nothing for other tenants, however many lines of one are under way", () => {
    const windows = new LineWindows(() => 0);
    const fill = (tenantId: string, chars: number): number => {
      let lines = 0;
      for (let at = 0; at < 5000; at += 1) {
        const queue = { ...QUEUE, tenantId, batchId: `${tenantId}${at}` };
        const room = windows.room(queue);
        for (let sent = 0; sent < room; sent += 1) windows.sent(queue, chars);
        lines += room;
      }
      return lines;
    };
    const first = fill("hog", 100);
    const second = fill("next", 100);
    expect(first).toBeGreaterThan(200);
    expect(first).toBeLessThanOrEqual(258);
    expect(second).toBeGreaterThan(100);
    expect(windows.room({ ...QUEUE, tenantId: "last" })).toBe(2);
    fill("large", 20_000_000);
    expect(windows.room({ ...QUEUE, tenantId: "last" })).toBeGreaterThan(0);
  });

  it("has few large lines of a cell under way, and of another cell as many again", () => {
    const windows = new LineWindows(() => 0);
    const fill = (tenantId: string, cell: string): number => {
      let bytes = 0;
      for (let at = 0; at < 100; at += 1) {
        const queue = { ...QUEUE, tenantId, cell, batchId: `${tenantId}${at}` };
        if (windows.room(queue) === 0) continue;
        windows.sent(queue, 1_000_000);
        bytes += 1_000_000;
      }
      return bytes;
    };
    const MIB = 1024 * 1024;
    const found = { first: fill("a", "eu"), second: fill("b", "eu"), elsewhere: fill("a", "us") };
    expect(found.first).toBeGreaterThan(4 * MIB);
    expect(found.first + found.second).toBeLessThan(17 * MIB);
    expect(found.elsewhere).toBe(found.first);
  });

  it("lets small lines go on together, however large the lines of other tenants are", () => {
    const windows = new LineWindows(() => 0);
    for (const tenantId of ["a", "b", "c", "d"])
      for (let at = 0; at < 5; at += 1) windows.sent({ ...QUEUE, tenantId, batchId: `${at}` }, 4_000_000);
    const small = { ...QUEUE, tenantId: "small" };
    windows.sent(small, 110);
    const left = { lines: windows.room(small), bytes: windows.bytes(small) };
    windows.sent(small, 256 * 1024);
    expect({ left, after: windows.room({ ...small, batchId: "c" }) }).toEqual({
      left: { lines: 1, bytes: 256 * 1024 - 110 },
      after: 0,
    });
  });

  it("leaves each tenant 16 lines, however many others have theirs under way", () => {
    const windows = new LineWindows(() => 0);
    for (let tenant = 0; tenant < 12; tenant += 1) {
      for (let at = 0; at < 300; at += 1) {
        const queue = { ...QUEUE, tenantId: `${tenant}`, batchId: `${tenant} ${at}` };
        for (let room = windows.room(queue); room > 0; room -= 1) windows.sent(queue, 100);
      }
    }
    let lines = 0;
    for (let at = 0; at < 20; at += 1) {
      const queue = { ...QUEUE, tenantId: "last", batchId: `${at}` };
      for (let room = windows.room(queue); room > 0; room -= 1) {
        windows.sent(queue, 100);
        lines += 1;
      }
    }
    expect(lines).toBe(16);
  });

  it("is forgotten when its lines have ended, and not while it is shut", () => {
    let nowMs = 0;
    const windows = new LineWindows(() => nowMs);
    for (let at = 0; at < 1000; at += 1) {
      const queue = { ...QUEUE, model: `m${at}` };
      if (windows.room(queue) === 0) continue;
      windows.sent(queue, 2);
      windows.ended(queue, 2, null);
    }
    windows.sent(QUEUE, 2);
    windows.failed(QUEUE, 30_000);
    nowMs = 29_000;
    windows.sweep();
    expect({ room: windows.room(QUEUE), size: windows.size }).toEqual({ room: 0, size: 1001 });
    nowMs = 61_000;
    windows.sweep();
    expect(windows.size).toBe(1);
  });
});
