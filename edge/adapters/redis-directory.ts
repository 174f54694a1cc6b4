/**
 * The Directory over the key-value store: isolate memory first, then the store, never the relational database (design §5).
 * While the store is down a copy in memory keeps serving, unless the Cell has called it stale.
 */
import type { z } from "zod";
import { issues, type LookupKind } from "../../shared/alerts.ts";
import { GatewayError } from "../../shared/errors.ts";
import type { RevItem } from "../../shared/internal.ts";
import {
  type HotSetting,
  type McpServerRecord,
  type ModelRecord,
  mcpServerRecordSchema,
  modelRecordSchema,
  type ResolvedKey,
  resolvedKeySchema,
  type SettingsRecord,
  settingsRecordSchema,
  storeKeys,
} from "../../shared/records.ts";
import type { Alerts, Clock, Directory, Found, LookupOptions } from "../ports.ts";
import { RecordCache } from "./record-cache.ts";
import { type RedisClient, StoreDown } from "./redis-client.ts";

const KEY_BYTES = 16 * 1024 * 1024;
const MODEL_BYTES = 8 * 1024 * 1024;
const MCP_BYTES = 1024 * 1024;
const SETTINGS_BYTES = 1024 * 1024;
/** Names asked for in one MGET. */
const MGET_BATCH = 200;

export class RedisDirectory implements Directory {
  readonly #client: RedisClient;
  readonly #keys: RecordCache<ResolvedKey>;
  readonly #models: RecordCache<ModelRecord>;
  readonly #mcpServers: RecordCache<McpServerRecord>;
  readonly #settings: RecordCache<SettingsRecord>;
  readonly #alerts: Alerts;
  #epoch = 0;

  constructor(client: RedisClient, clock: Clock, keepAlive: (work: Promise<unknown>) => void, alerts: Alerts) {
    this.#alerts = alerts;
    this.#client = client;
    this.#keys = new RecordCache(KEY_BYTES, clock, keepAlive);
    this.#models = new RecordCache(MODEL_BYTES, clock, keepAlive);
    this.#mcpServers = new RecordCache(MCP_BYTES, clock, keepAlive);
    this.#settings = new RecordCache(SETTINGS_BYTES, clock, keepAlive);
  }

  async key(keyHash: string, options: LookupOptions = {}): Promise<Found<ResolvedKey> | null> {
    return await this.#find("key", this.#keys, keyHash, storeKeys.key(keyHash), resolvedKeySchema, options);
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
      const names = await this.#client.run(async (redis) => await redis.smembers(storeKeys.modelsIndex));
      const records: ModelRecord[] = [];
      for (let at = 0; at < names.length; at += MGET_BATCH) {
        const keys = names.slice(at, at + MGET_BATCH).map(storeKeys.model);
        const texts = await this.#client.run(async (redis) => await redis.mget<(string | null)[]>(...keys));
        for (const text of texts) if (text !== null) records.push(modelRecordSchema.parse(JSON.parse(text)));
      }
      return records.sort((a, b) => (a.model_name < b.model_name ? -1 : 1));
    } catch (error) {
      this.#failed("model", error);
      throw new GatewayError("key_store_unavailable", { cause: error });
    }
  }

  forget(items: readonly RevItem[]): void {
    for (const { kind, id, rev } of items) {
      switch (kind) {
        case "key":
          this.#keys.drop(id);
          break;
        case "tenant":
          this.#keys.dropWhere((key) => key.tenant?.id === id && key.tenant.rev < rev);
          break;
        case "group":
          this.#keys.dropWhere((key) => key.tenant?.fairshare_group === id && key.tenant.group_rev < rev);
          break;
        case "model":
          this.#models.drop(id);
          break;
        case "mcp":
          this.#mcpServers.drop(id);
          break;
        case "settings":
          this.#settings.drop(id);
          break;
        case "all":
          for (const cache of [this.#keys, this.#models, this.#mcpServers, this.#settings]) cache.clear();
          this.#epoch = Math.max(this.#epoch, rev);
          break;
        default:
          kind satisfies never;
      }
    }
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
      const record = await cache.read(
        name,
        async () => {
          const text = await this.#client.run(async (redis) => await redis.get<string>(storeKey));
          return text === null ? null : schema.parse(JSON.parse(text));
        },
        options.fresh === true,
      );
      return record === null ? null : { record, source: "store" };
    } catch (error) {
      this.#failed(kind, error);
      const old = error instanceof StoreDown ? cache.whenDown(name) : null;
      if (old !== null) return { record: old, source: "store" };
      throw new GatewayError("key_store_unavailable", { cause: error });
    }
  }

  /** Settings have no alert of their own: whoever reads them reads keys and models too. */
  #failed(kind: LookupKind | null, error: unknown): void {
    if (kind === null) return;
    this.#alerts.raise(issues.lookupFailed(kind, error instanceof StoreDown ? error.message : "unreadable record"));
  }
}
