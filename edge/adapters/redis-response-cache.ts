/**
 * The response cache in the key-value store (docs/rules/response-cache.md#hits), with frequently used answers in the isolate's
 * memory. Lookups of the same moment are sent in one call; so are answers to store, a few ms late. A failing store is a cache
 * miss; an answer that cannot be stored is only reported to the operators.
 */
import * as z from "zod";
import { issues } from "../../shared/alerts.ts";
import { fromBase64, toBase64 } from "../../shared/crypto/base64.ts";
import { storeKeys } from "../../shared/records.ts";
import type { Alerts, CacheEntry, Clock, ResponseCache } from "../ports.ts";
import { BatchedCalls } from "./batched-calls.ts";
import type { IsolateResponseCache } from "./isolate-response-cache.ts";
import { type RedisClient, StoreDown } from "./redis-client.ts";
import { withStallTolerantTimeout } from "./stall-tolerant-timeout.ts";

/** Requests wait for lookups: these gather no longer than this, ms. */
const LOOKUP_GATHER_MS = 3;
/** Most lookups in one call, when each finds an answer of the largest size. */
const LOOKUPS_MAX = 8;
/** A lookup in another request's call waits at most this long, ms: longer than the store's own deadline. */
const JOIN_MS = 500;
/** No request waits for stored answers, so that these gather longer, ms. */
const STORE_GATHER_MS = 10;
const STORES_MAX = 64;
/** Most bytes of bodies in one call; stores refuse calls of more than a megabyte. */
const STORE_BYTES_MAX = 512 * 1024;
/** Most bytes of one tenant's answers that wait for the store: further answers are kept in memory only. */
const TENANT_WAITING_MAX_BYTES = 1024 * 1024;
/** A request that has not stored its answer after this time was cut off, ms: longer than the store's own deadline. */
const LOST_MS = 5000;

const entrySchema = z.object({
  v: z.literal(1),
  path: z.string(),
  status: z.literal(200),
  content_type: z.string(),
  body_b64: z.string(),
  input_tokens: z.number(),
  output_tokens: z.number(),
  stored_at_ms: z.number(),
  expires_at_ms: z.number(),
  origin: z.string(),
});

interface Lookup {
  readonly name: string;
  readonly found: PromiseWithResolvers<string | null>;
}

interface Stored {
  readonly name: string;
  readonly tenantId: string;
  readonly entry: CacheEntry;
  readonly ttlSecs: number;
  /** The value of {@link IsolateResponseCache.epoch} when the answer was made. */
  readonly epoch: number;
  readonly release: () => void;
}

interface ResponseCacheOptions {
  readonly client: Pick<RedisClient, "run">;
  readonly hot: IsolateResponseCache;
  readonly clock: Clock;
  /** Lets a call continue after the request that makes it has ended: other requests may have joined it. */
  readonly keepAlive: (work: Promise<unknown>) => void;
  readonly alerts: Alerts;
}

export class RedisResponseCache implements ResponseCache {
  readonly #options: ResponseCacheOptions;
  readonly #lookups: BatchedCalls<Lookup>;
  readonly #stores: BatchedCalls<Stored>;
  /** Answers to store that hold memory for that, the oldest first, and since when, epoch ms. */
  readonly #held = new Map<Stored, number>();
  readonly #waitingBytes = new Map<string, number>();

  constructor(options: ResponseCacheOptions) {
    const { clock, keepAlive } = options;
    this.#options = options;
    this.#lookups = new BatchedCalls({
      call: (lookups) => keepAlive(this.#find(lookups)),
      gatherMs: LOOKUP_GATHER_MS,
      patient: false,
      itemsMax: LOOKUPS_MAX,
      bytesMax: Number.POSITIVE_INFINITY,
      bytesOf: () => 0,
      clock,
      keepAlive,
    });
    this.#stores = new BatchedCalls({
      call: (stored) => keepAlive(this.#put(stored)),
      gatherMs: STORE_GATHER_MS,
      patient: true,
      itemsMax: STORES_MAX,
      bytesMax: STORE_BYTES_MAX,
      bytesOf: ({ entry }) => entry.body.byteLength,
      clock,
      keepAlive,
    });
  }

  async lookup(tenantId: string, digest: string): Promise<CacheEntry | null> {
    const { hot, clock } = this.#options;
    // Also on lookups, because without free memory no answer is stored.
    this.#releaseLost();
    const name = storeKeys.cache(tenantId, digest);
    const held = hot.get(name);
    if (held !== null) return held;
    const { epoch } = hot;
    try {
      const text = await this.#text(name);
      const read = text === null ? undefined : entrySchema.safeParse(JSON.parse(text)).data;
      if (read === undefined) return null;
      const { body_b64, expires_at_ms, ...rest } = read;
      if (expires_at_ms <= clock()) return null;
      const entry: CacheEntry = { ...rest, body: fromBase64(body_b64) };
      hot.keep(name, entry, expires_at_ms, epoch);
      return entry;
    } catch (error) {
      this.#failed("lookup", error);
      return null;
    }
  }

  store(tenantId: string, digest: string, entry: CacheEntry, ttlSecs: number, release: () => void): void {
    const { hot, clock } = this.#options;
    const { epoch } = hot;
    const name = storeKeys.cache(tenantId, digest);
    hot.keep(name, entry, expiresMs(entry, ttlSecs), epoch);
    const waiting = (this.#waitingBytes.get(tenantId) ?? 0) + entry.body.byteLength;
    if (waiting > TENANT_WAITING_MAX_BYTES) {
      release();
      return;
    }
    this.#waitingBytes.set(tenantId, waiting);
    const stored = { name, tenantId, entry, ttlSecs, epoch, release };
    this.#held.set(stored, clock());
    this.#stores.add(stored);
  }

  /** The stored text of an entry; null if there is none. Throws StoreDown. */
  async #text(name: string): Promise<string | null> {
    const found = Promise.withResolvers<string | null>();
    if (this.#lookups.add({ name, found })) return await found.promise;
    // The request that makes the call may be cut off.
    const joined = await withStallTolerantTimeout(found.promise, JOIN_MS);
    if (joined === null) throw new StoreDown("the store was not asked");
    return joined.value;
  }

  /** Looks up several entries in one call. Never rejects. */
  async #find(lookups: readonly Lookup[]): Promise<void> {
    try {
      const names = lookups.map(({ name }) => name);
      const texts = await this.#options.client.run(async (redis) => await redis.mget<(string | null)[]>(...names));
      for (const [at, { found }] of lookups.entries()) found.resolve(texts[at] ?? null);
    } catch (error) {
      for (const { found } of lookups) found.reject(error);
    }
  }

  /** Stores the answers that are still valid; some may have waited for another request's call. Never rejects. */
  async #put(stored: readonly Stored[]): Promise<void> {
    const { client, hot, clock } = this.#options;
    this.#releaseLost();
    const nowMs = clock();
    const current = stored.filter(
      (one) => this.#held.has(one) && one.epoch === hot.epoch && expiresMs(one.entry, one.ttlSecs) > nowMs,
    );
    try {
      if (current.length > 0)
        await client.run(async (redis) => {
          const pipeline = redis.pipeline();
          for (const { name, entry, ttlSecs } of current) {
            const leftSecs = Math.ceil((expiresMs(entry, ttlSecs) - nowMs) / 1000);
            pipeline.set(name, textOf(entry, ttlSecs), { ex: Math.min(ttlSecs, leftSecs) });
          }
          return await pipeline.exec();
        });
    } catch (error) {
      for (const _ of current) this.#failed("store", error);
    }
    for (const one of stored) this.#release(one);
  }

  /** Gives up answers whose requests were cut off: storing them late could restore answers that were removed in the meantime. */
  #releaseLost(): void {
    const nowMs = this.#options.clock();
    for (const [stored, sinceMs] of this.#held) {
      if (Math.abs(nowMs - sinceMs) < LOST_MS) return;
      this.#release(stored);
    }
  }

  #release(stored: Stored): void {
    if (!this.#held.delete(stored)) return;
    const left = (this.#waitingBytes.get(stored.tenantId) ?? 0) - stored.entry.body.byteLength;
    if (left > 0) this.#waitingBytes.set(stored.tenantId, left);
    else this.#waitingBytes.delete(stored.tenantId);
    stored.release();
  }

  #failed(work: "lookup" | "store", error: unknown): void {
    this.#options.alerts.raise(
      issues.responseCacheFailed(work, error instanceof StoreDown ? error.message : "unreadable entry"),
    );
  }
}

const expiresMs = ({ stored_at_ms }: CacheEntry, ttlSecs: number): number => stored_at_ms + ttlSecs * 1000;

function textOf(entry: CacheEntry, ttlSecs: number): string {
  const { body, ...rest } = entry;
  return JSON.stringify({ ...rest, body_b64: toBase64(body), expires_at_ms: expiresMs(entry, ttlSecs) });
}
