/** A response cache whose store fails: a miss that the operators hear of, never an error (decisions §21, §35). */
import { describe, expect, it } from "vitest";
import type { Issue } from "../../shared/alerts.ts";
import type { CacheEntry } from "../ports.ts";
import { type RedisClient, StoreDown } from "./redis-client.ts";
import { RedisResponseCache } from "./redis-response-cache.ts";

const ENTRY: CacheEntry = {
  v: 1,
  path: "/v1/chat/completions",
  status: 200,
  content_type: "application/json",
  body_b64: "",
  input_tokens: 1,
  output_tokens: 2,
  stored_at_ms: 0,
  origin: "of a model",
};

/** A cache over a store that answers with this text (null: it has none), or, undefined, not at all. */
function cacheOver(answer: string | null | undefined) {
  const raised: Issue[] = [];
  const run = async (work: (redis: never) => Promise<unknown>): Promise<unknown> => {
    if (answer === undefined) throw new StoreDown("the store did not answer");
    return await work({ get: async () => answer, set: async () => "OK" } as never);
  };
  const cache = new RedisResponseCache({ run } as unknown as RedisClient, {
    raise: (issue) => void raised.push(issue),
  });
  return { cache, raised };
}

describe("the response cache", () => {
  it("answers what is stored, and nothing of an earlier form", async () => {
    const { cache, raised } = cacheOver(JSON.stringify(ENTRY));
    expect(await cache.lookup("t", "d")).toEqual(ENTRY);
    const { origin: _, ...earlier } = ENTRY;
    expect(await cacheOver(JSON.stringify(earlier)).cache.lookup("t", "d")).toBeNull();
    expect(await cacheOver(null).cache.lookup("t", "d")).toBeNull();
    await cache.store("t", "d", ENTRY, 60);
    expect(raised).toEqual([]);
  });

  it.each([
    ["a store that is away", undefined, "the store did not answer"],
    ["an entry that is no JSON", "{", "unreadable entry"],
  ])("takes %s for a miss, and says so", async (_, answer, reason) => {
    const { cache, raised } = cacheOver(answer);
    expect(await cache.lookup("t", "d")).toBeNull();
    expect(raised).toMatchObject([
      { issueKey: "redis_cache_lookup_failed", detail: `${reason}; request admitted (fail-open)` },
    ]);
  });

  it("fails nobody when an answer cannot be stored", async () => {
    const { cache, raised } = cacheOver(undefined);
    await cache.store("t", "d", ENTRY, 60);
    expect(raised.map(({ issueKey }) => issueKey)).toEqual(["redis_cache_store_failed"]);
  });
});
