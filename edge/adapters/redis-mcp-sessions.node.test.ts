/** Who owns a session of an MCP server, also while the store is unavailable (docs/rules/mcp.md#sessions). */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Listening } from "../../infra/local/http/listen.ts";
import { type Backend, RedisUnavailable } from "../../infra/local/redis/backend.ts";
import { startRedisBridge } from "../../infra/local/redis/bridge.ts";
import { memoryBackend } from "../../infra/local/redis/memory-backend.ts";
import { sha256Hex } from "../../shared/crypto/sha256.ts";
import { storeKeys } from "../../shared/records.ts";
import { RedisClient, StoreDown } from "./redis-client.ts";
import { RedisMcpSessions } from "./redis-mcp-sessions.ts";

/** A store that several isolates use, and that can be unavailable. */
const backend = memoryBackend();
let isAway = false;
const store: Backend = {
  ...backend,
  call: async (command) => {
    if (isAway) throw new RedisUnavailable("away");
    return await backend.call(command);
  },
};
let bridge: Listening;
let nowMs = 1_000_000;

beforeAll(async () => {
  bridge = await startRedisBridge({ backend: store, token: "token" });
});
afterAll(async () => {
  await bridge.close();
});
beforeEach(async () => {
  await backend.call(["FLUSHDB"]);
  isAway = false;
});

function isolateOf(perTenant = 1_000) {
  const clock = (): number => nowMs;
  const client = new RedisClient({ url: bridge.url, token: "token" }, clock, { event: () => undefined });
  return new RedisMcpSessions({ client, clock, perTenant });
}

const indexed = async (tenantId: string) => Number(await backend.call(["ZCARD", storeKeys.mcpSessionsOf(tenantId)]));

describe("the owner of a session", () => {
  it("is known to every isolate while the store is there", async () => {
    await isolateOf().remember("s", ["a"], "t");
    expect(await isolateOf().owners("s", ["a", "b"])).toEqual(["t"]);
    expect(await isolateOf().owners("other", ["a"])).toEqual([]);
  });

  it("is still known to an isolate that has seen it while the store is away, and to no other", async () => {
    const [maker, reader, stranger] = [isolateOf(), isolateOf(), isolateOf()];
    await maker.remember("s", ["a"], "t");
    await reader.owners("s", ["a"]);
    isAway = true;
    expect({ maker: await maker.owners("s", ["a"]), reader: await reader.owners("s", ["a"]) }).toEqual({
      maker: ["t"],
      reader: ["t"],
    });
    await expect(stranger.owners("s", ["a"])).rejects.toThrow(StoreDown);
  });

  it("is not known of several sessions while one is unknown and the store is away", async () => {
    const sessions = isolateOf();
    await sessions.remember("s", ["a"], "t");
    isAway = true;
    await expect(sessions.owners("s", ["a", "b"])).rejects.toThrow(StoreDown);
  });

  it("is nobody once the session has ended", async () => {
    const sessions = isolateOf();
    await sessions.remember("s", ["a"], "t");
    await sessions.forget("s", ["a"], "t");
    expect(await sessions.owners("s", ["a"])).toEqual([]);
    isAway = true;
    await expect(sessions.owners("s", ["a"])).rejects.toThrow(StoreDown);
  });
});

describe("the sessions of a tenant", () => {
  it("are at most as many as it may have: those that were not used for longest are forgotten", async () => {
    const sessions = isolateOf(3);
    for (const id of ["a", "b", "c"]) {
      nowMs += 1_000;
      await sessions.remember("s", [id], "t");
    }
    await sessions.remember("s", ["of another"], "other");
    nowMs += 1_000;
    await sessions.renew("s", ["a"], "t");
    await sessions.remember("s", ["d"], "t");
    for (const isolate of [sessions, isolateOf()]) {
      const owners = await Promise.all(["a", "b", "c", "d"].map(async (id) => await isolate.owners("s", [id])));
      expect(owners).toEqual([["t"], [], ["t"], ["t"]]);
    }
    expect(await isolateOf().owners("s", ["of another"])).toEqual(["other"]);
    expect({ own: await indexed("t"), other: await indexed("other") }).toEqual({ own: 3, other: 1 });
  });

  it("do not count once they have ended, and take none that another tenant has by now", async () => {
    const sessions = isolateOf(2);
    await sessions.remember("s", ["a"], "t");
    await sessions.forget("s", ["a"], "t");
    expect(await indexed("t")).toBe(0);
    nowMs += 1_000;
    await sessions.remember("s", ["b"], "t");
    await backend.call(["SET", storeKeys.mcpSession("s", sha256Hex("b")), "other"]);
    nowMs += 1_000;
    await sessions.remember("s", ["c", "d"], "t");
    expect(await isolateOf().owners("s", ["b", "c", "d"])).toEqual(["other", "t", "t"]);
    expect(await indexed("t")).toBe(2);
  });

  it("are renewed only where they are the tenant's", async () => {
    const sessions = isolateOf();
    await sessions.renew("s", ["nobody's"], "t");
    expect(await sessions.owners("s", ["nobody's"])).toEqual([]);
  });
});
