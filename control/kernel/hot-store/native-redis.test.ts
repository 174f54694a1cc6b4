/**
 * The key-value store over the Redis protocol behaves as over REST: the same calls, the same answers, the same failures.
 *
 * @module-tag check
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startRedisBridge } from "../../../infra/local/redis/bridge.ts";
import { memoryBackend } from "../../../infra/local/redis/memory-backend.ts";
import { storeKeys } from "../../../shared/records.ts";
import { startControl } from "../../../test/harness/control.ts";
import { type RedisServer, startRedisServer } from "../../../test/harness/redis-protocol.ts";
import { waitFor } from "../../../test/harness/wait-for.ts";
import { HotStore } from "./hot-store.ts";

type Started = { readonly store: HotStore; readonly close: () => Promise<void> };

const PROTOCOLS: readonly (readonly [string, () => Promise<Started>])[] = [
  [
    "REST",
    async () => {
      const bridge = await startRedisBridge({ backend: memoryBackend(), token: "t" });
      return { store: new HotStore(bridge.url, "t"), close: async () => await bridge.close() };
    },
  ],
  [
    "Redis",
    async () => {
      const server = await startRedisServer(memoryBackend(), "p@ss");
      return { store: new HotStore(server.url, ""), close: async () => await server.close() };
    },
  ],
];

describe.each(PROTOCOLS)("the store over the %s protocol", (_, start) => {
  let started: Started;
  beforeAll(async () => {
    started = await start();
  });
  afterAll(async () => {
    started.store.close();
    await started.close();
  });

  it("keeps copies unchanged, and the index of models", async () => {
    const { store } = started;
    const odd = JSON.stringify({ text: 'ünï ⚙️ "\\ \n', number: 9_007_199_254_740_991, list: ["OK", null] });
    await store.put([
      { hotKey: "key:1", text: odd },
      { hotKey: "key:2", text: "12" },
      { hotKey: "model:m", text: "{}" },
    ]);
    expect(await store.get(["key:1", "key:2", "model:m", "key:none"])).toEqual([odd, "12", "{}", null]);
    expect(await store.indexedModels()).toEqual(["m"]);
    await store.put([{ hotKey: "model:m", text: null }]);
    expect({ copies: await store.get(["model:m"]), indexedModels: await store.indexedModels() }).toEqual({
      copies: [null],
      indexedModels: [],
    });
  });

  it("reserves a name once", async () => {
    const { store } = started;
    expect({ first: await store.claim("c", 60), again: await store.claim("c", 60) }).toEqual({
      first: true,
      again: false,
    });
  });

  it("lists names, announces changes, and reads what cells report", async () => {
    const { store } = started;
    await store.put(Array.from({ length: 1200 }, (_none, at) => ({ hotKey: `walk:${at}`, text: "x" })));
    const names: string[] = [];
    for await (const batch of store.scan("walk:*")) names.push(...batch);
    expect(new Set(names).size).toBe(1200);
    await store.announce(["key:1", "*"]);
    expect(await store.cells()).toEqual(new Map());
    await store.putWithTtl("kept", "for a while", 60);
    expect(await store.get(["kept"])).toEqual(["for a while"]);
    await store.forgetCell("local");
  });
});

describe("the Redis protocol", () => {
  it("works for a whole service: configured records are in the store", async () => {
    const server = await startRedisServer(memoryBackend());
    const control = await startControl({ storeUrl: server.url });
    const created = await control.request("POST", "/api/v1/models", { model_name: "over-redis" });
    expect({ status: created.status, "x-gateway-sync": created.headers.get("x-gateway-sync") }).toEqual({
      status: 200,
      "x-gateway-sync": null,
    });
    expect(await control.store.indexedModels()).toEqual(["over-redis"]);
    expect((await control.store.get(["model:over-redis"]))[0]).toContain('"model_name":"over-redis"');
    expect((await control.request("POST", "/api/v1/resync")).status).toBe(200);
    control.store.close();
    await control.close();
    await server.close();
  });

  describe("that fails", () => {
    let server: RedisServer;
    let store: HotStore;
    beforeAll(async () => {
      server = await startRedisServer(memoryBackend());
      store = new HotStore(server.url, "");
    });
    afterAll(async () => {
      store.close();
      await server.close();
    });

    it("says that the store is unavailable, and continues with the next connection", async () => {
      await store.put([{ hotKey: "key:1", text: "before" }]);
      server.silent = true;
      await expect(store.get(["key:1"])).rejects.toMatchObject({ code: "key_store_unavailable" });
      server.silent = false;
      server.cut();
      const read = async () => await store.get(["key:1"]).catch(() => []);
      await waitFor(read, ([text]) => text === "before");
    });

    it("reports a command that the server refuses among several", async () => {
      await store.put([{ hotKey: storeKeys.modelsIndex, text: "no set" }]);
      await expect(store.put([{ hotKey: "model:m", text: "{}" }])).rejects.toMatchObject({
        code: "key_store_unavailable",
      });
    });
  });

  it("says that the store is unavailable where nothing listens, and where the password is wrong", async () => {
    const nowhere = new HotStore("redis://127.0.0.1:9", "");
    await expect(nowhere.get([randomUUID()])).rejects.toMatchObject({ code: "key_store_unavailable" });
    nowhere.close();
    const server = await startRedisServer(memoryBackend(), "right");
    const wrong = new HotStore(server.url.replace("right", "wrong"), "");
    await expect(wrong.get(["x"])).rejects.toMatchObject({ code: "key_store_unavailable" });
    wrong.close();
    await server.close();
  });
});
