/**
 * The texts behind references, in the key-value store (docs/rules/compression.md#deduplication). A store that fails is
 * reported to the caller, which then leaves the texts where they are.
 */
import { storeKeys } from "../../shared/records.ts";
import { ORIGINALS_CHARS_MAX } from "../domain/prompts/repeats.ts";
import type { Originals } from "../ports.ts";
import type { RedisClient } from "./redis-client.ts";

/** Longer than anything is kept, and not too long for any store. */
const TTL_MAX_SECS = 2 ** 31 - 1;

export class RedisOriginals implements Originals {
  readonly #client: Pick<RedisClient, "run">;

  constructor(client: Pick<RedisClient, "run">) {
    this.#client = client;
  }

  async keep(tenantId: string, texts: ReadonlyMap<string, string>, ttlSecs: number): Promise<boolean> {
    if ([...texts.values()].reduce((sum, text) => sum + text.length, 0) > ORIGINALS_CHARS_MAX) return false;
    const ex = Math.min(ttlSecs, TTL_MAX_SECS);
    const work = this.#client.run(async (redis) => {
      const pipeline = redis.pipeline();
      for (const [sha256, text] of texts) pipeline.set(storeKeys.original(tenantId, sha256), text, { ex });
      return await pipeline.exec();
    });
    return await work.then(
      () => true,
      () => false,
    );
  }

  async load(tenantId: string, sha256: string): Promise<string | null> {
    const read = this.#client.run(async (redis) => await redis.get<string>(storeKeys.original(tenantId, sha256)));
    return await read.catch(() => null);
  }
}
