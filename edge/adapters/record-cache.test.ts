import { describe, expect, it } from "vitest";
import { FRESH_MS, RecordCache, STALE_IF_ERROR_MS } from "./record-cache.ts";

interface Note {
  readonly text: string;
}

function cacheAt(start: number, maxBytes = 100_000) {
  const time = { nowMs: start };
  const kept: Promise<unknown>[] = [];
  return {
    time,
    cache: new RecordCache<Note>(
      maxBytes,
      () => time.nowMs,
      (work) => kept.push(work),
    ),
    kept,
  };
}

const load = (text: string | null) => async () => (text === null ? null : { text });

describe("a copy in memory", () => {
  it("is fresh for five minutes, and may serve for an hour while the store is down", async () => {
    const { time, cache } = cacheAt(1000);
    await cache.read("a", load("one"), false);
    time.nowMs += FRESH_MS - 1;
    expect(cache.fresh("a")).toEqual({ text: "one" });
    time.nowMs += 1;
    expect(cache.fresh("a")).toBeNull();
    expect(cache.staleIfError("a")).toEqual({ text: "one" });
    time.nowMs = 1000 + STALE_IF_ERROR_MS;
    expect(cache.staleIfError("a")).toBeNull();
  });

  it("is not read again after it served an outage, and is never used beyond its hour", async () => {
    const { time, cache } = cacheAt(0);
    await cache.read("a", load("one"), false);
    time.nowMs = STALE_IF_ERROR_MS - 1;
    expect(cache.staleIfError("a")).not.toBeNull();
    expect(cache.fresh("a")).toEqual({ text: "one" });
    time.nowMs += 1;
    expect(cache.fresh("a")).toBeNull();
  });

  it("is never kept for a missing record", async () => {
    const { cache } = cacheAt(0);
    expect(await cache.read("a", load(null), false)).toEqual({ record: null, joined: false });
    expect(await cache.read("a", load("made"), false)).toEqual({ record: { text: "made" }, joined: false });
    expect(await cache.read("a", load(null), true)).toEqual({ record: null, joined: false });
    expect(cache.fresh("a")).toBeNull();
  });

  it("is removed above the limit of bytes, the oldest first", async () => {
    const { cache } = cacheAt(0, 300);
    for (const name of ["a", "b", "c"]) await cache.read(name, load("x".repeat(50)), false);
    expect({ a: cache.fresh("a"), c: cache.fresh("c") }).toEqual({ a: null, c: { text: "x".repeat(50) } });
  });
});

describe("reads at the same time", () => {
  it("share one read of the store; a forced read is separate", async () => {
    const { cache } = cacheAt(0);
    const first = Promise.withResolvers<Note>();
    let asked = 0;
    const slow = async () => {
      asked += 1;
      return await first.promise;
    };
    const both = Promise.all([cache.read("a", slow, false), cache.read("a", slow, false)]);
    expect(await cache.read("a", load("new"), true)).toEqual({ record: { text: "new" }, joined: false });
    first.resolve({ text: "old" });
    const old = { text: "old" };
    expect(await both).toEqual([
      { record: old, joined: false },
      { record: old, joined: true },
    ]);
    expect(asked).toBe(1);
  });

  it.each([
    ["replaces a newer copy", "old", "new", { text: "new" }],
    ["restores a deleted record", "old", null, null],
    ["removes a newer copy", null, "new", { text: "new" }],
  ])("that end out of order: the slow one never %s", async (_, earlier, later, left) => {
    const { cache } = cacheAt(0);
    const slow = Promise.withResolvers<Note | null>();
    const reading = cache.read("a", async () => await slow.promise, false);
    await cache.read("a", load(later), true);
    slow.resolve(earlier === null ? null : { text: earlier });
    await reading;
    expect(cache.fresh("a")).toEqual(left);
    await cache.read("a", load("last"), false);
    expect(cache.fresh("a")).toEqual({ text: "last" });
  });

  it("restore nothing that was dropped meanwhile", async () => {
    const { cache } = cacheAt(0);
    const reply = Promise.withResolvers<Note>();
    const reading = cache.read("a", async () => await reply.promise, false);
    cache.distrust();
    reply.resolve({ text: "dropped" });
    await reading;
    expect({ fresh: cache.fresh("a"), staleIfError: cache.staleIfError("a") }).toEqual({
      fresh: null,
      staleIfError: null,
    });
  });

  const changes: readonly [string, (cache: RecordCache<Note>) => void][] = [
    ["`distrust`", (cache) => cache.distrust()],
    ["`clear`", (cache) => cache.clear()],
  ];
  it.each(changes)("that started before %s are neither joined nor stored", async (_, change) => {
    const { cache } = cacheAt(0);
    const reply = Promise.withResolvers<Note>();
    const reading = cache.read("a", async () => await reply.promise, false);
    change(cache);
    let readAgain = false;
    const next = cache.read(
      "a",
      async () => {
        readAgain = true;
        return { text: "new" };
      },
      false,
    );
    expect(readAgain).toBe(true);
    reply.resolve({ text: "old" });
    await Promise.all([reading, next]);
    expect(await next).toEqual({ record: { text: "new" }, joined: false });
    expect(cache.fresh("a")).toEqual({ text: "new" });
  });
});

describe("a drop", () => {
  it("removes only old copies, and says whether it removed one", async () => {
    const { cache } = cacheAt(0);
    for (const name of ["a", "b"]) await cache.read(name, load(name), false);
    expect(cache.drop("a", ({ text }) => text === "z")).toBe(false);
    expect(cache.dropWhere(({ text }) => text === "a")).toBe(true);
    expect(cache.dropWhere(({ text }) => text === "a")).toBe(false);
    expect({ a: cache.fresh("a"), b: cache.fresh("b") }).toEqual({ a: null, b: { text: "b" } });
  });
});

it("a later read does not wait for one whose request was cut off", async () => {
  const { cache, kept } = cacheAt(0);
  void cache.read("a", async () => await new Promise<never>(() => {}), false);
  expect(kept).toHaveLength(1);
  expect(await cache.read("a", load("own"), false)).toEqual({ record: { text: "own" }, joined: false });
  expect(cache.fresh("a")).toEqual({ text: "own" });
});
