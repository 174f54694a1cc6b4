/**
 * Which tenants were given an object of an upstream, and by which upstream, in the key-value store
 * (docs/rules/routes.md#objects-of-upstreams), by the hash of the object's id, for 30 days. Some servers give every answer the
 * same id, so several tenants can have an id, each with its own place. What this isolate has seen is in its memory too, except
 * places that other isolates may change.
 */

import { LRUCache } from "lru-cache";
import { sha256Hex } from "../../shared/crypto/sha256.ts";
import { storeKeys } from "../../shared/records.ts";
import type { ObjectPlace, TokenCounts, UpstreamObjects } from "../ports.ts";
import type { RedisClient } from "./redis-client.ts";

const KEPT_SECS = 30 * 24 * 60 * 60;
/** Objects in the memory of an isolate. */
const SEEN_MAX = 5_000;

export class RedisUpstreamObjects implements UpstreamObjects {
  readonly #client: Pick<RedisClient, "run">;
  /** The places by tenant and name of the store. */
  readonly #seen = new LRUCache<string, ObjectPlace>({ max: SEEN_MAX });

  constructor(client: Pick<RedisClient, "run">) {
    this.#client = client;
  }

  async places(tenantId: string, ids: readonly string[]): Promise<readonly (ObjectPlace | "foreign" | null)[]> {
    const names = ids.map(nameOf);
    const known = new Map<string, ObjectPlace | "foreign" | undefined>(
      names.map((name) => [name, this.#seen.get(tenantId + name)]),
    );
    const unseen = names.filter((name) => known.get(name) === undefined);
    if (unseen.length > 0) {
      const read = await this.#client.run(async (redis) => {
        const pipeline = redis.pipeline();
        for (const name of unseen) pipeline.hget(name, tenantId).exists(name);
        return await pipeline.exec<(string | number | null)[]>();
      }, true);
      for (const [at, name] of unseen.entries()) {
        const [own, exists] = [read[2 * at], read[2 * at + 1]];
        if (typeof own === "string") known.set(name, this.#see(tenantId + name, placeOf(own)));
        else if (exists === 1) known.set(name, "foreign");
      }
    }
    return names.map((name) => known.get(name) ?? null);
  }

  async remember(tenantId: string, ids: readonly string[], place: ObjectPlace): Promise<void> {
    const names = ids.map(nameOf);
    for (const name of names) this.#see(tenantId + name, place);
    const work = this.#client.run(async (redis) => {
      const pipeline = redis.pipeline();
      for (const name of names) pipeline.hset(name, { [tenantId]: textOf(place) }).expire(name, KEPT_SECS);
      return await pipeline.exec();
    }, true);
    await work.catch(() => undefined);
  }

  async takeOver(tenantId: string, id: string, owed: TokenCounts): Promise<TokenCounts | null> {
    const name = nameOf(id);
    const taken = await Promise.all([
      this.#take(name, `${tenantId} input`, owed.inputTokens),
      this.#take(name, `${tenantId} output`, owed.outputTokens),
    ]).catch(() => null);
    return taken === null ? null : { inputTokens: taken[0], outputTokens: taken[1] };
  }

  /** Adds to a counter what it lacks up to `owed`, and gives back what others have added meanwhile. */
  async #take(name: string, field: string, owed: number): Promise<number> {
    const before = await this.#client.run(async (redis) => Number(await redis.hget<string>(name, field)), true);
    const lacking = owed - before;
    if (lacking <= 0) return 0;
    const add = async (count: number) =>
      await this.#client.run(async (redis) => await redis.hincrby(name, field, count), true);
    const excess = Math.min(Math.max(Number(await add(lacking)) - owed, 0), lacking);
    if (excess > 0) await add(-excess);
    return lacking - excess;
  }

  #see(key: string, place: ObjectPlace): ObjectPlace {
    if (place.charged === undefined) this.#seen.set(key, place);
    return place;
  }
}

function nameOf(id: string): string {
  return storeKeys.upstreamObject(sha256Hex(id));
}

/** One line each: the upstream, what was charged (input and output tokens, or nothing), and the model, whose name comes last. */
function textOf({ upstream, charged, model }: ObjectPlace): string {
  return `${upstream}\n${charged === undefined ? "" : `${charged.inputTokens} ${charged.outputTokens}`}\n${model}`;
}

function placeOf(text: string): ObjectPlace {
  const [upstream = "", counts = "", ...model] = text.split("\n");
  const [inputTokens = 0, outputTokens = 0] = counts.split(" ").map(Number);
  return { upstream, model: model.join("\n"), ...(counts === "" ? {} : { charged: { inputTokens, outputTokens } }) };
}
