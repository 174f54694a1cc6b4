/**
 * Fills a key-value store that was emptied, or that went back to an older state
 * (docs/rules/freshness.md#a-store-that-was-emptied): every two seconds it looks for the mark, and at once when a Worker
 * has missed it.
 */
import { issueOf } from "../../shared/alerts.ts";
import { readyFloorOf, storeKeys } from "../../shared/records.ts";
import { type AlertSink, raisedNow } from "../kernel/alert-sink.ts";
import type { VerbContext } from "../kernel/context.ts";
import type { HotStore } from "../kernel/hot-store/hot-store.ts";
import type { Resync, ResyncReport } from "./resync.ts";
import { resyncCopies } from "./resync-verb.ts";

interface FillWatchOptions {
  readonly ctx: VerbContext;
  readonly store: Pick<HotStore, "get" | "put">;
  readonly resync: Resync;
  readonly sink: AlertSink;
  /** The control service's own cell, which its alerts name. */
  readonly cell: string;
}

export class FillWatch {
  readonly #options: FillWatchOptions;
  #look: Promise<ResyncReport | null> | null = null;

  constructor(options: FillWatchOptions) {
    this.#options = options;
  }

  /**
   * Looks once, and resolves when the store is filled; null: there was nothing to do. `told`: by a Worker. Then a store that
   * another replica is filling is left to it; the job itself takes it over, because that replica may be gone. Rejects when the
   * store or the database does not answer.
   */
  async run({ told = false } = {}): Promise<ResyncReport | null> {
    this.#look ??= this.#fill(told).finally(() => {
      this.#look = null;
    });
    return await this.#look;
  }

  async #fill(told: boolean): Promise<ResyncReport | null> {
    const { ctx, store, resync, sink, cell } = this.#options;
    const seen = resync.floor;
    const [mark = null] = await store.get([storeKeys.ready]);
    if (resync.isRunning) return null;
    const floor = readyFloorOf(mark);
    if (floor !== null && floor >= seen) {
      resync.floor = Math.max(resync.floor, floor);
      return null;
    }
    if (told && floor === null && mark !== null) return null;
    if (seen > 0) {
      const detail = `${floor === null ? "its copies are gone" : "its copies are older than they were"}; they are written again`;
      await sink.take([raisedNow(issueOf("key_store_emptied", detail), ctx.now().getTime(), cell)]);
    }
    // a mark of an older state says nothing of what came after it
    if (floor !== null) await store.put([{ hotKey: storeKeys.ready, text: null }]);
    return (await resyncCopies(ctx, resync)).record;
  }
}
