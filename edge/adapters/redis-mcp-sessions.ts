/**
 * Owners of MCP server sessions, in the key-value store (docs/rules/mcp.md#sessions), by the hash of the session id,
 * for 24 hours after the last use. What this isolate has seen is in its memory too: those sessions go on while the store is
 * away. For all others nobody knows then whose they are.
 */

import { LRUCache } from "lru-cache";
import { sha256Hex } from "../../shared/crypto/sha256.ts";
import { storeKeys } from "../../shared/records.ts";
import type { McpSessions } from "../ports.ts";
import type { RedisClient } from "./redis-client.ts";

const KEPT_SECS = 24 * 60 * 60;
/** Sessions in the memory of an isolate. */
const SEEN_MAX = 5_000;

export class RedisMcpSessions implements McpSessions {
  readonly #client: Pick<RedisClient, "run">;
  /** The tenants by the names of the store. */
  readonly #seen = new LRUCache<string, string>({ max: SEEN_MAX });

  constructor(client: Pick<RedisClient, "run">) {
    this.#client = client;
  }

  async owners(server: string, ids: readonly string[]): Promise<readonly string[]> {
    const names = namesOf(server, ids);
    const read = async (): Promise<readonly (string | null)[]> =>
      await this.#client.run(async (redis) => await redis.mget<(string | null)[]>(...names), true);
    try {
      const found = await read();
      // A store that was emptied, or did not take an owner, does not make what is known here unknown.
      for (const [at, name] of names.entries()) this.#see(name, found[at] ?? this.#seen.get(name) ?? null);
    } catch (error) {
      if (!names.every((name) => this.#seen.has(name))) throw error;
    }
    return names.flatMap((name) => this.#seen.get(name) ?? []);
  }

  async remember(server: string, ids: readonly string[], tenantId: string): Promise<void> {
    for (const name of namesOf(server, ids)) this.#see(name, tenantId);
    await this.#each(server, ids, (pipeline, name) => pipeline.set(name, tenantId, { ex: KEPT_SECS }));
  }

  async renew(server: string, ids: readonly string[]): Promise<void> {
    await this.#each(server, ids, (pipeline, name) => {
      const owner = this.#seen.get(name);
      return owner === undefined ? pipeline.expire(name, KEPT_SECS) : pipeline.set(name, owner, { ex: KEPT_SECS });
    });
  }

  async forget(server: string, ids: readonly string[]): Promise<void> {
    for (const name of namesOf(server, ids)) this.#see(name, null);
    await this.#client.run(async (redis) => await redis.del(...namesOf(server, ids))).catch(() => undefined);
  }

  #see(name: string, tenantId: string | null): void {
    if (tenantId === null) this.#seen.delete(name);
    else this.#seen.set(name, tenantId);
  }

  async #each(
    server: string,
    ids: readonly string[],
    add: (pipeline: Pipeline, name: string) => unknown,
  ): Promise<void> {
    const work = this.#client.run(async (redis) => {
      const pipeline = redis.pipeline();
      for (const name of namesOf(server, ids)) add(pipeline, name);
      return await pipeline.exec();
    }, true);
    await work.catch(() => undefined);
  }
}

type Pipeline = ReturnType<Parameters<Parameters<RedisClient["run"]>[0]>[0]["pipeline"]>;

function namesOf(server: string, ids: readonly string[]): string[] {
  return ids.map((id) => storeKeys.mcpSession(server, sha256Hex(id)));
}
