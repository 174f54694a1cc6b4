/** A response cache whose store fails: a miss that the operators hear of, never an error (decisions §21, §35). */
import { describe, expect, it } from "vitest";
import type { Issue } from "../../shared/alerts.ts";
import { keyOf } from "../pipeline/testing/records.ts";
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
};

/** A cache over a store that answers with these texts, or not at all. */
function cacheOver(answer: readonly (string | null)[] | null) {
  const raised: Issue[] = [];
  const run = async (work: (redis: never) => Promise<unknown>): Promise<unknown> => {
    if (answer === null) throw new StoreDown("the store did not answer");
    return await work({ mget: async () => answer, set: async () => "OK" } as never);
  };
  const cache = new RedisResponseCache({ run } as unknown as RedisClient, {
    raise: (issue) => void raised.push(issue),
  });
  return { cache, raised };
}

describe("the response cache", () => {
  it("answers entry and key together", async () => {
    const { cache, raised } = cacheOver([JSON.stringify(ENTRY), JSON.stringify(keyOf())]);
    expect(await cache.lookup("t", "d", "hash")).toEqual({ entry: ENTRY, key: keyOf() });
    await cache.store("t", "d", ENTRY, 60);
    expect(raised).toEqual([]);
  });

  it.each([
    ["a store that is away", null, "the store did not answer"],
    ["an entry that is no JSON", ["{", null], "unreadable entry"],
  ])("takes %s for a miss, and says so", async (_, answer, reason) => {
    const { cache, raised } = cacheOver(answer);
    expect(await cache.lookup("t", "d", "hash")).toEqual({ entry: null, key: null });
    expect(raised).toMatchObject([
      { issueKey: "redis_cache_lookup_failed", detail: `${reason}; request admitted (fail-open)` },
    ]);
  });

  it("fails nobody when an answer cannot be stored", async () => {
    const { cache, raised } = cacheOver(null);
    await cache.store("t", "d", ENTRY, 60);
    expect(raised.map(({ issueKey }) => issueKey)).toEqual(["redis_cache_store_failed"]);
  });
});
