/** @module-tag check */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Redis } from "@upstash/redis/cloudflare";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { keyOf, mcpServerOf, modelOf, settingsOf, tenantOf } from "../../test/harness/edge/pipeline/records.ts";
import { FRESH_MS } from "./record-cache.ts";
import { RedisClient } from "./redis-client.ts";
import { RedisDirectory } from "./redis-directory.ts";

/** The store's side of the protocol: one command per request, answered from `values`. */
const values = new Map<string, unknown>();
let down = false;
/** Answers that fail before the next good one. */
let failNext = 0;
/** How long each answer takes, ms. */
let lateMs = 0;
let commands: string[][] = [];
const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const command = JSON.parse(Buffer.concat(chunks).toString()) as string[];
    commands.push(command);
    const [verb, ...names] = command;
    const found = names.map((name) => values.get(name) ?? null);
    const fails = down || failNext > 0;
    failNext = Math.max(0, failNext - 1);
    response.statusCode = fails ? 503 : 200;
    const answer = JSON.stringify(fails ? { error: "down" } : { result: verb === "mget" ? found : found[0] });
    setTimeout(() => response.end(answer), lateMs);
  });
});
let raised: string[] = [];
/** How often the control service was asked to fill the store. */
let asked = 0;
let nowMs = 0;
let url = "";

beforeAll(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => server.close());
beforeEach(() => {
  values.clear();
  values.set("ready", "1");
  asked = 0;
  commands = [];
  down = false;
  failNext = 0;
  lateMs = 0;
  raised = [];
});

function directoryOver(client: Pick<RedisClient, "run">): RedisDirectory {
  const alerts = { raise: ({ issueKey }: { issueKey: string }) => void raised.push(issueKey) };
  return new RedisDirectory(
    client,
    () => nowMs,
    () => undefined,
    alerts,
    () => {
      asked += 1;
    },
  );
}

function directory(): RedisDirectory {
  return directoryOver(new RedisClient({ url, token: "t" }, () => nowMs, { event: () => undefined }));
}

describe("a key of an old pepper", () => {
  it("is found under its old hash, in memory the next time, by two reads", async () => {
    const [stored, oldHashes] = [keyOf({ key_hash: "old" }), ["old", "older"]];
    values.set("key:old", JSON.stringify(stored));
    const known = directory();
    expect(await known.key("new", { oldHashes })).toEqual({ record: stored, source: "store" });
    expect(commands).toHaveLength(2);
    expect(await known.key("new", { oldHashes })).toEqual({ record: stored, source: "memory" });
    expect(commands).toHaveLength(2);
    down = true;
    nowMs += FRESH_MS;
    expect(await known.key("new", { oldHashes })).toEqual({ record: stored, source: "memory" });
  });

  it("is found under its new hash if it is renewed between the reads", async () => {
    const renewed = keyOf({ key_hash: "new" });
    values.set("key:old", JSON.stringify(keyOf({ key_hash: "old" })));
    const client = new RedisClient({ url, token: "t" }, () => nowMs, { event: () => undefined });
    const found = await directoryOver({
      run: async (work, patient) => {
        const answer = await client.run(work, patient);
        values.set("key:new", JSON.stringify(renewed));
        values.delete("key:old");
        return answer;
      },
    }).key("new", { oldHashes: ["old"] });
    expect(found?.record).toEqual(renewed);
  });

  it("that does not exist costs one read, and no key while the store is down is 503", async () => {
    expect(await directory().key("new", { oldHashes: ["old"] })).toBeNull();
    expect(commands).toHaveLength(1);
    down = true;
    await expect(directory().key("new", { oldHashes: ["old"] })).rejects.toMatchObject({
      code: "key_store_unavailable",
    });
  });
});

describe("the directory", () => {
  it("reads the store once, then its memory, and the store again on request", async () => {
    values.set("key:hash", JSON.stringify(keyOf()));
    const known = directory();
    expect((await known.key("hash"))?.source).toBe("store");
    expect((await known.key("hash"))?.source).toBe("memory");
    expect(commands).toHaveLength(1);
    expect((await known.key("hash", { fresh: true }))?.source).toBe("store");
    expect(commands).toHaveLength(2);
  });

  it.each([
    ["nothing", null, ["2 store", "2 memory"], 2],
    ["a copy", keyOf({ disabled: true }), ["1 memory"], 1],
  ])("does not refuse by %s from a read that started earlier", async (_, before, found, asked) => {
    const slow = Promise.withResolvers<string | null>();
    const answers = [slow.promise, Promise.resolve(JSON.stringify(keyOf({ rev: 2 })))];
    let reads = 0;
    const mget = async () => ["1", await answers[reads++]];
    const known = directoryOver({ run: async (work) => await work({ mget } as unknown as Redis) });
    const early = known.key("hash");
    const late = [known.key("hash"), known.key("hash")];
    slow.resolve(before === null ? null : JSON.stringify(before));
    expect((await early)?.record ?? null).toEqual(before);
    const got = (await Promise.all(late)).map((one) => `${one?.record.rev} ${one?.source}`);
    expect({ got: new Set(got), reads }).toEqual({ got: new Set(found), reads: asked });
  });

  it("does not treat a failure as absence: copies in memory are used, other records are 503", async () => {
    values.set("key:hash", JSON.stringify(keyOf()));
    const known = directory();
    expect(await known.key("other")).toBeNull();
    await known.key("hash");
    down = true;
    nowMs += 10 * 60 * 1000;
    expect(await known.key("hash")).toEqual({ record: keyOf(), source: "memory" });
    expect((await known.key("hash", { fresh: true }))?.source).toBe("memory");
    await expect(known.key("other")).rejects.toMatchObject({ code: "key_store_unavailable" });
  });

  it("retries a failed read before it refuses a request, unless a copy in memory can serve", async () => {
    values.set("key:hash", JSON.stringify(keyOf()));
    const known = directory();
    failNext = 1;
    expect((await known.key("hash"))?.source).toBe("store");
    expect(commands).toHaveLength(2);
    nowMs += 10 * 60 * 1000;
    failNext = 1;
    expect((await known.key("hash"))?.record.key_id).toBe(keyOf().key_id);
    expect(commands).toHaveLength(3);
  });

  it("waits for a late store rather than refuse a request, and does not when a copy can serve", async () => {
    values.set("key:hash", JSON.stringify(keyOf()));
    const known = directory();
    lateMs = 600;
    const found = await Promise.all([known.key("hash"), known.key("hash")]);
    expect(found.map((one) => one?.record.key_id)).toEqual([keyOf().key_id, keyOf().key_id]);
    expect(commands).toHaveLength(2);
    nowMs += 10 * 60 * 1000;
    expect((await known.key("hash"))?.source).toBe("memory");
    expect(commands).toHaveLength(3);
  });

  it("waits for a late store although many reads at once were too early to have their answers", async () => {
    const hashes = Array.from({ length: 8 }, (_, at) => `hash-${at}`);
    for (const hash of hashes) values.set(`key:${hash}`, JSON.stringify(keyOf()));
    values.set("models:index", ["m"]);
    values.set("model:m", JSON.stringify(modelOf({ model_name: "m" })));
    const known = directory();
    lateMs = 600;
    const found = await Promise.all(hashes.map(async (hash) => (await known.key(hash))?.source));
    const models = (await known.models()).map(({ model_name }) => model_name);
    expect({ found, models }).toEqual({ found: hashes.map(() => "store"), models: ["m"] });
  });

  it("asks a late store that is left alone for what no copy has, and again once it has answered", async () => {
    const hashes = Array.from({ length: 6 }, (_, at) => `hash-${at}`);
    for (const hash of hashes) values.set(`key:${hash}`, JSON.stringify(keyOf()));
    const known = directory();
    for (const hash of hashes.slice(1)) await known.key(hash);
    nowMs += 10 * 60 * 1000;
    lateMs = 600;
    await Promise.all(hashes.slice(1).map(async (hash) => await known.key(hash)));
    expect((await known.key("hash-0"))?.source).toBe("store");
    lateMs = 0;
    nowMs += 10 * 60 * 1000;
    expect((await known.key("hash-1"))?.source).toBe("store");
  });

  it.each(["key", "tenant", "group"] as const)(
    "reads once when many requests learn of the same newer %s",
    async (kind) => {
      const tenant = tenantOf();
      const id = { key: "hash", tenant: tenant.id, group: "default" }[kind];
      values.set("key:hash", JSON.stringify(keyOf()));
      const known = directory();
      await known.key("hash");
      const newer = tenantOf({ rev: 2, group_rev: 2 });
      values.set("key:hash", JSON.stringify(keyOf({ rev: 2, tenant: newer })));
      const revisions = Array.from({ length: 200 }, async () => {
        known.forget([{ kind, id, rev: 2 }]);
        return (await known.key("hash"))?.record.rev;
      });
      expect(new Set(await Promise.all(revisions))).toEqual(new Set([2]));
      expect(commands).toHaveLength(2);
      expect((await known.key("hash"))?.source).toBe("memory");
      known.forget([{ kind, id, rev: 3 }]);
      await known.key("hash");
      expect(commands).toHaveLength(3);
    },
  );

  it("reads again as long as a copy is older than the known revision, when the store lags behind", async () => {
    values.set("key:hash", JSON.stringify(keyOf()));
    const known = directory();
    for (let round = 0; round < 3; round += 1) {
      known.forget([{ kind: "key", id: "hash", rev: 2 }]);
      expect((await known.key("hash"))?.source).toBe("store");
    }
  });

  it("does not call a failing store for a while, then calls it again", async () => {
    down = true;
    const known = directory();
    for (let round = 0; round < 9; round += 1) await known.key("hash").catch(() => undefined);
    expect(commands).toHaveLength(5);
    down = false;
    nowMs += 1000;
    expect(await known.key("hash")).toBeNull();
  });

  it.each([
    ["without a mark", undefined],
    ["that is being filled", "filling 1f0c"],
  ])("calls no record absent in a store %s, and asks once for each miss to fill it", async (_, mark) => {
    values.set("key:hash", JSON.stringify(keyOf()));
    const known = directory();
    await known.key("hash");
    values.clear();
    values.set("models:index", []);
    if (mark !== undefined) values.set("ready", mark);
    values.set("key:written", JSON.stringify(keyOf()));
    const misses = [
      async () => await known.key("other"),
      async () => await known.model("m"),
      async () => await known.mcpServer("s"),
      async () => await known.settings("boons"),
      async () => await known.models(),
    ];
    for (const miss of misses)
      await expect(miss()).rejects.toMatchObject({ code: "key_store_unavailable", headers: { "retry-after": "1" } });
    const fresh = (await known.key("hash", { fresh: true }))?.source;
    const written = (await known.key("written"))?.source;
    expect({ fresh, written, filled: await known.isFilled(), asked, raised }).toEqual({
      fresh: "memory",
      written: "store",
      filled: false,
      asked: 6,
      raised: [],
    });
    values.set("ready", "7");
    expect({ other: await known.key("other"), filled: await known.isFilled() }).toEqual({ other: null, filled: true });
  });

  it("refuses a record that it does not understand", async () => {
    values.set("key:hash", JSON.stringify({ v: 2 }));
    await expect(directory().key("hash")).rejects.toMatchObject({ code: "key_store_unavailable" });
    expect(raised).toEqual(["redis_key_lookup_failed"]);
  });

  it("reports every failed lookup to the operators, also one that memory could answer", async () => {
    values.set("key:hash", JSON.stringify(keyOf()));
    const known = directory();
    await known.key("hash");
    expect(raised).toEqual([]);
    down = true;
    nowMs += 10 * 60 * 1000;
    await known.key("hash");
    const lookups = [
      async () => await known.model("m"),
      async () => await known.mcpServer("s"),
      async () => await known.models(),
      async () => await known.settings("boons"),
    ];
    for (const lookup of lookups) await expect(lookup()).rejects.toMatchObject({ code: "key_store_unavailable" });
    expect(raised).toEqual([
      "redis_key_lookup_failed",
      "redis_model_lookup_failed",
      "redis_mcp_lookup_failed",
      "redis_model_lookup_failed",
    ]);
  });

  it.each([
    ["key", "hash"],
    ["tenant", tenantOf().id],
    ["group", "default"],
    ["all", "*"],
  ] as const)("drops for good what a newer %s made outdated", async (kind, id) => {
    values.set("key:hash", JSON.stringify(keyOf()));
    const known = directory();
    await known.key("hash");
    known.forget([{ kind, id, rev: 2 }]);
    down = true;
    await expect(known.key("hash")).rejects.toMatchObject({ code: "key_store_unavailable" });
    expect(known.epoch()).toBe(kind === "all" ? 2 : 0);
  });

  it.each([
    ["mcp", "tools", async (known: RedisDirectory) => await known.mcpServer("tools")],
    ["settings", "boons", async (known: RedisDirectory) => await known.settings("boons")],
    ["model", "tiny", async (known: RedisDirectory) => await known.model("tiny")],
  ] as const)(
    "keeps %s:%s in memory, through an outage, until a newer one or `all` is reported",
    async (kind, id, read) => {
      const copies = { mcp: mcpServerOf(), settings: settingsOf({ enabled: true }), model: modelOf() };
      values.set(`${kind}:${id}`, JSON.stringify(copies[kind]));
      for (const item of [
        { kind, id, rev: 2 },
        { kind: "all", id: "*", rev: 2 },
      ] as const) {
        const known = directory();
        expect({ record: (await read(known))?.record, source: (await read(known))?.source }).toEqual({
          record: copies[kind],
          source: "memory",
        });
        down = true;
        nowMs += 10 * 60 * 1000;
        expect((await read(known))?.record).toEqual(copies[kind]);
        known.forget([item]);
        await expect(read(known)).rejects.toMatchObject({ code: "key_store_unavailable" });
        down = false;
        nowMs += 10_000;
        expect(await read(known)).toEqual({ record: copies[kind], source: "store" });
      }
      values.delete(`${kind}:${id}`);
      expect(await read(directory())).toBeNull();
    },
  );

  it("lists the registered models by name, without those that were removed in the meantime", async () => {
    values.set("models:index", ["b", "gone", "a"]);
    for (const name of ["a", "b"]) values.set(`model:${name}`, JSON.stringify(modelOf({ model_name: name })));
    expect((await directory().models()).map((model) => model.model_name)).toEqual(["a", "b"]);
  });

  it("lists nothing from an empty registry", async () => {
    values.set("models:index", []);
    expect(await directory().models()).toEqual([]);
  });
});

it("reports a store that is away once, with its address, and once when it is back", async () => {
  const lines: object[] = [];
  const log = { event: (event: string, fields: object) => void lines.push({ event, ...fields }) };
  const client = new RedisClient({ url, token: "t" }, () => nowMs, log);
  const read = async (): Promise<unknown> =>
    await client.run(async (redis: Redis) => await redis.get("key:hash"), true).catch(() => "failed");
  down = true;
  for (let times = 0; times < 4; times += 1) await read();
  down = false;
  nowMs += 10_000;
  await read();
  const reason = `${new URL(url).host}: down`;
  expect(lines).toEqual([
    { event: "key_store_failed", reason, use: "records", failures: 1, for_secs: 0 },
    { event: "key_store_available", use: "records", failures: 4, for_secs: 0 },
  ]);
});
