/** Originals in the store: under which names and for how long they are kept, and what happens when the store fails. */
import { expect, it } from "vitest";
import { storeKeys } from "../../shared/records.ts";
import { CacheStore } from "../../test/harness/edge/cache-store.ts";
import { RedisOriginals } from "./redis-originals.ts";

it("keeps a tenant's texts in one call, each for its time", async () => {
  const store = new CacheStore(0);
  const texts = new Map([
    ["aa", "first"],
    ["bb", "second"],
  ]);
  expect(await new RedisOriginals(store).keep("t", texts, 60)).toBe(true);
  expect(store.calls).toEqual([["set ref:t:aa 60", "set ref:t:bb 60"]]);
  expect(store.values.get(storeKeys.original("t", "bb"))?.text).toBe("second");
});

it("keeps nothing that a store would refuse: then no call fails that others need", async () => {
  const store = new CacheStore(0);
  const originals = new RedisOriginals(store);
  expect(await originals.keep("t", new Map([["aa", "x".repeat(300_000)]]), 60)).toBe(false);
  expect(store.calls).toEqual([]);
  await originals.keep("t", new Map([["aa", "x"]]), Number.MAX_SAFE_INTEGER);
  expect(store.calls).toEqual([[`set ref:t:aa ${2 ** 31 - 1}`]]);
});

it("reports a failure of the store", async () => {
  const store = new CacheStore(0);
  store.isDown = true;
  expect(await new RedisOriginals(store).keep("t", new Map([["aa", "x"]]), 60)).toBe(false);
  expect(await new RedisOriginals(store).load("t", "aa")).toBeNull();
});

it("reads a text back for its own tenant only", async () => {
  const known = new Map([[storeKeys.original("t", "aa"), "text"]]);
  const redis = { get: async (name: string) => known.get(name) ?? null };
  const originals = new RedisOriginals({
    run: async (work) => await work(redis as unknown as Parameters<typeof work>[0]),
  });
  expect(await originals.load("t", "aa")).toBe("text");
  expect(await originals.load("other", "aa")).toBeNull();
});
