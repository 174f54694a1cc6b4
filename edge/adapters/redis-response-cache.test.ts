/**
 * The response cache over its store: what is sent in one call, what needs no call, and what happens when the store
 * fails (docs/rules/response-cache.md#hits, docs/rules/alerts.md#issues-and-texts).
 */
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { Issue } from "../../shared/alerts.ts";
import { storeKeys } from "../../shared/records.ts";
import { CacheStore } from "../../test/harness/edge/cache-store.ts";
import type { CacheEntry } from "../ports.ts";
import { ISOLATE_MAX_AGE_MS, IsolateResponseCache } from "./isolate-response-cache.ts";
import { RedisResponseCache } from "./redis-response-cache.ts";

const START_MS = 1_700_000_000_000;
const ROOM = { open: () => ({ grow: () => true, close: () => undefined }) };

const entryOf = (changes: Partial<CacheEntry> = {}): CacheEntry => ({
  v: 1,
  path: "/v1/chat/completions",
  status: 200,
  content_type: "application/json",
  body: new Uint8Array([123, 125, 0, 255]),
  input_tokens: 1,
  output_tokens: 2,
  stored_at_ms: START_MS,
  origin: "of a model",
  ...changes,
});

/** An isolate that uses a store. */
function isolate(store: CacheStore) {
  const raised: Issue[] = [];
  const state = { epoch: 0, released: 0 };
  const clock = () => store.nowMs;
  const cache = new RedisResponseCache({
    client: store,
    hot: new IsolateResponseCache(ROOM, clock, () => state.epoch),
    clock,
    keepAlive: () => undefined,
    alerts: { raise: (issue) => void raised.push(issue) },
  });
  const put = (digest: string, entry = entryOf(), ttlSecs = 600): void => {
    cache.store("t", digest, entry, ttlSecs, () => {
      state.released += 1;
    });
  };
  /** Looks up, and waits as long as lookups are gathered. */
  const look = async (digest: string, tenantId = "t"): Promise<CacheEntry | null> => {
    const found = cache.lookup(tenantId, digest);
    await vi.advanceTimersByTimeAsync(3);
    return await found;
  };
  return { cache, raised, state, put, look };
}

const name = (digest: string): string => storeKeys.cache("t", digest);
let store: CacheStore;

/** Advances timers and the clock. */
async function pass(ms: number): Promise<void> {
  store.nowMs += ms;
  await vi.advanceTimersByTimeAsync(ms);
}

beforeEach(() => {
  vi.useFakeTimers();
  store = new CacheStore(START_MS);
});

describe("an answer that is stored", () => {
  it("is kept in memory only while its tenant has a megabyte of others that wait for the store", async () => {
    const own = isolate(store);
    const large = entryOf({ body: new Uint8Array(400 * 1024) });
    for (const digest of ["a", "b", "c"]) own.put(digest, large);
    expect(own.state.released).toBe(1);
    await pass(20);
    expect({
      released: own.state.released,
      stored: store.calls.flat().filter((call) => call.startsWith("set")).length,
    }).toEqual({ released: 3, stored: 2 });
    own.put("d", large);
    await pass(20);
    expect({ found: (await isolate(store).look("d")) !== null, inMemory: (await own.look("c")) !== null }).toEqual({
      found: true,
      inMemory: true,
    });
  });

  it("is found unchanged by another isolate, with its time to live", async () => {
    const [first, second] = [isolate(store), isolate(store)];
    first.put("a", entryOf(), 7);
    expect(await second.look("a")).toBeNull();
    await pass(10);
    expect(store.calls.at(-1)).toEqual([`set ${name("a")} 7`]);
    expect(await second.look("a")).toEqual(entryOf());
    await pass(7000);
    expect(await second.look("a")).toBeNull();
    expect([...first.raised, ...second.raised]).toEqual([]);
  });

  it("is sent with the others of its moment in one call, and releases its body when it is stored", async () => {
    const { put, state } = isolate(store);
    for (const digest of ["a", "b", "c"]) put(digest);
    await pass(9);
    expect({ calls: store.calls, released: state.released }).toEqual({ calls: [], released: 0 });
    await pass(1);
    expect(store.calls).toEqual([["a", "b", "c"].map((digest) => `set ${name(digest)} 600`)]);
    expect(state.released).toBe(3);
  });

  it("is sent at once when it is large, and alone when it is larger than a call may be", async () => {
    const { put } = isolate(store);
    const sized = (bytes: number) => entryOf({ body: new Uint8Array(bytes) });
    put("a", sized(100 * 1024));
    put("b", sized(512 * 1024));
    await pass(0);
    expect(store.calls.map((call) => call.length)).toEqual([1, 1]);
    expect(store.values.size).toBe(2);
  });

  it("is found by its own isolate at once, without a call, for a minute", async () => {
    const { put, look } = isolate(store);
    put("a");
    expect(await look("a")).toEqual(entryOf());
    await pass(10);
    await pass(ISOLATE_MAX_AGE_MS - 11);
    expect(await look("a")).toEqual(entryOf());
    expect(store.calls.flat()).toEqual([`set ${name("a")} 600`]);
    await pass(1);
    expect(await look("a")).toEqual(entryOf());
    expect(store.calls.at(-1)).toEqual([`get ${name("a")}`]);
    expect(await look("a", "another tenant")).toBeNull();
  });

  it("is read again after a resync: what was removed from the store is gone", async () => {
    const [first, second] = [isolate(store), isolate(store)];
    first.put("a");
    await pass(10);
    expect(await second.look("a")).toEqual(entryOf());
    store.values.clear();
    for (const { look, state } of [first, second]) {
      expect(await look("a")).toEqual(entryOf());
      state.epoch = 5;
      expect(await look("a")).toBeNull();
    }
  });

  it("is not kept when a resync came while it was looked up", async () => {
    const [first, second] = [isolate(store), isolate(store)];
    first.put("a");
    await pass(10);
    const gate = Promise.withResolvers<void>();
    store.answering = gate.promise;
    const found = second.cache.lookup("t", "a");
    second.state.epoch = 5;
    gate.resolve();
    expect(await found).toEqual(entryOf());
    store.values.clear();
    expect(await second.look("a")).toBeNull();
  });
});

describe("an answer whose request is cut off", () => {
  it("is stored with the next one, for the rest of its time to live", async () => {
    const [first, second] = [isolate(store), isolate(store)];
    first.put("a", entryOf(), 7);
    vi.clearAllTimers();
    await pass(4500);
    first.put("b", entryOf({ stored_at_ms: store.nowMs }), 7);
    await pass(10);
    expect(store.calls).toEqual([[`set ${name("a")} 3`, `set ${name("b")} 7`]]);
    expect(await second.look("a")).toEqual(entryOf());
    // Stores count whole seconds: this one still has the answer.
    await pass(2489);
    expect(await second.look("a")).not.toBeNull();
    await pass(1);
    expect(await second.look("a")).toBeNull();
  });

  it("is not stored once it has expired", async () => {
    const { put, state } = isolate(store);
    put("a", entryOf(), 2);
    vi.clearAllTimers();
    await pass(2000);
    put("b", entryOf({ stored_at_ms: store.nowMs }));
    await pass(10);
    expect({ calls: store.calls, released: state.released }).toEqual({
      calls: [[`set ${name("b")} 600`]],
      released: 2,
    });
  });

  it("is not stored seconds later, when it may have been removed", async () => {
    const { put, state } = isolate(store);
    put("a");
    vi.clearAllTimers();
    await pass(5000);
    put("b");
    await pass(10);
    expect({ calls: store.calls, released: state.released }).toEqual({
      calls: [[`set ${name("b")} 595`]],
      released: 2,
    });
  });

  it("is not stored after a resync, and the store is not called in vain", async () => {
    const { put, state } = isolate(store);
    put("a");
    state.epoch = 5;
    await pass(10);
    expect({ calls: store.calls, released: state.released }).toEqual({ calls: [], released: 1 });
  });

  it.each([
    ["before it has called the store", () => void vi.clearAllTimers()],
    ["while it waits for the store", () => undefined],
  ])("%s releases its memory once, at a later lookup", async (_, cutOff) => {
    store.answering = new Promise(() => undefined);
    const { put, look, state } = isolate(store);
    put("a");
    cutOff();
    await pass(10);
    store.answering = Promise.resolve();
    await look("b");
    expect(state.released).toBe(0);
    await pass(4990);
    await look("b");
    expect(state.released).toBe(1);
    put("c");
    await pass(10);
    expect(state.released).toBe(2);
  });
});

describe("lookups", () => {
  it("are sent at once after a quiet moment, else together a few ms later, eight per call", async () => {
    const { cache } = isolate(store);
    const first = cache.lookup("t", "first");
    const more = Array.from({ length: 10 }, async (_, at) => await cache.lookup("t", `${at}`));
    await pass(3);
    expect(await Promise.all([first, ...more])).toEqual(Array(11).fill(null));
    expect(store.calls.map((call) => call.length)).toEqual([1, 8, 2]);
  });

  it("are sent even if their clock was set back", async () => {
    const { cache } = isolate(store);
    await cache.lookup("t", "a");
    store.nowMs -= 60_000;
    expect(await cache.lookup("t", "b")).toBeNull();
    expect(store.calls).toHaveLength(2);
  });

  it("that joined a request that was cut off are reported misses; later ones are answered", async () => {
    const { cache, raised } = isolate(store);
    store.answering = new Promise(() => undefined);
    void cache.lookup("t", "lost");
    await pass(1);
    const joined = [cache.lookup("t", "a"), cache.lookup("t", "b")];
    await pass(2);
    store.answering = Promise.resolve();
    await pass(500);
    expect(await Promise.all(joined)).toEqual([null, null]);
    expect(raised.map(({ issueKey }) => issueKey)).toEqual(Array(2).fill("redis_cache_lookup_failed"));
    expect(await cache.lookup("t", "c")).toBeNull();
  });
});

describe("a store that fails", () => {
  it.each([
    ["an entry of an earlier form", JSON.stringify({ v: 1, body_b64: "" }), []],
    ["an entry that is no JSON", "{", ["unreadable entry; request admitted (fail-open)"]],
  ])("with %s is a miss", async (_, text, details) => {
    const { cache, raised } = isolate(store);
    store.values.set(name("a"), { text, untilMs: START_MS + 1 });
    expect(await cache.lookup("t", "a")).toBeNull();
    expect(raised.map(({ detail }) => detail)).toEqual(details);
  });

  it("is a miss, and keeps no request from its answer", async () => {
    store.isDown = true;
    const { cache, raised, state, put } = isolate(store);
    expect(await cache.lookup("t", "a")).toBeNull();
    put("a");
    put("b");
    await pass(10);
    expect(state.released).toBe(2);
    expect(raised.map(({ issueKey }) => issueKey)).toEqual([
      "redis_cache_lookup_failed",
      "redis_cache_store_failed",
      "redis_cache_store_failed",
    ]);
    expect(raised[0]?.detail).toBe("the store did not answer; request admitted (fail-open)");
  });
});
