/**
 * Owners of MCP server sessions, in the key-value store (docs/rules/mcp.md#sessions), by the hash of the session id,
 * for 24 hours after the last use. While the store is unavailable no owner is known and calls are allowed: serving a
 * call is more important than guarding ids that cannot be guessed.
 */

import { sha256Hex } from "../../shared/crypto/sha256.ts";
import { storeKeys } from "../../shared/records.ts";
import type { McpSessions } from "../ports.ts";
import type { RedisClient } from "./redis-client.ts";

const KEPT_SECS = 24 * 60 * 60;

export class RedisMcpSessions implements McpSessions {
  readonly #client: Pick<RedisClient, "run">;

  constructor(client: Pick<RedisClient, "run">) {
    this.#client = client;
  }

  async owners(server: string, ids: readonly string[]): Promise<readonly string[]> {
    const read = this.#client.run(async (redis) => await redis.mget<(string | null)[]>(...namesOf(server, ids)));
    const found = await read.catch((): (string | null)[] => []);
    return found.flatMap((owner) => owner ?? []);
  }

  async remember(server: string, ids: readonly string[], tenantId: string): Promise<void> {
    await this.#each(server, ids, (pipeline, name) => pipeline.set(name, tenantId, { ex: KEPT_SECS }));
  }

  async renew(server: string, ids: readonly string[]): Promise<void> {
    await this.#each(server, ids, (pipeline, name) => pipeline.expire(name, KEPT_SECS));
  }

  async forget(server: string, ids: readonly string[]): Promise<void> {
    await this.#client.run(async (redis) => await redis.del(...namesOf(server, ids))).catch(() => undefined);
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
    });
    await work.catch(() => undefined);
  }
}

type Pipeline = ReturnType<Parameters<Parameters<RedisClient["run"]>[0]>[0]["pipeline"]>;

function namesOf(server: string, ids: readonly string[]): string[] {
  return ids.map((id) => storeKeys.mcpSession(server, sha256Hex(id)));
}
