/**
 * Laws of the response cache over any history of isolates that share a store (docs/rules/response-cache.md#hits,
 * docs/rules/response-cache.md#freshness): an answer from it belongs to the caller's tenant, to the same body, and to the
 * current model; it has not expired, and it is not from before a purge (the store emptied, then a resync). Each request leaves
 * exactly one row. In these histories clocks of isolates are set back and forth, records change, and the store fails and
 * recovers.
 *
 * @module-tag long
 */
import fc from "fast-check";
import { beforeEach, expect, it, vi } from "vitest";
import type { ModelRecord, ResolvedKey } from "../../shared/records.ts";
import type { RevItem } from "../../shared/wire/internal.ts";
import { CacheStore } from "../../test/harness/edge/cache-store.ts";
import { keyOf, modelOf, tenantOf } from "../../test/harness/edge/pipeline/records.ts";
import { TestPipeline } from "../../test/harness/edge/pipeline/world.ts";
import { MemoryBudget } from "../pipeline/call/memory/memory-budget.ts";
import { run } from "../pipeline/run.ts";
import { ISOLATE_MAX_AGE_MS, IsolateResponseCache } from "./isolate-response-cache.ts";
import { RedisResponseCache } from "./redis-response-cache.ts";

const START_MS = 1_700_000_000_000;
const TENANTS = ["00000000-0000-4000-8000-0000000000a1", "00000000-0000-4000-8000-0000000000a2"] as const;
/** An answer is stored some ms after it was made. */
const LATE_MS = 20;
/**
 * Memory of each isolate. An answer takes about 1,300 bytes, and 320 more while it is captured: the smaller memory is
 * always short.
 */
const ROOMS_BYTES = [1e6, 2500];

/** An answer of the upstream, and its inputs. */
interface Made {
  readonly tenant: number;
  readonly text: string;
  readonly upstreamModel: string;
  readonly ttlMs: number;
  readonly atMs: number;
}

const asked = fc.record({
  isolate: fc.nat(ROOMS_BYTES.length - 1),
  tenant: fc.nat(TENANTS.length - 1),
  text: fc.constantFrom("a", "b"),
});

const step = fc.oneof(
  {
    weight: 16,
    arbitrary: fc.array(asked, { minLength: 1, maxLength: 4 }).map((asks) => ({ kind: "ask", asks }) as const),
  },
  { weight: 8, arbitrary: fc.constantFrom(5, 900, 2000, 61_000).map((ms) => ({ kind: "pass", ms }) as const) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("model" as const),
      upstream: fc.nat(1),
      cached: fc.constantFrom(true, true, false),
      ttlSecs: fc.constantFrom(1, 600),
    }),
  },
  fc.record({ kind: fc.constant("key" as const), tenant: fc.nat(TENANTS.length - 1), disabled: fc.boolean() }),
  {
    weight: 3,
    arbitrary: fc
      .constantFrom("purge" as const, "purge" as const, "empty" as const, "fail" as const)
      .map((kind) => ({ kind })),
  },
  fc.record({
    kind: fc.constant("clock" as const),
    isolate: fc.nat(ROOMS_BYTES.length - 1),
    ms: fc.constantFrom(-70_000, -1500, -200, 200, 1500, 70_000),
  }),
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const seen = { hits: 0, hot: 0, refused: 0 };

/** An isolate: its clock, its cache, and the copies of records that it has, by tenant. */
function isolateOn(store: CacheStore, roomBytes: number) {
  const memory = {
    epoch: 0,
    offMs: 0,
    copies: TENANTS.map((): readonly [ResolvedKey | null, ModelRecord | null] => [null, null]),
  };
  const clock = (): number => store.nowMs + memory.offMs;
  const room: MemoryBudget = new MemoryBudget(roomBytes, () => hot.evictOldest());
  const hot: IsolateResponseCache = new IsolateResponseCache(room, clock, () => memory.epoch);
  const keepAlive = (): void => undefined;
  const cache = new RedisResponseCache({ client: store, hot, clock, keepAlive, alerts: { raise: () => undefined } });
  return { memory, clock, room, cache };
}
type Isolate = ReturnType<typeof isolateOn>;

/** The state of a history: the current records, the store, and the isolates with their memory. */
class Stage {
  readonly #store = new CacheStore(START_MS);
  readonly #made: Made[] = [];
  #model: ModelRecord = modelOf({ cache_enabled: true, cache_ttl_secs: 600, upstream_model: "u0" });
  readonly #keys: ResolvedKey[] = TENANTS.map((id, at) => keyOf({ key_hash: `hash${at}`, tenant: tenantOf({ id }) }));
  #epoch = 0;
  #purgedMs = 0;
  #emptiedMs = 0;
  /** How far clocks were set in all: an answer may live longer by as much. */
  #stepsMs = 0;
  readonly #isolates = ROOMS_BYTES.map((roomBytes) => isolateOn(this.#store, roomBytes));

  async play(one: Step): Promise<void> {
    switch (one.kind) {
      case "ask":
        await this.#sendAll(one.asks);
        break;
      case "pass":
        await this.#pass(one.ms);
        break;
      case "model": {
        const { upstream, cached: cache_enabled, ttlSecs: cache_ttl_secs } = one;
        const rev = this.#model.rev + 1;
        this.#model = modelOf({ cache_enabled, cache_ttl_secs, upstream_model: `u${upstream}`, rev });
        break;
      }
      case "key": {
        const key = this.#keys[one.tenant] as ResolvedKey;
        this.#keys[one.tenant] = { ...key, disabled: one.disabled, rev: key.rev + 1 };
        break;
      }
      case "purge":
        this.#store.values.clear();
        this.#epoch += 1;
        this.#purgedMs = this.#store.nowMs;
        break;
      case "empty":
        this.#store.values.clear();
        this.#emptiedMs = this.#store.nowMs;
        break;
      case "fail":
        this.#store.isDown = !this.#store.isDown;
        break;
      case "clock":
        (this.#isolates[one.isolate] as Isolate).memory.offMs += one.ms;
        this.#stepsMs += Math.abs(one.ms);
        break;
      default:
        one satisfies never;
    }
  }

  /** Memory is counted correctly to the end. */
  async end(): Promise<void> {
    await this.#pass(LATE_MS);
    for (const [at, { room }] of this.#isolates.entries())
      expect(room.usedBytes).toBeLessThanOrEqual(ROOMS_BYTES[at] as number);
  }

  async #pass(ms: number): Promise<void> {
    for (const part of [Math.min(ms, LATE_MS), Math.max(0, ms - LATE_MS)]) {
      this.#store.nowMs += part;
      await vi.advanceTimersByTimeAsync(part);
    }
  }

  async #sendAll(asks: Extract<Step, { kind: "ask" }>["asks"]): Promise<void> {
    let left = asks.length;
    const answers = Promise.all(
      asks.map(async (request) => {
        await this.#one(request).finally(() => {
          left -= 1;
        });
      }),
    );
    answers.catch(() => undefined);
    while (left > 0) {
      await new Promise<void>((resolve) => void setImmediate(resolve));
      await vi.advanceTimersByTimeAsync(1);
    }
    await answers;
  }

  #newerOf(items: readonly RevItem[]): readonly RevItem[] {
    const known = (item: RevItem): number => {
      if (item.kind === "all") return this.#epoch;
      if (item.kind === "model") return this.#model.rev;
      return item.kind === "key" ? (this.#keys.find(({ key_hash }) => key_hash === item.id)?.rev ?? 0) : 0;
    };
    return items.flatMap((item) => (item.rev < known(item) ? [{ ...item, rev: known(item) }] : []));
  }

  async #one({ isolate, tenant, text }: Extract<Step, { kind: "ask" }>["asks"][number]): Promise<void> {
    const { memory, clock, cache, room } = this.#isolates[isolate] as Isolate;
    const world = new TestPipeline();
    [world.keyInMemory, world.modelInMemory] = memory.copies[tenant] as Isolate["memory"]["copies"][number];
    world.key = this.#keys[tenant] as ResolvedKey;
    world.model = this.#model;
    world.memory.cacheMemory = room;
    world.stale = (items) => this.#newerOf(items);
    world.upstream = async () => {
      const upstreamModel = this.#model.upstream_model;
      const { cache_ttl_secs } = this.#model;
      this.#made.push({ tenant, text, upstreamModel, ttlMs: cache_ttl_secs * 1000, atMs: this.#store.nowMs });
      const body = JSON.stringify({ serial: this.#made.length - 1, fill: "x".repeat(300) });
      return new Response(body, {
        headers: { "content-type": "application/json", "content-length": String(body.length) },
      });
    };
    const received = world.received({
      body: JSON.stringify({ model: "tiny", messages: [{ role: "user", content: text }] }),
    });
    const { directory, admission } = received.ports;
    const ports = {
      ...received.ports,
      clock,
      responseCache: cache,
      directory: {
        ...directory,
        epoch: () => memory.epoch,
        forget: (items: readonly RevItem[]) => {
          for (const { kind, rev } of items) if (kind === "all") memory.epoch = Math.max(memory.epoch, rev);
          directory.forget(items);
        },
      },
      admission: {
        ...admission,
        admit: async (request: Parameters<typeof admission.admit>[0]) => {
          const items = this.#newerOf(request.revs);
          return items.length > 0 ? ({ verdict: "stale", items } as const) : await admission.admit(request);
        },
      },
    };
    const callsBefore = this.#store.calls.length;
    const response = await run({ ...received, ports });
    const cached = response.headers.get("x-gateway-cache");
    const body = (await response.json()) as { readonly serial?: number };
    await world.settled();
    memory.copies[tenant] = [world.key, world.model];
    const rows = [...world.recorded, ...(world.permit.settlement === null ? [] : [world.permit.settlement.row])];
    expect(rows.map(({ cache_status, status_code }) => [cache_status, status_code])).toEqual([
      [cached ?? "off", response.status],
    ]);
    if ((this.#keys[tenant] as ResolvedKey).disabled) {
      seen.refused += 1;
      expect({ status: response.status, isHit: cached === "hit" }).toEqual({ status: 403, isHit: false });
      return;
    }
    expect(response.status).toBe(200);
    if (cached !== "hit") return;
    seen.hits += 1;
    if (this.#store.calls.length === callsBefore) seen.hot += 1;
    this.#check(this.#made[body.serial as number] as Made, tenant, text);
  }

  #check(made: Made, tenant: number, text: string): void {
    const nowMs = this.#store.nowMs;
    expect(made).toMatchObject({ tenant, text, upstreamModel: this.#model.upstream_model });
    expect(this.#model.cache_enabled).toBe(true);
    expect(nowMs).toBeLessThan(made.atMs + made.ttlMs + LATE_MS + this.#stepsMs);
    const before = (ms: number): boolean => made.atMs + LATE_MS < ms;
    expect(before(this.#purgedMs)).toBe(false);
    if (before(this.#emptiedMs))
      expect(nowMs).toBeLessThan(this.#emptiedMs + ISOLATE_MAX_AGE_MS + LATE_MS + this.#stepsMs);
  }
}

/** 32 bytes that tell the bodies of these histories apart. */
function digestNow(data: Uint8Array): ArrayBuffer {
  const words = new Uint32Array(8);
  for (const [at, byte] of data.entries()) words[at % 8] = Math.imul((words[at % 8] ?? 0) ^ byte, 0x01000193) + at;
  return words.buffer;
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  // The platform's digest runs on another thread: on a busy machine the clock of these histories would pass every deadline meanwhile.
  vi.spyOn(crypto.subtle, "digest").mockImplementation(async (_algorithm, data) => digestNow(data as Uint8Array));
});

it("never gives an answer that is another caller's, outdated or expired", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), async (steps) => {
      const stage = new Stage();
      for (const one of steps) await stage.play(one);
      await stage.end();
    }),
    { numRuns: 500 },
  );
  expect(Math.min(seen.hits, seen.hot, seen.hits - seen.hot, seen.refused)).toBeGreaterThan(10);
});
