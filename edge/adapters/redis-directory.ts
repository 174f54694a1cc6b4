/**
 * The Directory over the key-value store: it reads the isolate's memory first, then the store, never the relational
 * database (docs/rules/freshness.md#revisions). While the store is down a copy in memory stays in use, unless the Cell
 * has reported it as stale.
 */
import type { Redis } from "@upstash/redis/cloudflare";
import { LRUCache } from "lru-cache";
import type { z } from "zod";
import { issues, type LookupKind } from "../../shared/alerts.ts";
import { GatewayError } from "../../shared/errors.ts";
import {
  type HotSetting,
  type McpServerRecord,
  type ModelRecord,
  mcpServerRecordSchema,
  modelRecordSchema,
  type ResolvedKey,
  readyFloorOf,
  resolvedKeySchema,
  type SettingsRecord,
  settingsRecordSchema,
  storeKeys,
} from "../../shared/records.ts";
import type { RevItem } from "../../shared/wire/internal.ts";
import type { Alerts, Clock, Directory, Found, LookupOptions } from "../ports.ts";
import { RecordCache } from "./record-cache.ts";
import { type RedisClient, StoreDown } from "./redis-client.ts";

const KEY_BYTES = 16 * 1024 * 1024;
const MODEL_BYTES = 8 * 1024 * 1024;
const MCP_BYTES = 1024 * 1024;
const SETTINGS_BYTES = 1024 * 1024;
/** Most entries; when one of them is removed, the only cost is a further read. */
const HEEDED_MAX = 10_000;
/** Names in one MGET. */
const MGET_BATCH = 200;

/** The store answers, but it was emptied and is not filled yet: a missing record may exist. */
class StoreUnfilled extends StoreDown {
  constructor() {
    super("the store was emptied, and is being filled");
  }
}

export class RedisDirectory implements Directory {
  readonly #client: Pick<RedisClient, "run">;
  readonly #keys: RecordCache<ResolvedKey>;
  readonly #models: RecordCache<ModelRecord>;
  readonly #mcpServers: RecordCache<McpServerRecord>;
  readonly #settings: RecordCache<SettingsRecord>;
  readonly #alerts: Alerts;
  readonly #askToFill: () => void;
  /** For each changed record the newest revision for which reads were started again. */
  readonly #heeded = new LRUCache<string, number>({ max: HEEDED_MAX });
  #epoch = 0;

  /** `askToFill` is called when the store lacks a record because it was emptied. */
  constructor(
    client: Pick<RedisClient, "run">,
    clock: Clock,
    keepAlive: (work: Promise<unknown>) => void,
    alerts: Alerts,
    askToFill: () => void,
  ) {
    this.#alerts = alerts;
    this.#askToFill = askToFill;
    this.#client = client;
    this.#keys = new RecordCache(KEY_BYTES, clock, keepAlive);
    this.#models = new RecordCache(MODEL_BYTES, clock, keepAlive);
    this.#mcpServers = new RecordCache(MCP_BYTES, clock, keepAlive);
    this.#settings = new RecordCache(SETTINGS_BYTES, clock, keepAlive);
  }

  async key(keyHash: string, options: LookupOptions = {}): Promise<Found<ResolvedKey> | null> {
    const { oldHashes = [] } = options;
    const find = async (hash: string) =>
      await this.#find("key", this.#keys, hash, storeKeys.key(hash), resolvedKeySchema, options);
    if (oldHashes.length === 0) return await find(keyHash);
    const hashes = [keyHash, ...oldHashes];
    const held = options.fresh === true ? undefined : hashes.find((hash) => this.#keys.fresh(hash) !== null);
    if (held !== undefined) return await find(held);
    // One command for all of them: a client that sends a wrong key makes the store work no more than without a rotation.
    const known = await this.#whichOf(hashes);
    if (known === null) return null;
    // A hash that was renewed meanwhile: its new copy is written before the old one is deleted.
    return (await find(known)) ?? (known === keyHash ? null : await find(keyHash));
  }

  /** The hash under which there is a copy, or may be one; null: no hash has one. */
  async #whichOf(hashes: readonly string[]): Promise<string | null> {
    try {
      const names = hashes.map(storeKeys.key);
      const { filled, texts } = await this.#indispensable(async (redis) => await copiesOf(redis, names));
      const known = hashes.find((_, at) => texts[at] !== null && texts[at] !== undefined);
      return known ?? (filled ? null : (hashes[0] ?? null));
    } catch {
      return hashes.find((hash) => this.#keys.staleIfError(hash) !== null) ?? hashes[0] ?? null;
    }
  }

  async model(modelName: string, options: LookupOptions = {}): Promise<Found<ModelRecord> | null> {
    return await this.#find("model", this.#models, modelName, storeKeys.model(modelName), modelRecordSchema, options);
  }

  async mcpServer(name: string, options: LookupOptions = {}): Promise<Found<McpServerRecord> | null> {
    return await this.#find("mcp", this.#mcpServers, name, storeKeys.mcp(name), mcpServerRecordSchema, options);
  }

  async settings(name: HotSetting, options: LookupOptions = {}): Promise<Found<SettingsRecord> | null> {
    return await this.#find(null, this.#settings, name, storeKeys.settings(name), settingsRecordSchema, options);
  }

  async models(): Promise<readonly ModelRecord[]> {
    try {
      // A list that was read while the store was being filled may lack models.
      const { filled: wasFilled } = await this.#indispensable(async (redis) => await copiesOf(redis, []));
      if (!wasFilled) throw new StoreUnfilled();
      const names = await this.#indispensable(async (redis) => await redis.smembers(storeKeys.modelsIndex));
      const records: ModelRecord[] = [];
      for (let at = 0; at === 0 || at < names.length; at += MGET_BATCH) {
        const keys = names.slice(at, at + MGET_BATCH).map(storeKeys.model);
        const { filled, texts } = await this.#indispensable(async (redis) => await copiesOf(redis, keys));
        if (!filled) throw new StoreUnfilled();
        for (const text of texts) if (text !== null) records.push(modelRecordSchema.parse(JSON.parse(text)));
      }
      return records.sort((a, b) => (a.model_name < b.model_name ? -1 : 1));
    } catch (error) {
      this.#failed("model", error);
      throw unavailable(error);
    }
  }

  /** Whether the store has every record. Throws StoreDown. */
  async isFilled(): Promise<boolean> {
    return (await this.#client.run(async (redis) => await copiesOf(redis, []))).filled;
  }

  forget(items: readonly RevItem[]): void {
    for (const item of items) {
      const { kind, id, rev } = item;
      switch (kind) {
        case "key":
          this.#forgetIn(
            this.#keys,
            item,
            this.#keys.drop(id, (key) => key.rev < rev),
          );
          break;
        case "tenant":
          this.#forgetIn(
            this.#keys,
            item,
            this.#keys.dropWhere((key) => key.tenant?.id === id && key.tenant.rev < rev),
          );
          break;
        case "group":
          this.#forgetIn(
            this.#keys,
            item,
            this.#keys.dropWhere((key) => key.tenant?.fairshare_group === id && key.tenant.group_rev < rev),
          );
          break;
        case "model":
          this.#forgetIn(
            this.#models,
            item,
            this.#models.drop(id, (model) => model.rev < rev),
          );
          break;
        case "mcp":
          this.#forgetIn(
            this.#mcpServers,
            item,
            this.#mcpServers.drop(id, (server) => server.rev < rev),
          );
          break;
        case "settings":
          this.#forgetIn(
            this.#settings,
            item,
            this.#settings.drop(id, (settings) => settings.rev < rev),
          );
          break;
        case "all":
          if (rev <= this.#epoch) break;
          for (const cache of [this.#keys, this.#models, this.#mcpServers, this.#settings]) cache.clear();
          this.#epoch = rev;
          break;
        default:
          kind satisfies never;
      }
    }
  }

  /**
   * Many requests learn of one change at once. The first one makes all later lookups read again. The others use any read that
   * started since then: otherwise a burst would read the store once per request.
   */
  #forgetIn<T extends object>(cache: RecordCache<T>, { kind, id, rev }: RevItem, dropped: boolean): void {
    const name = `${kind} ${id}`;
    if (!dropped && (this.#heeded.get(name) ?? 0) >= rev) return;
    this.#heeded.set(name, rev);
    cache.distrust();
  }

  epoch(): number {
    return this.#epoch;
  }

  async #find<T extends object>(
    kind: LookupKind | null,
    cache: RecordCache<T>,
    name: string,
    storeKey: string,
    schema: z.ZodType<T>,
    options: LookupOptions,
  ): Promise<Found<T> | null> {
    const held = options.fresh === true ? null : cache.fresh(name);
    if (held !== null) return { record: held, source: "memory" };
    try {
      const load = async (): Promise<T | null> => {
        const get = async (redis: Redis) => await copiesOf(redis, [storeKey]);
        const isIndispensable = options.fresh === true || cache.staleIfError(name) === null;
        const { filled, texts } = await (isIndispensable ? this.#indispensable(get) : this.#client.run(get));
        const text = texts[0] ?? null;
        if (text === null && !filled) throw new StoreUnfilled();
        return text === null ? null : schema.parse(JSON.parse(text));
      };
      let read = await cache.read(name, load, options.fresh === true);
      // An earlier lookup of another request may have missed a record that exists by now. A read that is joined here started
      // after this lookup.
      if (read.record === null && read.joined) read = await cache.read(name, load, false);
      const { record, joined } = read;
      return record === null ? null : { record, source: joined ? "memory" : "store" };
    } catch (error) {
      this.#failed(kind, error);
      const old = error instanceof StoreDown ? cache.staleIfError(name) : null;
      if (old !== null) return { record: old, source: "memory" };
      throw unavailable(error);
    }
  }

  /**
   * A read without which a request would be refused: when it fails it is repeated once, with patience, because on a busy machine the
   * store is late, not down. Throws StoreDown.
   */
  async #indispensable<T>(work: (redis: Redis) => Promise<T>): Promise<T> {
    return await this.#client.run(work).catch(async () => await this.#client.run(work, true));
  }

  /**
   * Settings have no alert of their own: requests that read settings read keys and models too, which have one. The control
   * service raises the alert for an emptied store.
   */
  #failed(kind: LookupKind | null, error: unknown): void {
    if (error instanceof StoreUnfilled) this.#askToFill();
    else if (kind !== null)
      this.#alerts.raise(issues.lookupFailed(kind, error instanceof StoreDown ? error.message : "unreadable record"));
  }
}

/** Copies, null where there is none, and whether the store is complete: read in one command, so that both are of one moment. */
async function copiesOf(
  redis: Redis,
  keys: readonly string[],
): Promise<{ readonly filled: boolean; readonly texts: readonly (string | null)[] }> {
  const [mark, ...texts] = await redis.mget<(string | null)[]>(storeKeys.ready, ...keys);
  return { filled: readyFloorOf(mark) !== null, texts };
}

const unavailable = (cause: unknown): GatewayError =>
  new GatewayError("key_store_unavailable", { cause, headers: { "retry-after": "1" } });
