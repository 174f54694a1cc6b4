/** Memory and lifetime of answers in an isolate's memory. */
import { describe, expect, it } from "vitest";
import { MemoryBudget } from "../pipeline/call/memory/memory-budget.ts";
import type { CacheEntry } from "../ports.ts";
import { IsolateResponseCache } from "./isolate-response-cache.ts";

const BODY_BYTES = 1000;

const entry: CacheEntry = {
  v: 1,
  path: "/p",
  status: 200,
  content_type: "t",
  body: new Uint8Array(BODY_BYTES),
  input_tokens: 1,
  output_tokens: 2,
  stored_at_ms: 0,
  origin: "o",
};

function hotIn(roomBytes: number) {
  const state = { nowMs: 1000 };
  const room: MemoryBudget = new MemoryBudget(roomBytes, () => hot.evictOldest());
  const hot: IsolateResponseCache = new IsolateResponseCache(
    room,
    () => state.nowMs,
    () => 0,
  );
  const keep = (name: string, expiresMs = 1e9): void => hot.keep(name, entry, expiresMs, 0);
  const names = (of: string): string =>
    of
      .split("")
      .filter((name) => hot.get(name) !== null)
      .join("");
  return { state, room, hot, keep, names };
}

describe("answers in memory", () => {
  it("are evicted for newer ones and for captures, the least recently used first", () => {
    const { room, keep, names, hot } = hotIn(3 * 2000);
    for (const name of "abc") keep(name);
    expect(room.usedBytes).toBeGreaterThan(3 * BODY_BYTES);
    hot.get("a");
    keep("d");
    expect(names("abcd")).toBe("acd");
    const hold = room.open();
    expect(hold.grow(3 * 2000 - 1700)).toBe(true);
    expect(names("acd")).toBe("d");
    expect(hold.grow(1700)).toBe(true);
    expect({ names: names("d"), usedBytes: room.usedBytes }).toEqual({ names: "", usedBytes: 6000 });
    keep("e");
    expect({ names: names("e"), hasGrown: hold.grow(1) }).toEqual({ names: "", hasGrown: false });
    hold.close();
    expect(room.usedBytes).toBe(0);
  });

  it("stay when removing them would not free enough memory", () => {
    const { room, keep, names } = hotIn(3 * 2000);
    for (const name of "ab") keep(name);
    expect(room.open().grow(2500)).toBe(true);
    const { usedBytes } = room;
    expect(room.open().grow(3501)).toBe(false);
    expect({ names: names("ab"), usedBytes: room.usedBytes }).toEqual({ names: "ab", usedBytes });
    expect(room.open().grow(3500)).toBe(true);
    expect({ names: names("ab"), usedBytes: room.usedBytes }).toEqual({ names: "", usedBytes: 6000 });
  });

  it("are counted once per name, and no longer after they are removed", () => {
    const { room, keep, state, hot } = hotIn(1e6);
    keep("a");
    const oneBytes = room.usedBytes;
    keep("a");
    expect(room.usedBytes).toBe(oneBytes);
    keep("b", 1500);
    state.nowMs = 1500;
    expect({ b: hot.get("b"), usedBytes: room.usedBytes }).toEqual({ b: null, usedBytes: oneBytes });
    keep("c", 1500);
    expect({ c: hot.get("c"), usedBytes: room.usedBytes }).toEqual({ c: null, usedBytes: oneBytes });
  });

  it("are removed when the clock goes back, and not kept if they were stored in its future", () => {
    const { state, keep, names, room, hot } = hotIn(1e6);
    keep("a");
    state.nowMs = 999;
    expect({ names: names("a"), usedBytes: room.usedBytes }).toEqual({ names: "", usedBytes: 0 });
    hot.keep("a", { ...entry, stored_at_ms: 1000 }, 1e9, 0);
    expect(names("a")).toBe("");
  });
});
