/**
 * The answers that every store behind the bridge must give over the Upstash REST protocol: of the embedded store and, where
 * the binary is on the machine, of a real redis-server.
 *
 * @module-tag check
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "@upstash/redis";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { rootCause } from "../../../shared/text/root-cause.ts";
import type { Listening } from "../http/listen.ts";
import type { Backend } from "./backend.ts";
import { startRedisBridge } from "./bridge.ts";
import { memoryBackend } from "./memory-backend.ts";
import { realBackend } from "./real-backend.ts";

const TOKEN = "conformance-token";

/** A store under test, and a function that ends it. */
interface Subject {
  readonly backend: Backend;
  stop(): Promise<void>;
}

/** Declares the suite's tests in the surrounding describe block. */
function conformance(start: () => Promise<Subject>): void {
  let bridge: Listening;
  let backend: Backend;
  let redis: Redis;
  let stop: () => Promise<void>;

  beforeAll(async () => {
    const started = await start();
    backend = started.backend;
    stop = () => started.stop();
    bridge = await startRedisBridge({ backend, token: TOKEN, maxBodyBytes: 1_000_000 });
    redis = new Redis({ url: bridge.url, token: TOKEN, retry: false, automaticDeserialization: false });
  });
  afterAll(async () => {
    await bridge.close();
    await backend.close();
    await stop();
  });

  const raw = async (body: unknown, path = "/", headers: Record<string, string> = {}) => {
    const response = await fetch(`${bridge.url}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${TOKEN}`, ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
    return { status: response.status, body: (await response.json()) as unknown };
  };
  const run = async (...command: (string | number)[]) => {
    const { body } = await raw(command);
    return (body as { result?: unknown; error?: string }).error ?? (body as { result: unknown }).result;
  };

  /** The rest of `secs` seconds that a key got at `sinceMs`, to the nearest second. */
  const expectTtl = async (key: string, secs: number, sinceMs: number): Promise<void> => {
    const ttl = await run("TTL", key);
    expect(ttl).toBeLessThanOrEqual(secs);
    expect(ttl).toBeGreaterThanOrEqual(Math.round(secs - (Date.now() - sinceMs) / 1000));
  };

  it("refuses a request without its token, also to subscribe", async () => {
    for (const authorization of ["", "Bearer ", "Bearer wrong", `Basic ${TOKEN}`]) {
      const response = await fetch(bridge.url, { method: "POST", headers: { authorization }, body: '["PING"]' });
      expect(response.status).toBe(401);
      expect((await fetch(`${bridge.url}/subscribe/x`, { headers: { authorization } })).status).toBe(401);
    }
  });

  it("refuses what is not a command", async () => {
    for (const body of ["", "{", "[]", "{}", '[["GET"]]', "[null]", '[""]']) {
      expect(await raw(body)).toEqual({ status: 400, body: { error: "ERR failed to parse command" } });
    }
    expect((await raw(["PING"], "/nowhere")).status).toBe(404);
    expect((await raw(["NOSUCH", "x"])).body).toEqual({
      error: expect.stringMatching(/^ERR unknown command 'NOSUCH'/),
    });
    expect((await raw(["GET"])).status).toBe(400);
  });

  it("caps the body", async () => {
    expect((await raw(["SET", "big", "x".repeat(1_100_000)])).status).toBe(413);
    expect(await run("GET", "big")).toBeNull();
  });

  it("sets and gets text of any kind", async () => {
    for (const value of ["", "v", "OK", "ünïcode 🦊", "line\nline\0end", "123", '{"a":[1]}']) {
      expect(await redis.set("t", value)).toBe("OK");
      expect(await redis.get("t")).toBe(value);
      expect(await run("GET", "t")).toBe(value);
    }
    expect(await redis.get("none")).toBeNull();
    expect(await run("set", "lower", 5)).toBe("OK");
    expect(await run("MGET", "lower", "none", "t")).toEqual(["5", null, '{"a":[1]}']);
  });

  it("encodes every string but a top-level OK when asked to", async () => {
    const encoded = { "upstash-encoding": "base64" };
    await run("SET", "e", "OK");
    expect((await raw(["SET", "e2", "x"], "/", encoded)).body).toEqual({ result: "OK" });
    expect((await raw(["MGET", "e", "e2", "e3"], "/", encoded)).body).toEqual({ result: ["T0s=", "eA==", null] });
    expect(
      (
        await raw(
          [
            ["GET", "e2"],
            ["EXISTS", "e2"],
          ],
          "/pipeline",
          encoded,
        )
      ).body,
    ).toEqual([{ result: "eA==" }, { result: 1 }]);
  });

  it("sets under conditions", async () => {
    await run("DEL", "c");
    expect(await run("SET", "c", "1", "XX")).toBeNull();
    const setMs = Date.now();
    expect(await run("SET", "c", "1", "NX", "EX", 100)).toBe("OK");
    expect(await run("SET", "c", "2", "NX")).toBeNull();
    expect(await run("SET", "c", "3", "XX", "KEEPTTL")).toBe("OK");
    await expectTtl("c", 100, setMs);
    expect(await run("SET", "c", "4")).toBe("OK");
    expect(await run("TTL", "c")).toBe(-1);
    for (const options of [["NX", "XX"], ["EX"], ["EX", "1", "PX", "1"], ["EX", "1", "KEEPTTL"], ["WHAT"]]) {
      expect(await run("SET", "c", "5", ...options)).toBe("ERR syntax error");
    }
    expect(await run("SET", "c", "5", "EX", "0")).toBe("ERR invalid expire time in 'set' command");
    expect(await run("SET", "c", "5", "PX", "1.5")).toBe("ERR value is not an integer or out of range");
    expect(await run("GET", "c")).toBe("4");
  });

  it("lets keys expire", async () => {
    const setMs = Date.now();
    expect(await run("SETEX", "x", 50, "v")).toBe("OK");
    await expectTtl("x", 50, setMs);
    const left = await run("PTTL", "x");
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThanOrEqual(50_000);
    expect({ ttl: await run("TTL", "none"), pttl: await run("PTTL", "none") }).toEqual({ ttl: -2, pttl: -2 });
    const prolongedMs = Date.now();
    expect(await run("PEXPIRE", "x", 90_000)).toBe(1);
    await expectTtl("x", 90, prolongedMs);
    expect(await run("EXPIRE", "none", 5)).toBe(0);
    expect(await run("EXPIRE", "x", 0)).toBe(1);
    expect(await run("EXISTS", "x")).toBe(0);
    await run("SET", "short", "v", "PX", 20);
    await expect.poll(() => run("EXISTS", "short")).toBe(0);
    expect(await run("GET", "short")).toBeNull();
  });

  it("counts", async () => {
    await run("DEL", "n");
    expect([await run("INCR", "n"), await run("INCR", "n")]).toEqual([1, 2]);
    expect(await run("MSET", "m1", "a", "m2", "b")).toBe("OK");
    expect(await run("MSET", "m1", "a", "m2")).toBe("ERR wrong number of arguments for 'mset' command");
    expect(await run("INCR", "m1")).toBe("ERR value is not an integer or out of range");
    expect(await run("EXISTS", "m1", "m1", "none")).toBe(2);
    expect(await run("DEL", "m1", "m1", "m2", "none")).toBe(2);
  });

  it("keeps sets", async () => {
    await run("DEL", "s");
    expect(await run("SADD", "s", "a", "b", "a")).toBe(2);
    expect(((await run("SMEMBERS", "s")) as string[]).toSorted()).toEqual(["a", "b"]);
    expect({ member: await run("SISMEMBER", "s", "a"), other: await run("SISMEMBER", "s", "z") }).toEqual({
      member: 1,
      other: 0,
    });
    const setMs = Date.now();
    expect(await run("EXPIRE", "s", 100)).toBe(1);
    expect(await run("SREM", "s", "a", "z")).toBe(1);
    await expectTtl("s", 100, setMs);
    expect(await run("SREM", "s", "b")).toBe(1);
    expect({ exists: await run("EXISTS", "s"), members: await run("SMEMBERS", "s") }).toEqual({
      exists: 0,
      members: [],
    });
  });

  it("keeps hashes", async () => {
    await run("DEL", "h");
    expect(await run("HSET", "h", "a", "1", "b", "2")).toBe(2);
    expect(await run("HSET", "h", "a", "3", "c", "4")).toBe(1);
    expect({
      field: await run("HGET", "h", "a"),
      absentField: await run("HGET", "h", "z"),
      absentHash: await run("HGET", "none", "a"),
    }).toEqual({ field: "3", absentField: null, absentHash: null });
    expect(await run("HGETALL", "h")).toEqual(["a", "3", "b", "2", "c", "4"]);
    expect(await run("HGETALL", "none")).toEqual([]);
    expect({ names: await run("HKEYS", "h"), none: await run("HKEYS", "none") }).toEqual({
      names: ["a", "b", "c"],
      none: [],
    });
    expect(await run("HSET", "h", "a")).toBe("ERR wrong number of arguments for 'hset' command");
    expect(await run("HDEL", "h", "a", "z")).toBe(1);
    expect({ first: await run("HSETNX", "h", "x", "1"), second: await run("HSETNX", "h", "x", "2") }).toEqual({
      first: 1,
      second: 0,
    });
    expect(await run("HGET", "h", "x")).toBe("1");
    expect(await run("HINCRBY", "h", "n", "5")).toBe(5);
    expect(await run("HINCRBY", "h", "n", "-7")).toBe(-2);
  });

  it("keeps sorted sets, by score and then by member", async () => {
    await run("DEL", "z");
    expect(await run("ZADD", "z", 2, "b", 1, "c", 2, "a")).toBe(3);
    expect(await run("ZADD", "z", 3, "c", 1, "d")).toBe(1);
    const setMs = Date.now();
    expect(await run("EXPIRE", "z", 100)).toBe(1);
    expect({
      all: await run("ZRANGE", "z", 0, -1),
      scores: await run("ZRANGE", "z", 0, 1, "WITHSCORES"),
      oldest: await run("ZRANGE", "z", 0, -4, "WITHSCORES"),
      none: await run("ZRANGE", "z", 0, -5),
      outside: await run("ZRANGE", "z", -9, 9),
      absent: await run("ZRANGE", "none", 0, -1),
    }).toEqual({
      all: ["d", "a", "b", "c"],
      scores: ["d", "1", "a", "2"],
      oldest: ["d", "1"],
      none: [],
      outside: ["d", "a", "b", "c"],
      absent: [],
    });
    expect({ all: await run("ZCARD", "z"), absent: await run("ZCARD", "none") }).toEqual({ all: 4, absent: 0 });
    expect(await run("ZREM", "z", "d", "none")).toBe(1);
    expect(await run("ZADD", "z", 2, "aa")).toBe(1);
    expect(await run("ZRANGE", "z", 0, -1)).toEqual(["a", "aa", "b", "c"]);
    await expectTtl("z", 100, setMs);
    expect(await run("ZADD", "z", 1, "a", 2)).toBe("ERR syntax error");
    expect(await run("ZREM", "z", "a", "aa", "b", "c")).toBe(4);
    expect(await run("EXISTS", "z")).toBe(0);
  });

  it("refuses a command on a value of another type", async () => {
    await run("DEL", "w");
    await run("SADD", "w", "a");
    for (const command of [
      ["GET", "w"],
      ["INCR", "w"],
      ["HGET", "w", "a"],
      ["HSET", "w", "a", "b"],
      ["HGETALL", "w"],
      ["ZADD", "w", "1", "a"],
      ["ZRANGE", "w", "0", "-1"],
    ]) {
      expect(await run(...command)).toMatch(/^WRONGTYPE /);
    }
    expect(await run("MGET", "w")).toEqual([null]);
    await run("SET", "w", "text");
    expect(await run("SADD", "w", "a")).toMatch(/^WRONGTYPE /);
  });

  it("scans every key that matches", async () => {
    await run("FLUSHDB");
    const names = Array.from({ length: 250 }, (_, index) => `scan:${index}`);
    await run("MSET", ...names.flatMap((name) => [name, "v"]), "other", "v", "scan:[x]", "v");
    const collect = async (...options: string[]) => {
      const found = new Set<string>();
      let cursor = "0";
      do {
        const [next, page] = (await run("SCAN", cursor, ...options)) as [string, string[]];
        for (const key of page) found.add(key);
        cursor = next;
      } while (cursor !== "0");
      return [...found].toSorted();
    };
    expect(await collect("MATCH", "scan:*", "COUNT", "10")).toEqual([...names, "scan:[x]"].toSorted());
    expect(await collect()).toHaveLength(252);
    expect(await collect("MATCH", "scan:1?")).toHaveLength(10);
    expect(await collect("MATCH", "scan:[1-2]")).toEqual(["scan:1", "scan:2"]);
    expect(await collect("MATCH", "scan:[^0-9]*")).toEqual(["scan:[x]"]);
    expect(await collect("MATCH", "scan:\\[x\\]")).toEqual(["scan:[x]"]);
    expect(await collect("MATCH", "scan.*")).toEqual([]);
    expect(await run("SCAN", "0", "COUNT", "0")).toBe("ERR syntax error");
    expect(await run("FLUSHDB")).toBe("OK");
    expect(await collect()).toEqual([]);
  });

  it("answers a pipeline item by item", async () => {
    const { status, body } = await raw(
      [["SET", "p", "1"], ["INCR", "p"], ["HGET", "p", "x"], ["NOSUCH"], ["GET", "p"]],
      "/pipeline",
    );
    expect(status).toBe(200);
    expect(body).toEqual([
      { result: "OK" },
      { result: 2 },
      { error: expect.stringMatching(/^WRONGTYPE /) },
      { error: expect.stringMatching(/^ERR unknown command/) },
      { result: "2" },
    ]);
  });

  it("runs a transaction whole or not at all", async () => {
    await run("SET", "q", "1");
    const done = await raw(
      [
        ["INCR", "q"],
        ["HGET", "q", "x"],
        ["GET", "q"],
      ],
      "/multi-exec",
    );
    expect(done).toEqual({
      status: 200,
      body: [{ result: 2 }, { error: expect.stringMatching(/^WRONGTYPE /) }, { result: "2" }],
    });
    const refused = await raw([["INCR", "q"], ["NOSUCH"]], "/multi-exec");
    expect(refused).toEqual({ status: 400, body: { error: expect.stringMatching(/^EXECABORT /) } });
    expect(await run("GET", "q")).toBe("2");
    const transactions = Array.from({ length: 20 }, () =>
      raw(
        [
          ["INCR", "q"],
          ["INCR", "q"],
        ],
        "/multi-exec",
      ),
    );
    for (const { body } of await Promise.all(transactions)) {
      const [first, second] = (body as { result: number }[]).map((item) => item.result);
      expect(second).toBe((first ?? 0) + 1);
    }
  });

  it("carries messages to subscribers until they leave", async () => {
    const subscription = redis.subscribe<string>(["news", "other"]);
    const got: unknown[] = [];
    subscription.on("message", ({ channel, message }) => got.push([channel, message]));
    let joined = 0;
    subscription.on("subscribe", () => (joined += 1));
    await expect.poll(() => joined).toBe(2); // The client opens one stream for each channel.
    expect(await run("PUBLISH", "news", "key:abc,def")).toBe(1);
    expect(await run("PUBLISH", "other", "2")).toBe(1);
    expect(await run("PUBLISH", "nobody", "3")).toBe(0);
    await expect.poll(() => got.length).toBe(2);
    expect(got).toEqual([
      ["news", "key:abc,def"],
      ["other", "2"],
    ]);
    await subscription.unsubscribe();
    await expect.poll(() => run("PUBLISH", "news", "gone")).toBe(0);
  });
}

describe("embedded store", () => {
  conformance(async () => ({ backend: memoryBackend(), stop: async () => undefined }));
});

const installed = spawnSync("redis-server", ["--version"]).status === 0;

describe(
  installed ? "redis-server" : "redis-server is not on this machine: only the embedded store was held to the suite",
  () => {
    it("says its address and why it is not available", async () => {
      const backend = realBackend("redis://someone:password@127.0.0.1:1");
      const bridge = await startRedisBridge({ backend, token: TOKEN });
      const redis = new Redis({ url: bridge.url, token: TOKEN, retry: false });
      const refused = await redis.ping().catch(rootCause);
      await bridge.close();
      await backend.close();
      const why = "connect ECONNREFUSED 127.0.0.1:1: nothing listens there";
      expect(refused).toBe(`ERR the store of GATEWAY_REDIS_URL at 127.0.0.1:1 is not available: ${why}`);
    });
    if (!installed) return;
    conformance(async () => {
      const directory = mkdtempSync(join(tmpdir(), "redis-conformance-"));
      const socket = join(directory, "redis.sock");
      const args = ["--port", "0", "--unixsocket", socket, "--save", "", "--dir", directory];
      const server = spawn("redis-server", args, { stdio: "ignore" });
      const backend = realBackend(socket);
      const stop = async () => {
        const exited = once(server, "exit");
        server.kill("SIGKILL");
        await exited;
        rmSync(directory, { recursive: true });
      };
      try {
        await vi.waitFor(() => backend.call(["PING"]), { timeout: 20_000 });
      } catch (error) {
        await stop();
        throw error;
      }
      return { backend, stop };
    });
  },
);
