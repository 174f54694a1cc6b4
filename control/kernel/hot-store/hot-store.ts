/**
 * The key-value store as the control service writes it: hot copies, the index of models, and messages about changes. It
 * is reached over the REST protocol of Upstash or, in this service only, over the Redis protocol
 * (docs/rules/configuration.md#key-value-store).
 */
import { Redis } from "@upstash/redis";
import { GatewayError } from "../../../shared/errors.ts";
import { type CellSeen, cellSeenSchema, storeKeys } from "../../../shared/records.ts";
import type { StoreWatch } from "../store-watch.ts";
import { isNativeRedisUrl, NativeRedis } from "./native-redis.ts";

const DEADLINE_MS = 1000;

/** A value to store: text, or null to remove it. */
interface HotCopy {
  readonly hotKey: string;
  readonly text: string | null;
}

interface HotStoreOptions {
  readonly deadlineMs?: number;
  /** Learns whether each call has failed. */
  readonly watch?: Pick<StoreWatch, "failed" | "answered">;
}

/** Every method throws GatewayError `key_store_unavailable` when the store does not answer. */
export class HotStore {
  readonly #redis: Redis;
  readonly #watch: HotStoreOptions["watch"];

  /** `url`: `http(s)://` of a REST endpoint, which `token` is for, or `redis(s)://`. */
  constructor(url: string, token: string, { deadlineMs = DEADLINE_MS, watch }: HotStoreOptions = {}) {
    this.#watch = watch;
    this.#redis = isNativeRedisUrl(url)
      ? new NativeRedis(url, deadlineMs)
      : new Redis({
          url,
          token,
          retry: false,
          signal: () => AbortSignal.timeout(deadlineMs),
          automaticDeserialization: false,
          enableTelemetry: false,
        });
  }

  /** Closes the connection, if there is one. */
  close(): void {
    if (this.#redis instanceof NativeRedis) this.#redis.close();
  }

  /** Writes copies, then removes others; models together with their entry in the index. */
  async put(copies: readonly HotCopy[]): Promise<void> {
    if (copies.length === 0) return;
    const pipeline = this.#redis.pipeline();
    // the copy under a new name of a record is there before the one under its old name goes
    for (const { hotKey, text } of copies.toSorted((a, b) => Number(a.text === null) - Number(b.text === null))) {
      const model = hotKey.startsWith("model:") ? hotKey.slice("model:".length) : null;
      if (text === null) {
        pipeline.del(hotKey);
        if (model !== null) pipeline.srem(storeKeys.modelsIndex, model);
      } else {
        pipeline.set(hotKey, text);
        if (model !== null) pipeline.sadd(storeKeys.modelsIndex, model);
      }
    }
    await this.#answered(pipeline.exec());
  }

  /** Stores a text for some seconds. */
  async putWithTtl(name: string, text: string, secs: number): Promise<void> {
    await this.#answered(this.#redis.set(name, text, { ex: secs }));
  }

  /** Replaces a text; false when there is none under this name. */
  async replace(name: string, text: string): Promise<boolean> {
    return (await this.#answered(this.#redis.set(name, text, { xx: true }))) !== null;
  }

  /** Reserves a name for some seconds; false when it is already reserved. */
  async claim(name: string, secs: number): Promise<boolean> {
    return (await this.#answered(this.#redis.set(name, "1", { nx: true, ex: secs }))) !== null;
  }

  async get(hotKeys: readonly string[]): Promise<readonly (string | null)[]> {
    return hotKeys.length === 0 ? [] : await this.#answered(this.#redis.mget<(string | null)[]>(...hotKeys));
  }

  /** The names of the fields of a hash. */
  async hashFields(name: string): Promise<readonly string[]> {
    return await this.#answered(this.#redis.hkeys(name));
  }

  async hashValue(name: string, field: string): Promise<string | null> {
    return await this.#answered(this.#redis.hget<string>(name, field));
  }

  /** Names in the index of models. */
  async indexedModels(): Promise<readonly string[]> {
    return await this.#answered(this.#redis.smembers<string[]>(storeKeys.modelsIndex));
  }

  /** Every name that matches a pattern, in batches. */
  async *scan(pattern: string): AsyncGenerator<readonly string[]> {
    let cursor = "0";
    do {
      const [next, names] = await this.#answered(this.#redis.scan(cursor, { match: pattern, count: 500 }));
      cursor = String(next);
      if (names.length > 0) yield names;
    } while (cursor !== "0");
  }

  async announce(messages: readonly string[]): Promise<void> {
    if (messages.length === 0) return;
    const pipeline = this.#redis.pipeline();
    for (const message of messages) pipeline.publish(storeKeys.invalidateChannel, message);
    await this.#answered(pipeline.exec());
  }

  /** What cells have reported about themselves; malformed rows are skipped. */
  async cells(): Promise<ReadonlyMap<string, CellSeen>> {
    // Without automatic deserialization the client returns the reply as it was sent: names and values in turn.
    const reply = (await this.#answered(this.#redis.hgetall(storeKeys.cells))) as unknown as readonly string[] | null;
    const seen = new Map<string, CellSeen>();
    for (let i = 0; reply !== null && i + 1 < reply.length; i += 2) {
      const row = cellSeenSchema.safeParse(parseJson(reply[i + 1] ?? ""));
      if (row.success) seen.set(reply[i] ?? "", row.data);
    }
    return seen;
  }

  async forgetCell(cell: string): Promise<void> {
    await this.#answered(this.#redis.hdel(storeKeys.cells, cell));
  }

  async #answered<T>(call: Promise<T>): Promise<T> {
    try {
      const answer = await call;
      this.#watch?.answered();
      return answer;
    } catch (cause) {
      this.#watch?.failed(cause);
      throw new GatewayError("key_store_unavailable", { cause });
    }
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
