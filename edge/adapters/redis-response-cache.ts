/**
 * The response cache in the key-value store (decisions §21). Key revision and entry come in one round trip. A store that
 * fails is a miss, and an answer that cannot be stored is only told to the operators.
 */
import * as z from "zod";
import { issues } from "../../shared/alerts.ts";
import { type ResolvedKey, resolvedKeySchema, storeKeys } from "../../shared/records.ts";
import type { Alerts, CacheEntry, ResponseCache } from "../ports.ts";
import { type RedisClient, StoreDown } from "./redis-client.ts";

const entrySchema = z.object({
  v: z.literal(1),
  path: z.string(),
  status: z.literal(200),
  content_type: z.string(),
  body_b64: z.string(),
  input_tokens: z.number(),
  output_tokens: z.number(),
  stored_at_ms: z.number(),
});

export class RedisResponseCache implements ResponseCache {
  readonly #client: RedisClient;
  readonly #alerts: Alerts;

  constructor(client: RedisClient, alerts: Alerts) {
    this.#client = client;
    this.#alerts = alerts;
  }

  async lookup(
    tenantId: string,
    digest: string,
    keyHash: string,
  ): Promise<{ entry: CacheEntry | null; key: ResolvedKey | null }> {
    try {
      const names = [storeKeys.cache(tenantId, digest), storeKeys.key(keyHash)];
      const [entry, key] = await this.#client.run(async (redis) => await redis.mget<(string | null)[]>(...names));
      return { entry: read(entrySchema, entry), key: read(resolvedKeySchema, key) };
    } catch (error) {
      this.#failed("lookup", error);
      return { entry: null, key: null };
    }
  }

  async store(tenantId: string, digest: string, entry: CacheEntry, ttlSecs: number): Promise<void> {
    try {
      await this.#client.run(
        async (redis) => await redis.set(storeKeys.cache(tenantId, digest), JSON.stringify(entry), { ex: ttlSecs }),
      );
    } catch (error) {
      this.#failed("store", error);
    }
  }

  #failed(work: "lookup" | "store", error: unknown): void {
    this.#alerts.raise(
      issues.responseCacheFailed(work, error instanceof StoreDown ? error.message : "unreadable entry"),
    );
  }
}

function read<T>(schema: z.ZodType<T>, text: string | null | undefined): T | null {
  if (text === null || text === undefined) return null;
  const parsed = schema.safeParse(JSON.parse(text));
  return parsed.success ? parsed.data : null;
}
