/**
 * The response cache in the key-value store (decisions §21). A store that fails is a miss, and an answer that cannot be
 * stored is only told to the operators.
 */
import * as z from "zod";
import { issues } from "../../shared/alerts.ts";
import { storeKeys } from "../../shared/records.ts";
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
  origin: z.string(),
});

export class RedisResponseCache implements ResponseCache {
  readonly #client: RedisClient;
  readonly #alerts: Alerts;

  constructor(client: RedisClient, alerts: Alerts) {
    this.#client = client;
    this.#alerts = alerts;
  }

  async lookup(tenantId: string, digest: string): Promise<CacheEntry | null> {
    try {
      const name = storeKeys.cache(tenantId, digest);
      const text = await this.#client.run(async (redis) => await redis.get<string>(name));
      return text === null ? null : (entrySchema.safeParse(JSON.parse(text)).data ?? null);
    } catch (error) {
      this.#failed("lookup", error);
      return null;
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
