/**
 * Owners of MCP server sessions, in the key-value store (docs/rules/mcp.md#sessions), by the hash of the session id, for 24
 * hours after the last use. An index for each tenant bounds how many it has; those unused for the longest time are dropped
 * first. Sessions that this isolate has seen are in its memory too: they continue while the store is unavailable. The owners of
 * all others are unknown then.
 */

import { LRUCache } from "lru-cache";
import { sha256Hex } from "../../shared/crypto/sha256.ts";
import { storeKeys } from "../../shared/records.ts";
import type { Clock, McpSessions } from "../ports.ts";
import type { RedisClient } from "./redis-client.ts";

const KEPT_SECS = 24 * 60 * 60;
/** Sessions in the memory of an isolate. */
const SEEN_MAX = 5_000;
const FORGOTTEN_AT_ONCE = 1_000;

interface McpSessionsOptions {
  readonly client: Pick<RedisClient, "run">;
  readonly clock: Clock;
  /** Most sessions of one tenant. */
  readonly perTenant: number;
}

export class RedisMcpSessions implements McpSessions {
  readonly #options: McpSessionsOptions;
  /** The tenants by the names of the store. */
  readonly #seen = new LRUCache<string, string>({ max: SEEN_MAX });

  constructor(options: McpSessionsOptions) {
    this.#options = options;
  }

  async owners(server: string, ids: readonly string[]): Promise<readonly string[]> {
    const names = namesOf(server, ids);
    const read = async (): Promise<readonly (string | null)[]> =>
      await this.#options.client.run(async (redis) => await redis.mget<(string | null)[]>(...names), true);
    try {
      const found = await read();
      // A store that was emptied, or did not take an owner, does not make known owners unknown.
      for (const [at, name] of names.entries()) this.#see(name, found[at] ?? this.#seen.get(name) ?? null);
    } catch (error) {
      if (!names.every((name) => this.#seen.has(name))) throw error;
    }
    return names.flatMap((name) => this.#seen.get(name) ?? []);
  }

  async remember(server: string, ids: readonly string[], tenantId: string): Promise<void> {
    const names = namesOf(server, ids);
    for (const name of names) this.#see(name, tenantId);
    await this.#keep(names, tenantId).catch(() => undefined);
  }

  async renew(server: string, ids: readonly string[], tenantId: string): Promise<void> {
    const own = namesOf(server, ids).filter((name) => this.#seen.get(name) === tenantId);
    await this.#keep(own, tenantId).catch(() => undefined);
  }

  async forget(server: string, ids: readonly string[], tenantId: string): Promise<void> {
    await this.#drop(namesOf(server, ids), tenantId).catch(() => undefined);
  }

  #see(name: string, tenantId: string | null): void {
    if (tenantId === null) this.#seen.delete(name);
    else this.#seen.set(name, tenantId);
  }

  async #keep(names: readonly string[], tenantId: string): Promise<void> {
    const { client, clock, perTenant } = this.#options;
    const index = storeKeys.mcpSessionsOf(tenantId);
    const [first, ...others] = names.map((member) => ({ score: clock(), member }));
    if (first === undefined) return;
    const answers = await client.run(async (redis) => {
      // The index comes first: an entry without it would not count.
      const pipeline = redis
        .pipeline()
        .zadd(index, first, ...others)
        .expire(index, KEPT_SECS);
      for (const name of names) pipeline.set(name, tenantId, { ex: KEPT_SECS });
      return await pipeline.zcard(index).exec<unknown[]>();
    }, true);
    if (Number(answers.at(-1)) <= perTenant) return;
    // In one transaction: between the two, another isolate could forget some.
    const [count, idlest] = await client.run(
      async (redis) =>
        await redis
          .multi()
          .zcard(index)
          .zrange<string[]>(index, 0, FORGOTTEN_AT_ONCE - 1)
          .exec(),
    );
    const surplus = idlest.slice(0, Math.max(0, Number(count) - perTenant));
    if (surplus.length === 0) return;
    // A session that has expired may belong to another tenant by now.
    const owners = await client.run(async (redis) => await redis.mget<(string | null)[]>(...surplus));
    await client.run(async (redis) => await redis.zrem(index, ...surplus));
    await this.#drop(
      surplus.filter((_, at) => owners[at] === tenantId),
      tenantId,
    );
  }

  async #drop(names: readonly string[], tenantId: string): Promise<void> {
    for (const name of names) this.#see(name, null);
    if (names.length === 0) return;
    await this.#options.client.run(
      async (redis) =>
        await redis
          .pipeline()
          .del(...names)
          .zrem(storeKeys.mcpSessionsOf(tenantId), ...names)
          .exec(),
    );
  }
}

function namesOf(server: string, ids: readonly string[]): string[] {
  return ids.map((id) => storeKeys.mcpSession(server, sha256Hex(id)));
}
