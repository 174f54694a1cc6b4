/**
 * Makes every hot copy equal to the database (docs/rules/freshness.md#resync): all copies on request, and every five
 * minutes only those that differ. Copies without a row are removed. Then the store has its mark: it has every copy. The
 * caller outdates what was read before; this class does not.
 */
import { randomUUID } from "node:crypto";
import { sql } from "drizzle-orm";
import type { Logger } from "pino";
import { z } from "zod";
import { GatewayError } from "../../shared/errors.ts";
import { readyFloorOf, storeKeys } from "../../shared/records.ts";
import { rootCause } from "../../shared/text/root-cause.ts";
import type { Database } from "../db/connect.ts";
import type { HotStore } from "../kernel/hot-store/hot-store.ts";
import { buildCopies, COPY_KINDS, type CopyCounts } from "./build-copies.ts";
import type { OutboxPublisher } from "./outbox-publisher.ts";

/** How many copies there are by their kind, and how many were removed. */
export interface ResyncReport extends CopyCounts {
  readonly removed: number;
}

/** How often it begins again because the store was emptied meanwhile. */
const ROUNDS_MAX = 3;
/** Held while the mark is compared and set. */
const LOCK = 727278;

export class Resync {
  readonly #db: Database;
  readonly #store: HotStore;
  readonly #publisher: OutboxPublisher;
  readonly #log: Logger;
  /** The mark that this process has set or seen last; 0: none yet. */
  floor = 0;
  #running = 0;

  constructor(db: Database, store: HotStore, publisher: OutboxPublisher, log: Logger) {
    this.#db = db;
    this.#store = store;
    this.#publisher = publisher;
    this.#log = log;
  }

  /** Whether every copy is being rewritten now. */
  get isRunning(): boolean {
    return this.#running > 0;
  }

  /** Rewrites every copy. Rejects when the store does not answer. */
  async all(): Promise<ResyncReport> {
    this.#running += 1;
    try {
      return await this.#marked(
        async () => await this.#walk(async (hotKeys) => await this.#publisher.refresh(hotKeys)),
      );
    } finally {
      this.#running -= 1;
    }
  }

  /** Rewrites only copies that differ from their rows, and models that are not in their index. */
  async differing(): Promise<ResyncReport> {
    return await this.#marked(async () => await this.#compare());
  }

  /**
   * Sets the mark once `walk` has written every copy. What is under its name stays there only in a store that was not emptied
   * meanwhile: the mark of before, or a text of this walk, which is no mark. The text of another walk: that one sets it.
   */
  async #marked(walk: () => Promise<ResyncReport>): Promise<ResyncReport> {
    const own = `filling ${randomUUID()}`;
    for (let round = 1; round <= ROUNDS_MAX; round += 1) {
      const floor = await this.#newestRevision();
      await this.#alone(async () => {
        if (readyFloorOf(await this.#mark()) === null) await this.#store.put([{ hotKey: storeKeys.ready, text: own }]);
      });
      const report = await walk();
      const isOver = await this.#alone(async () => await this.#setMark(own, floor));
      if (isOver) return report;
    }
    throw new GatewayError("key_store_unavailable", { cause: "the store was emptied while it was filled" });
  }

  /** Sets the mark, never back to an older one; false: the store was emptied while it was filled. */
  async #setMark(own: string, floor: number): Promise<boolean> {
    const held = await this.#mark();
    if (held === null) return false;
    const heldFloor = readyFloorOf(held);
    if (heldFloor === null && held !== own) return true;
    if ((heldFloor ?? 0) < floor && !(await this.#store.replace(storeKeys.ready, String(floor)))) return false;
    this.floor = Math.max(heldFloor ?? 0, floor);
    return true;
  }

  /** Runs while no other replica reads the mark to change it: not every kind of store can compare and set in one step. */
  async #alone<T>(work: () => Promise<T>): Promise<T> {
    return await this.#db.transaction(async (tx) => {
      await tx.execute(sql`SELECT pg_advisory_xact_lock(${LOCK})`);
      return await work();
    });
  }

  async #mark(): Promise<string | null> {
    return (await this.#store.get([storeKeys.ready]))[0] ?? null;
  }

  async #newestRevision(): Promise<number> {
    const { rows } = (await this.#db.execute(sql`SELECT last_value FROM config_rev`)) as unknown as {
      rows: { last_value: string | number }[];
    };
    return Number(rows[0]?.last_value);
  }

  async #compare(): Promise<ResyncReport> {
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
        const names = batch.map((id) => `${prefix}:${id}`);
        report[counted] += await this.#passOverBroken(names, async (some) => {
          await visit(some);
          return some.length;
        });
      }
      for await (const names of this.#store.scan(`${prefix}:*`)) report.removed += await this.#withoutGone(names);
    }
    report.removed += await this.#withoutGone((await this.#store.indexedModels()).map(storeKeys.model));
    return report;
  }

  /** The sum over all names without those whose records cannot be copied: a faulty record does not hold back the others. */
  async #passOverBroken(
    names: readonly string[],
    work: (names: readonly string[]) => Promise<number>,
  ): Promise<number> {
    try {
      return await work(names);
    } catch (error) {
      if (!(error instanceof z.ZodError)) throw error;
      const middle = names.length >> 1;
      if (middle > 0)
        return (
          (await this.#passOverBroken(names.slice(0, middle), work)) +
          (await this.#passOverBroken(names.slice(middle), work))
        );
      this.#log.error({ event: "copy_cannot_be_built", hot_key: names[0], reason: rootCause(error) });
      return 0;
    }
  }

  async #withoutGone(names: readonly string[]): Promise<number> {
    return await this.#passOverBroken(names, async (some) => await this.#removeGone(some));
  }

  /** Removes copies that have no row. The refresh under the lock removes them, unless a row has appeared by then. */
  async #removeGone(names: readonly string[]): Promise<number> {
    const texts = await buildCopies(this.#db, names);
    const gone = names.filter((name) => !texts.has(name));
    await this.#publisher.refresh(gone);
    return gone.length;
  }
}
