/**
 * Brings every hot copy in line with the database (decisions §2.7): all of them when asked to, and every five minutes only
 * what differs. Copies without a row are removed. What was read before is outdated by whoever asked, not here.
 */
import { storeKeys } from "../../shared/records.ts";
import type { Database } from "../db/connect.ts";
import { buildCopies, COPY_KINDS, type CopyCounts } from "./build-copies.ts";
import type { KeyStore } from "./key-store.ts";
import type { OutboxPublisher } from "./outbox-publisher.ts";

/** How many copies there are by their kind, and how many were removed. */
export interface ResyncReport extends CopyCounts {
  readonly removed: number;
}

export class Resync {
  readonly #db: Database;
  readonly #store: KeyStore;
  readonly #publisher: OutboxPublisher;

  constructor(db: Database, store: KeyStore, publisher: OutboxPublisher) {
    this.#db = db;
    this.#store = store;
    this.#publisher = publisher;
  }

  /** Rewrites every copy. Rejects when the store does not answer. */
  async all(): Promise<ResyncReport> {
    return await this.#walk(async (hotKeys) => await this.#publisher.refresh(hotKeys));
  }

  /** Rewrites only copies that differ from their rows, and models that are not in their index. */
  async differing(): Promise<ResyncReport> {
    const indexed = new Set((await this.#store.indexedModels()).map(storeKeys.model));
    return await this.#walk(async (hotKeys) => {
      const held = await this.#store.get(hotKeys);
      const texts = await buildCopies(this.#db, hotKeys);
      const stale = hotKeys.filter(
        (name, at) => held[at] !== (texts.get(name) ?? null) || (name.startsWith("model:") && !indexed.has(name)),
      );
      await this.#publisher.refresh(stale);
    });
  }

  async #walk(visit: (hotKeys: readonly string[]) => Promise<void>): Promise<ResyncReport> {
    const report = { keys: 0, models: 0, mcp_servers: 0, settings: 0, removed: 0 };
    for (const { counted, prefix, ids } of COPY_KINDS) {
      for await (const batch of ids(this.#db)) {
        await visit(batch.map((id) => `${prefix}:${id}`));
        report[counted] += batch.length;
      }
      for await (const names of this.#store.scan(`${prefix}:*`)) report.removed += await this.#removeGone(names);
    }
    report.removed += await this.#removeGone((await this.#store.indexedModels()).map(storeKeys.model));
    return report;
  }

  /** Copies that no row stands behind. The refresh under lock removes them, unless a row has come meanwhile. */
  async #removeGone(names: readonly string[]): Promise<number> {
    const texts = await buildCopies(this.#db, names);
    const gone = names.filter((name) => !texts.has(name));
    await this.#publisher.refresh(gone);
    return gone.length;
  }
}
