/**
 * Brings every hot copy in line with the database (decisions §2.7): at start all of them, and every five minutes only what
 * differs. Copies without a row are removed. Streams in batches, so that 50,000 keys need no more memory than a hundred.
 */
import { asc, gt, sql } from "drizzle-orm";
import { storeKeys } from "../../shared/records.ts";
import type { Database } from "../db/connect.ts";
import { mcpServers } from "../db/schema/mcp-servers.ts";
import { models } from "../db/schema/models.ts";
import { apiKeys } from "../db/schema/tenancy.ts";
import { buildCopies, COPY_KINDS } from "./build-copies.ts";
import type { Cells } from "./cells.ts";
import type { KeyStore } from "./key-store.ts";
import type { OutboxPublisher } from "./outbox-publisher.ts";

const BATCH = 200;

export interface ResyncReport {
  readonly keys: number;
  readonly models: number;
  readonly mcp_servers: number;
  readonly removed: number;
}

export class Resync {
  readonly #db: Database;
  readonly #store: KeyStore;
  readonly #cells: Cells;
  readonly #publisher: OutboxPublisher;

  constructor(db: Database, store: KeyStore, cells: Cells, publisher: OutboxPublisher) {
    this.#db = db;
    this.#store = store;
    this.#cells = cells;
    this.#publisher = publisher;
  }

  /** Rewrites every copy and outdates everything that was read before. Rejects when the store or a cell does not answer. */
  async all(): Promise<ResyncReport> {
    const report = await this.#walk(async (hotKeys) => await this.#publisher.refresh(hotKeys));
    const { rows } = (await this.#db.execute(sql`SELECT nextval('config_rev') AS rev`)) as unknown as {
      rows: { rev: string | number }[];
    };
    const missing = await this.#cells.invalidate([{ kind: "all", id: "*", rev: Number(rows[0]?.rev) }], true);
    await this.#store.announce(["*"]);
    if (missing.length > 0) throw new Error(`not confirmed by ${missing.join(", ")}`);
    return report;
  }

  /** Rewrites only copies that differ from their rows. */
  async differing(): Promise<ResyncReport> {
    return await this.#walk(async (hotKeys) => {
      const held = await this.#store.get(hotKeys);
      const texts = await buildCopies(this.#db, hotKeys);
      const stale = hotKeys.filter((name, at) => held[at] !== (texts.get(name) ?? null));
      await this.#publisher.refresh(stale);
    });
  }

  async #walk(visit: (hotKeys: readonly string[]) => Promise<void>): Promise<ResyncReport> {
    let keys = 0;
    for await (const batch of this.#keyHashes()) {
      await visit(batch.map(storeKeys.key));
      keys += batch.length;
    }
    const names = (await this.#db.select({ name: models.model_name }).from(models)).map((row) => row.name);
    for (let at = 0; at < names.length; at += BATCH) await visit(names.slice(at, at + BATCH).map(storeKeys.model));
    const servers = (await this.#db.select({ name: mcpServers.name }).from(mcpServers)).map((row) => row.name);
    for (let at = 0; at < servers.length; at += BATCH) await visit(servers.slice(at, at + BATCH).map(storeKeys.mcp));
    return { keys, models: names.length, mcp_servers: servers.length, removed: await this.#removeGone() };
  }

  async *#keyHashes(): AsyncGenerator<readonly string[]> {
    let after = "";
    for (;;) {
      const rows = await this.#db
        .select({ hash: apiKeys.key_hash })
        .from(apiKeys)
        .where(gt(apiKeys.key_hash, after))
        .orderBy(asc(apiKeys.key_hash))
        .limit(BATCH);
      if (rows.length === 0) return;
      yield rows.map((row) => row.hash);
      after = rows.at(-1)?.hash ?? after;
    }
  }

  /** Copies that no row stands behind. The refresh under lock removes them, unless a row has come meanwhile. */
  async #removeGone(): Promise<number> {
    let removed = 0;
    for (const kind of COPY_KINDS) {
      for await (const names of this.#store.scan(`${kind}:*`)) {
        const texts = await buildCopies(this.#db, names);
        const gone = names.filter((name) => !texts.has(name));
        await this.#publisher.refresh(gone);
        removed += gone.length;
      }
    }
    return removed;
  }
}
