/** Whose a session of an MCP server is, also while the store is away (docs/rules/mcp.md#sessions). */
import { describe, expect, it } from "vitest";
import type { RedisClient } from "./redis-client.ts";
import { StoreDown } from "./redis-client.ts";
import { RedisMcpSessions } from "./redis-mcp-sessions.ts";

/** A store that several isolates use, and that can be away. */
class Store {
  readonly values = new Map<string, string>();
  isAway = false;

  async run<T>(work: (redis: never) => Promise<T>): Promise<T> {
    if (this.isAway) throw new StoreDown("away");
    const { values } = this;
    const pipeline = {
      set: (name: string, value: string) => values.set(name, value),
      expire: () => undefined,
      exec: async () => [],
    };
    const redis = {
      mget: async (...names: readonly string[]) => names.map((name) => values.get(name) ?? null),
      del: async (...names: readonly string[]) => names.map((name) => values.delete(name)).length,
      pipeline: () => pipeline,
    };
    return await work(redis as never);
  }
}

const isolateOf = (store: Store) => new RedisMcpSessions(store as unknown as Pick<RedisClient, "run">);

describe("the owner of a session", () => {
  it("is known to every isolate while the store is there", async () => {
    const store = new Store();
    await isolateOf(store).remember("s", ["a"], "t");
    expect(await isolateOf(store).owners("s", ["a", "b"])).toEqual(["t"]);
    expect(await isolateOf(store).owners("other", ["a"])).toEqual([]);
  });

  it("is still known to an isolate that has seen it while the store is away, and to no other", async () => {
    const store = new Store();
    const [maker, reader, stranger] = [isolateOf(store), isolateOf(store), isolateOf(store)];
    await maker.remember("s", ["a"], "t");
    await reader.owners("s", ["a"]);
    store.isAway = true;
    expect({ maker: await maker.owners("s", ["a"]), reader: await reader.owners("s", ["a"]) }).toEqual({
      maker: ["t"],
      reader: ["t"],
    });
    await expect(stranger.owners("s", ["a"])).rejects.toThrow(StoreDown);
  });

  it("cannot be said of several sessions of which one is unknown while the store is away", async () => {
    const store = new Store();
    const sessions = isolateOf(store);
    await sessions.remember("s", ["a"], "t");
    store.isAway = true;
    await expect(sessions.owners("s", ["a", "b"])).rejects.toThrow(StoreDown);
  });

  it("is nobody once the session has ended", async () => {
    const store = new Store();
    const sessions = isolateOf(store);
    await sessions.remember("s", ["a"], "t");
    await sessions.forget("s", ["a"]);
    expect(await sessions.owners("s", ["a"])).toEqual([]);
    store.isAway = true;
    await expect(sessions.owners("s", ["a"])).rejects.toThrow(StoreDown);
  });
});
