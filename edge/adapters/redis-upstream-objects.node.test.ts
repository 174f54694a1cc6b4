/**
 * Which tenants were given an object of an upstream (docs/rules/routes.md#objects-of-upstreams).
 *
 * @module-tag check
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Listening } from "../../infra/local/http/listen.ts";
import { type Backend, RedisUnavailable } from "../../infra/local/redis/backend.ts";
import { startRedisBridge } from "../../infra/local/redis/bridge.ts";
import { memoryBackend } from "../../infra/local/redis/memory-backend.ts";
import { LIMITS } from "../../shared/catalogues/limits.ts";
import { sha256Hex } from "../../shared/crypto/sha256.ts";
import { storeKeys } from "../../shared/records.ts";
import type { LogFields } from "../ports.ts";
import { RedisClient, StoreDown } from "./redis-client.ts";
import { RedisUpstreamObjects } from "./redis-upstream-objects.ts";

/** A store that several isolates use, and that can be unavailable. */
const backend = memoryBackend();
let isAway = false;
/** Commands wait for this; null: for nothing. */
let hanging: { readonly promise: Promise<void>; readonly resolve: () => void } | null = null;
let writes = 0;
const store: Backend = {
  ...backend,
  call: async (command) => {
    if (command[0].toUpperCase() === "ZADD") writes += 1;
    await hanging?.promise;
    if (isAway) throw new RedisUnavailable("away");
    return await backend.call(command);
  },
};
let bridge: Listening;
let nowMs = 1_000_000;
let alerts: string[] = [];
let logged: LogFields[] = [];
let works: Promise<unknown>[] = [];

beforeAll(async () => {
  bridge = await startRedisBridge({ backend: store, token: "token" });
});
afterAll(async () => {
  await bridge.close();
});
beforeEach(async () => {
  await backend.call(["FLUSHDB"]);
  [isAway, hanging, writes, alerts, logged, works] = [false, null, 0, [], [], []];
});
afterEach(() => hanging?.resolve());

const pass = async (ms: number): Promise<void> => {
  nowMs += ms;
};
const passUntilBack = async (ms: number): Promise<void> => {
  nowMs += ms;
  isAway = false;
};

/** `sleep`: of the work that saves late; without it time passes at once. */
function isolateOf({ perTenant = 1_000, sleep = pass } = {}) {
  const clock = (): number => nowMs;
  return new RedisUpstreamObjects({
    client: new RedisClient({ url: bridge.url, token: "token" }, clock, { event: () => undefined }),
    clock,
    sleep,
    keepAlive: (work) => void works.push(work),
    alerts: { raise: ({ issueKey }) => void alerts.push(issueKey) },
    log: { event: (event, fields) => void logged.push({ event, ...fields }) },
    perTenant,
  });
}

/** Resolves when all work that outlives its request has ended. */
async function settled(): Promise<void> {
  for (let done = 0; done < works.length; ) {
    done = works.length;
    await Promise.all(works);
  }
}

const numbered = (name: string, count: number): string[] => Array.from({ length: count }, (_, at) => `${name}${at}`);
const indexed = async (tenantId: string) =>
  await backend.call(["ZRANGE", storeKeys.upstreamObjectsOf(tenantId), "0", "-1"]);
const place = { upstream: "id http://a.test/v1", model: "a model\nof two lines" };

it("knows an object in every isolate for its tenant, and says of others that it is foreign", async () => {
  await isolateOf().remember("t", ["a"], place);
  expect(await isolateOf().places("t", ["b", "a"])).toEqual([null, place]);
  expect(await isolateOf().places("other", ["a"])).toEqual(["foreign"]);
});

it("belongs to the first tenant that is given it, however often another one is given its id", async () => {
  const elsewhere = { ...place, upstream: "http://b.test/v1" };
  const [one, two] = [isolateOf(), isolateOf()];
  await one.remember("t", ["a"], place);
  for (const isolate of [one, two]) {
    await isolate.remember("other", ["a", "b"], elsewhere);
    const others = [await isolate.places("other", ["a", "b"]), await isolateOf().places("other", ["a", "b"])];
    expect({ others, own: await isolateOf().places("t", ["a"]), third: await isolate.places("third", ["a"]) }).toEqual({
      others: [
        ["shared", elsewhere],
        ["shared", elsewhere],
      ],
      own: [place],
      third: ["foreign"],
    });
  }
});

it("has one first tenant when several are given it at the same moment", async () => {
  const tenants = numbered("t", 5);
  const isolates = tenants.map(() => isolateOf());
  hanging = Promise.withResolvers();
  const remembering = tenants.map(async (tenant, at) => await isolates[at]?.remember(tenant, ["a"], place));
  hanging.resolve();
  await Promise.all(remembering);
  const seen = { own: isolates, others: tenants.map(() => isolateOf()) };
  const placesIn = async (readers: readonly RedisUpstreamObjects[]) =>
    (await Promise.all(tenants.map(async (tenant, at) => await readers[at]?.places(tenant, ["a"])))).flat();
  const [own, others] = [await placesIn(seen.own), await placesIn(seen.others)];
  expect({ first: own.filter((found) => found !== "shared"), others }).toEqual({ first: [place], others: own });
});

it("is free again once its first tenant has forgotten it", async () => {
  const isolate = isolateOf({ perTenant: 1 });
  for (const id of ["a", "b"]) {
    await isolate.remember("t", [id], place);
    nowMs += 1;
  }
  await settled();
  await isolateOf().remember("other", ["a"], place);
  expect(await isolateOf().places("other", ["a"])).toEqual([place]);
});

it("stays its first tenant's when it is saved late, after another tenant's", async () => {
  const isolate = isolateOf({ sleep: passUntilBack });
  await isolateOf().remember("t", ["a"], place);
  isAway = true;
  await isolate.remember("other", ["a"], place);
  await settled();
  expect([await isolate.places("other", ["a"]), await isolate.places("t", ["a"])]).toEqual([["shared"], [place]]);
});

it("reads again what was charged for an answer, which another isolate may have changed", async () => {
  const [one, other] = [isolateOf(), isolateOf()];
  const charged = { ...place, charged: { inputTokens: 3, outputTokens: 512, endUser: "an n\n\u00e9" } };
  await one.remember("t", ["a"], charged);
  expect(await other.places("t", ["a"])).toEqual([charged]);
  const more = { ...place, charged: { inputTokens: 3, outputTokens: 600, endUser: "" } };
  await other.remember("t", ["a"], more);
  expect(await one.places("t", ["a"])).toEqual([more]);
});

it("reads what releases without end users have stored", async () => {
  const text = `${place.upstream}\n3 512\n${place.model}`;
  await backend.call(["HSET", storeKeys.upstreamObject(sha256Hex("a")), "t", text]);
  const charged = { inputTokens: 3, outputTokens: 512, endUser: "" };
  expect(await isolateOf().places("t", ["a"])).toEqual([{ ...place, charged }]);
});

it("gives what an answer owes to one of its readers, however many read it at once", async () => {
  const take = async (outputTokens: number) =>
    (await isolateOf().takeOver("t", "a", { inputTokens: 0, outputTokens, costUsd: 0 }))?.outputTokens ?? null;
  const sumOf = (taken: readonly (number | null)[]) => taken.reduce<number>((sum, tokens) => sum + (tokens ?? 0), 0);
  const atOnce = sumOf(await Promise.all([take(50_000), take(50_000), take(50_000)]));
  const later = [await take(50_000), await take(50_010)];
  const keptSecs = Number(await backend.call(["TTL", storeKeys.upstreamObject(sha256Hex("a"))]));
  isAway = true;
  expect({ atOnce, later, isBounded: keptSecs > 0, away: await take(50_020) }).toEqual({
    atOnce: 50_000,
    later: [0, 10],
    isBounded: true,
    away: null,
  });
});

describe("a tenant with more objects than it may have", () => {
  it("loses the oldest, however many isolates write at once, and no other tenant loses any", async () => {
    await isolateOf().remember("other", numbered("theirs", 30), place);
    const isolates = [isolateOf({ perTenant: 5 }), isolateOf({ perTenant: 5 }), isolateOf({ perTenant: 5 })];
    const old = numbered("old", 30);
    await Promise.all(old.map(async (id, at) => await isolates[at % 3]?.remember("t", [id], place)));
    await settled();
    nowMs += 1;
    const recent = numbered("new", 5);
    await Promise.all(recent.map(async (id, at) => await isolates[at % 3]?.remember("t", [id], place)));
    await settled();
    const [fresh, another] = [isolateOf(), isolateOf()];
    expect({
      old: new Set(await fresh.places("t", old)),
      recent: await fresh.places("t", recent),
      theirs: (await another.places("other", numbered("theirs", 30))).filter((each) => each === null).length,
      indexed: ((await indexed("t")) as string[]).toSorted(),
      alerts: new Set(alerts),
    }).toEqual({
      old: new Set([null]),
      recent: recent.map(() => place),
      theirs: 0,
      indexed: recent.map(sha256Hex).toSorted(),
      alerts: new Set(["stored_objects_forgotten:t"]),
    });
  });

  it("keeps an old one that it is given again", async () => {
    const isolate = isolateOf({ perTenant: 2 });
    for (const id of ["a", "b", "a", "c"]) {
      nowMs += 1;
      await isolate.remember("t", [id], place);
      await settled();
    }
    expect(await isolateOf().places("t", ["a", "b", "c"])).toEqual([place, null, place]);
  });

  it("raises no alert for what was forgotten by its age", async () => {
    const isolate = isolateOf({ perTenant: 2 });
    await isolate.remember("t", ["a", "b"], place);
    nowMs += 31 * 24 * 60 * 60 * 1000;
    await isolate.remember("t", ["c"], place);
    await settled();
    expect({ alerts, places: await isolateOf().places("t", ["c"]) }).toEqual({ alerts: [], places: [place] });
  });
});

describe("while the store is away", () => {
  it("an isolate says what it has seen, and nothing else", async () => {
    const isolate = isolateOf();
    isAway = true;
    await isolate.remember("t", ["a"], place);
    expect(await isolate.places("t", ["a"])).toEqual([place]);
    await expect(isolate.places("t", ["a", "b"])).rejects.toThrow(StoreDown);
    await expect(isolate.places("other", ["a"])).rejects.toThrow(StoreDown);
    await settled();
  });

  it("what it missed waits, and is saved when it answers again", async () => {
    const isolate = isolateOf({ sleep: passUntilBack });
    isAway = true;
    await isolate.remember("t", ["a", "b"], place);
    await isolate.remember("other", ["c"], place);
    await settled();
    expect(await isolateOf().places("t", ["a", "b", "c"])).toEqual([place, place, "foreign"]);
  });

  it("a later request saves what was missed, when the context that tried has been cut off", async () => {
    const cutOff = Promise.withResolvers<void>();
    const isolate = isolateOf({ sleep: async () => await cutOff.promise });
    isAway = true;
    await isolate.remember("t", ["a"], place);
    isAway = false;
    nowMs += 31_000;
    works = [];
    await isolate.places("other", []);
    await settled();
    cutOff.resolve();
    expect(await isolateOf().places("t", ["a"])).toEqual([place]);
  });

  it("gives up after 20 s, and the next request tries again", async () => {
    const isolate = isolateOf();
    isAway = true;
    await isolate.remember("t", ["a"], place);
    const sinceMs = nowMs;
    await settled();
    const triedMs = nowMs - sinceMs;
    isAway = false;
    await isolate.remember("t", ["b"], place);
    await settled();
    expect({ triedMs, places: await isolateOf().places("t", ["a", "b"]) }).toEqual({
      triedMs: 20_000,
      places: [place, place],
    });
  });

  it("has its objects already for the tenants that this isolate serves, once the store answers", async () => {
    const held = Promise.withResolvers<void>();
    const isolate = isolateOf({ sleep: async () => await held.promise });
    isAway = true;
    await isolate.remember("t", ["a"], place);
    isAway = false;
    nowMs += 2_000;
    const [foreign] = await isolate.places("other", ["a"]);
    held.resolve();
    await settled();
    expect(foreign).toBe("foreign");
  });

  it("keeps the newest place of what waits", async () => {
    const isolate = isolateOf({ sleep: passUntilBack });
    isAway = true;
    const charged = (outputTokens: number) => ({ ...place, charged: { inputTokens: 3, outputTokens, endUser: "" } });
    await isolate.remember("t", ["a"], charged(512));
    await isolate.remember("t", ["a"], charged(600));
    await settled();
    expect(await isolateOf().places("t", ["a"])).toEqual([charged(600)]);
  });

  it("keeps a limited memory for each tenant, and says what is lost", async () => {
    const isolate = isolateOf({ sleep: passUntilBack, perTenant: 10_000 });
    isAway = true;
    await isolate.remember("t", numbered("a", 5_000), place);
    await isolate.remember("other", ["b"], place);
    await settled();
    const saved = ((await indexed("t")) as string[]).length;
    expect({
      logged,
      isBounded: saved * 256 <= LIMITS.tenantUnsavedObjects,
      others: await isolateOf().places("other", ["b"]),
    }).toEqual({
      logged: [expect.objectContaining({ event: "stored_objects_lost", tenant_id: "t", objects: 5_000 - saved })],
      isBounded: true,
      others: [place],
    });
  });
});

it("waits once for a store that hangs, and saves all objects when it answers again", async () => {
  const isolate = isolateOf();
  hanging = Promise.withResolvers();
  const sinceMs = performance.now();
  for (const id of numbered("a", 20)) await isolate.remember("t", [id], place);
  const waitedSecs = Math.round((performance.now() - sinceMs) / 1000);
  const written = writes;
  hanging.resolve();
  hanging = null;
  await settled();
  expect({
    isOnce: waitedSecs <= 4,
    isOneAtATime: written <= 2,
    places: await isolateOf().places("t", ["a0", "a19"]),
  }).toEqual({
    isOnce: true,
    isOneAtATime: true,
    places: [place, place],
  });
});
