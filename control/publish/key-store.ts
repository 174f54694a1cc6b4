/**
 * The key-value store as the control service writes it: hot copies, the model index, and the news of changes.
 */
import { Redis } from "@upstash/redis";
import { type CellSeen, cellSeenSchema, storeKeys } from "../../shared/records.ts";

const DEADLINE_MS = 1000;

/** What is to stand in the store: text, or null for nothing. */
export interface HotCopy {
  readonly hotKey: string;
  readonly text: string | null;
}

export class KeyStore {
  readonly #redis: Redis;

  constructor(url: string, token: string) {
    this.#redis = new Redis({
      url,
      token,
      retry: false,
      signal: () => AbortSignal.timeout(DEADLINE_MS),
      automaticDeserialization: false,
      enableTelemetry: false,
    });
  }

  /** Writes and removes copies, models with their place in the index. Rejects when the store does not answer. */
  async put(copies: readonly HotCopy[]): Promise<void> {
    if (copies.length === 0) return;
    const pipeline = this.#redis.pipeline();
    for (const { hotKey, text } of copies) {
      const model = hotKey.startsWith("model:") ? hotKey.slice("model:".length) : null;
      if (text === null) {
        pipeline.del(hotKey);
        if (model !== null) pipeline.srem(storeKeys.modelsIndex, model);
      } else {
        pipeline.set(hotKey, text);
        if (model !== null) pipeline.sadd(storeKeys.modelsIndex, model);
      }
    }
    await pipeline.exec();
  }

  async get(hotKeys: readonly string[]): Promise<readonly (string | null)[]> {
    return hotKeys.length === 0 ? [] : await this.#redis.mget<(string | null)[]>(...hotKeys);
  }

  /** Every name that matches a pattern, in batches. */
  async *scan(pattern: string): AsyncGenerator<readonly string[]> {
    let cursor = "0";
    do {
      const [next, names] = await this.#redis.scan(cursor, { match: pattern, count: 500 });
      cursor = String(next);
      if (names.length > 0) yield names;
    } while (cursor !== "0");
  }

  async announce(messages: readonly string[]): Promise<void> {
    if (messages.length === 0) return;
    const pipeline = this.#redis.pipeline();
    for (const message of messages) pipeline.publish(storeKeys.invalidateChannel, message);
    await pipeline.exec();
  }

  /** What cells have reported of themselves; malformed rows are passed over. */
  async cells(): Promise<ReadonlyMap<string, CellSeen>> {
    const hash = (await this.#redis.hgetall<Record<string, unknown>>(storeKeys.cells)) ?? {};
    return new Map(
      Object.entries(hash).flatMap(([cell, text]) => {
        const seen = cellSeenSchema.safeParse(typeof text === "string" ? JSON.parse(text) : text);
        return seen.success ? [[cell, seen.data] as const] : [];
      }),
    );
  }

  async forgetCell(cell: string): Promise<void> {
    await this.#redis.hdel(storeKeys.cells, cell);
  }
}
