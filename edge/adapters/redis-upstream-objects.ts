/**
 * Which tenants were given an object of an upstream, and by which upstream, in the key-value store
 * (docs/rules/routes.md#objects-of-upstreams), by the hash of the object's id, for 30 days. An object belongs to the first
 * tenant that was given its id. Some servers give all items the same id, so that other tenants are noted as ones that share the
 * id: they can repeat it, and reach nothing by it. An index for each tenant bounds how many it has; the oldest are dropped
 * first. Objects that this isolate has seen are in its memory too, except places that other isolates may change. Writes that
 * the store did not take wait in memory until it does, and later writes queue after them.
 */

import { LRUCache } from "lru-cache";
import { issues } from "../../shared/alerts.ts";
import { sha256Hex } from "../../shared/crypto/sha256.ts";
import { storeKeys } from "../../shared/records.ts";
import { nanoUsdOf, usdOf } from "../domain/budget/amounts.ts";
import type { BilledTokens } from "../domain/usage/billing.ts";
import type { Alerts, Clock, Log, ObjectPlace, Sleep, UpstreamObjects } from "../ports.ts";
import type { RedisClient } from "./redis-client.ts";
import { type Places, UnsavedObjects } from "./unsaved-objects.ts";

const KEPT_SECS = 30 * 24 * 60 * 60;
/** Objects in the memory of an isolate. */
const SEEN_MAX = 5_000;
/** Most objects that are saved late in one call. */
const SAVED_AT_ONCE = 250;
/** No write adds more. */
const FORGOTTEN_AT_ONCE = 1_000;
const TRY_AGAIN_MS = 1_000;
/** How long one request's context tries: the runtime grants 30 s of work after an answer. Later requests continue. */
const SAVING_MAX_MS = 20_000;
const CUT_OFF_AFTER_MS = 30_000;

type Found = Awaited<ReturnType<UpstreamObjects["places"]>>[number];

interface UpstreamObjectsOptions {
  readonly client: Pick<RedisClient, "run">;
  readonly clock: Clock;
  readonly sleep: Sleep;
  /** Lets work continue after the request that started it. */
  readonly keepAlive: (work: Promise<unknown>) => void;
  readonly alerts: Alerts;
  readonly log: Log;
  /** Most objects of one tenant. */
  readonly perTenant: number;
}

export class RedisUpstreamObjects implements UpstreamObjects {
  readonly #options: UpstreamObjectsOptions;
  /** The places by tenant and digest. */
  readonly #seen = new LRUCache<string, ObjectPlace>({ max: SEEN_MAX });
  readonly #unsaved = new UnsavedObjects();
  /** The work that saves late, by its start time; null if there is none. */
  #saving: { readonly sinceMs: number } | null = null;

  constructor(options: UpstreamObjectsOptions) {
    this.#options = options;
  }

  async places(tenantId: string, ids: readonly string[]): Promise<readonly Found[]> {
    this.#saveLate();
    const digests = ids.map(sha256Hex);
    const known = new Map<string, Found | undefined>(
      digests.map((digest) => [digest, this.#unsaved.place(tenantId, digest) ?? this.#seen.get(tenantId + digest)]),
    );
    const unseen = digests.filter((digest) => known.get(digest) === undefined);
    if (unseen.length > 0) {
      const stored = await this.#stored(tenantId, unseen);
      for (const [digest, place] of stored) {
        if (typeof place === "object" && place !== null) this.#see(tenantId + digest, place);
        known.set(digest, place ?? (this.#unsaved.has(digest) ? "foreign" : null));
      }
    }
    return digests.map((digest) => known.get(digest) ?? null);
  }

  async remember(tenantId: string, ids: readonly string[], place: ObjectPlace, isAwaited = true): Promise<void> {
    const places = new Map(ids.map((id) => [sha256Hex(id), place]));
    if (isAwaited && this.#unsaved.isEmpty && (await this.#save(tenantId, places))) return;
    const objects = this.#unsaved.add(tenantId, places);
    if (objects > 0) {
      const reason = "the key-value store does not take them, and too many wait for it already";
      this.#options.log.event("stored_objects_lost", { tenant_id: tenantId, objects, reason });
    }
    this.#saveLate();
  }

  /** The store's facts about these objects. Throws StoreDown. */
  async #stored(tenantId: string, digests: Iterable<string>): Promise<Map<string, Found>> {
    const wanted = [...digests];
    const read = await this.#options.client.run(async (redis) => {
      const pipeline = redis.pipeline();
      // The place is read first: a writer that wrote one before the owner was known has not made it the first.
      for (const name of wanted.map(storeKeys.upstreamObject))
        pipeline.hget(name, tenantId).hget(name, sharer(tenantId)).hget(name, OWNER).exists(name);
      return await pipeline.exec<(string | number | null)[]>();
    }, true);
    const found = new Map<string, Found>();
    for (const [at, digest] of wanted.entries()) {
      const [own, shared, owner, exists] = read.slice(4 * at, 4 * at + 4);
      // Older releases stored no owner.
      const isFirst = (owner ?? tenantId) === tenantId;
      if (typeof own === "string" && isFirst) found.set(digest, placeOf(own));
      else if (typeof (own ?? shared) === "string") found.set(digest, "shared");
      else found.set(digest, exists === 1 && owner !== tenantId ? "foreign" : null);
    }
    return found;
  }

  /** Saves what waits, unless another request's context does. */
  #saveLate(): void {
    const { clock, keepAlive } = this.#options;
    const nowMs = clock();
    const isUnderWay = this.#saving !== null && Math.abs(nowMs - this.#saving.sinceMs) < CUT_OFF_AFTER_MS;
    if (this.#unsaved.isEmpty || isUnderWay) return;
    this.#saving = { sinceMs: nowMs };
    keepAlive(this.#saveAll(this.#saving));
  }

  /** Never rejects. */
  async #saveAll(saving: { readonly sinceMs: number }): Promise<void> {
    const { clock, sleep } = this.#options;
    const never = new AbortController().signal;
    while (this.#saving === saving && clock() - saving.sinceMs < SAVING_MAX_MS) {
      const batch = this.#unsaved.next(SAVED_AT_ONCE);
      if (batch === null) break;
      const { tenantId, places } = batch;
      if (await this.#save(tenantId, places)) this.#unsaved.saved(tenantId, places);
      else await sleep(TRY_AGAIN_MS, never);
    }
    if (this.#saving === saving) this.#saving = null;
  }

  /** Whether the store has taken them. */
  async #save(tenantId: string, places: Places): Promise<boolean> {
    const { client, clock, keepAlive, perTenant } = this.#options;
    const index = storeKeys.upstreamObjectsOf(tenantId);
    const [first, ...others] = [...places.keys()].map((member) => ({ score: clock(), member }));
    if (first === undefined) return true;
    const save = async (): Promise<number> => {
      // A reader of the store must never find a second owner, so nothing is written before it is known whether there is one.
      const before = await this.#stored(tenantId, places.keys());
      const own = [...places.keys()].filter((digest) => typeof before.get(digest) !== "string");
      const [count, ...owners] = await client.run(async (redis) => {
        // The index comes first: an entry without it would not count.
        const pipeline = redis
          .pipeline()
          .zadd(index, first, ...others)
          .expire(index, KEPT_SECS);
        for (const [digest, place] of places) {
          const name = storeKeys.upstreamObject(digest);
          // Several tenants may be given one id at once: the store decides which of them is the first.
          if (own.includes(digest)) pipeline.hsetnx(name, OWNER, tenantId).hset(name, { [tenantId]: textOf(place) });
          else pipeline.hset(name, { [sharer(tenantId)]: "" });
          pipeline.expire(name, KEPT_SECS);
        }
        pipeline.zcard(index);
        for (const digest of own) pipeline.hget(storeKeys.upstreamObject(digest), OWNER);
        return (await pipeline.exec<unknown[]>()).slice(-1 - own.length);
      }, true);
      for (const [at, digest] of own.entries()) {
        const place = owners[at] === tenantId ? places.get(digest) : undefined;
        if (place !== undefined) this.#see(tenantId + digest, place);
      }
      return Number(count);
    };
    const count = await save().catch(() => null);
    if (count !== null && count > perTenant) keepAlive(this.#forgetOldest(tenantId).catch(() => undefined));
    return count !== null;
  }

  /** If it fails, the next write tries again. Isolates that do it at once forget the same ones. */
  async #forgetOldest(tenantId: string): Promise<void> {
    const { client, clock, alerts, perTenant } = this.#options;
    const index = storeKeys.upstreamObjectsOf(tenantId);
    // In one transaction: between the two, another isolate could forget some.
    const [count, oldest] = await client.run(
      async (redis) =>
        await redis
          .multi()
          .zcard(index)
          .zrange<string[]>(index, 0, FORGOTTEN_AT_ONCE - 1, { withScores: true })
          .exec(),
      true,
    );
    const surplus = oldest.slice(0, 2 * Math.max(0, Number(count) - perTenant));
    const digests = surplus.filter((_, at) => at % 2 === 0);
    if (digests.length === 0) return;
    await client.run(async (redis) => {
      const names = digests.map(storeKeys.upstreamObject);
      const reading = redis.pipeline();
      for (const name of names) reading.hget(name, OWNER);
      const owners: unknown[] = await reading.exec();
      const pipeline = redis.pipeline();
      for (const [at, name] of names.entries()) {
        const isOwn = owners[at] === tenantId;
        pipeline.hdel(name, tenantId, sharer(tenantId), ...counters(tenantId), ...(isOwn ? [OWNER] : []));
      }
      return await pipeline.zrem(index, ...digests).exec();
    }, true);
    for (const digest of digests) this.#seen.delete(tenantId + digest);
    // Older entries have expired.
    if (Number(surplus.at(-1)) > clock() - KEPT_SECS * 1000)
      alerts.raise(issues.storedObjectsForgotten(tenantId, perTenant));
  }

  async takeOver(tenantId: string, id: string, owed: BilledTokens): Promise<BilledTokens | null> {
    const name = storeKeys.upstreamObject(sha256Hex(id));
    const [input, output, nanoUsd] = counters(tenantId);
    const taken = await Promise.all([
      this.#take(name, input, owed.inputTokens),
      this.#take(name, output, owed.outputTokens),
      this.#take(name, nanoUsd, nanoUsdOf(owed.costUsd)),
    ]).catch(() => null);
    return taken === null ? null : { inputTokens: taken[0], outputTokens: taken[1], costUsd: usdOf(taken[2]) };
  }

  /** Adds the missing amount to a counter, up to `owed`, and returns what others have added meanwhile. */
  async #take(name: string, field: string, owed: number): Promise<number> {
    const before = await this.#options.client.run(async (redis) => Number(await redis.hget<string>(name, field)), true);
    const lacking = owed - before;
    if (lacking <= 0) return 0;
    // The answer may have been forgotten meanwhile: its counter must not stay forever.
    const add = async (count: number) =>
      await this.#options.client.run(
        async (redis) => await redis.pipeline().hincrby(name, field, count).expire(name, KEPT_SECS).exec(),
        true,
      );
    const [sum] = await add(lacking);
    const excess = Math.min(Math.max(Number(sum) - owed, 0), lacking);
    if (excess > 0) await add(-excess);
    return lacking - excess;
  }

  #see(key: string, place: ObjectPlace): void {
    if (place.charged === undefined) this.#seen.set(key, place);
  }
}

/** The field with the tenant that was given the id first. */
const OWNER = "owner";

/** The fields with the charges of reads of an answer. */
function counters(tenantId: string): readonly [input: string, output: string, nanoUsd: string] {
  return [`${tenantId} input`, `${tenantId} output`, `${tenantId} nano_usd`];
}

/** The field that says that the tenant was given the id of another one's object. */
function sharer(tenantId: string): string {
  return `${tenantId} shared`;
}

/**
 * One line each: the upstream, the charge (input tokens, output tokens and end user, or nothing), and the model, whose name
 * comes last.
 */
function textOf({ upstream, charged, model }: ObjectPlace): string {
  if (charged === undefined) return `${upstream}\n\n${model}`;
  const { inputTokens, outputTokens, endUser } = charged;
  return `${upstream}\n${inputTokens} ${outputTokens} ${encodeURIComponent(endUser)}\n${model}`;
}

function placeOf(text: string): ObjectPlace {
  const [upstream = "", counts = "", ...model] = text.split("\n");
  const place = { upstream, model: model.join("\n") };
  if (counts === "") return place;
  // Older releases stored no end user.
  const [inputTokens, outputTokens, endUser = ""] = counts.split(" ");
  const tokens = { inputTokens: Number(inputTokens), outputTokens: Number(outputTokens) };
  return { ...place, charged: { ...tokens, endUser: decodeURIComponent(endUser) } };
}
