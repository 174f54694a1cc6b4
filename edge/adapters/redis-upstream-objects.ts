/**
 * Which tenants were given an object of an upstream, and by which upstream, in the key-value store
 * (docs/rules/routes.md#objects-of-upstreams), by the hash of the object's id, for 30 days. Some servers give every answer the
 * same id, so several tenants can have an id, each with its own place. What this isolate has seen is in its memory too.
 */

import { LRUCache } from "lru-cache";
import { sha256Hex } from "../../shared/crypto/sha256.ts";
import { storeKeys } from "../../shared/records.ts";
import type { ObjectPlace, UpstreamObjects } from "../ports.ts";
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
    const unseen = names.filter((name) => !this.#seen.has(tenantId + name));
    const foreign = new Set<string>();
    if (unseen.length > 0) {
      const read = await this.#client.run(async (redis) => {
        const pipeline = redis.pipeline();
        for (const name of unseen) pipeline.hget(name, tenantId).exists(name);
        return await pipeline.exec<(string | number | null)[]>();
      }, true);
      for (const [at, name] of unseen.entries()) {
        const [own, exists] = [read[2 * at], read[2 * at + 1]];
        if (typeof own === "string") this.#seen.set(tenantId + name, placeOf(own));
        else if (exists === 1) foreign.add(name);
      }
    }
    return names.map((name) => (foreign.has(name) ? "foreign" : (this.#seen.get(tenantId + name) ?? null)));
  }

  async remember(tenantId: string, ids: readonly string[], place: ObjectPlace): Promise<void> {
    const names = ids.map(nameOf);
    for (const name of names) this.#seen.set(tenantId + name, place);
    const work = this.#client.run(async (redis) => {
      const pipeline = redis.pipeline();
      for (const name of names)
        pipeline.hset(name, { [tenantId]: `${place.upstream}\n${place.model}` }).expire(name, KEPT_SECS);
      return await pipeline.exec();
    }, true);
    await work.catch(() => undefined);
  }
}

function nameOf(id: string): string {
  return storeKeys.upstreamObject(sha256Hex(id));
}

function placeOf(stored: string): ObjectPlace {
  const end = stored.indexOf("\n");
  return { upstream: stored.slice(0, end), model: stored.slice(end + 1) };
}
