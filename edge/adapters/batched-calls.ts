/**
 * Gathers what requests ask of the store at nearly the same moment into one call. Each call is made in the context of one of
 * its askers; should the platform cut that one off, a later asker sends what was left.
 */
import type { Clock } from "../ports.ts";

interface BatchOptions<Item> {
  /** Makes one call in the context of the request that calls this, and keeps it alive. Never throws. */
  readonly call: (items: readonly Item[]) => void;
  /** Between the begins of two calls, ms. */
  readonly gatherMs: number;
  /** Waits for `gatherMs` also after a quiet moment: nobody is kept waiting by it. */
  readonly patient: boolean;
  /** Most items of one call. */
  readonly itemsMax: number;
  /** Most bytes of one call, of more than one item. */
  readonly bytesMax: number;
  readonly bytesOf: (item: Item) => number;
  readonly clock: Clock;
  /** Lets the wait for others outlive the request that waits. */
  readonly keepAlive: (work: Promise<unknown>) => void;
}

/** Whoever is this late to send was cut off, ms. */
const LATE_MS = 250;

export class BatchedCalls<Item> {
  readonly #options: BatchOptions<Item>;
  #items: Item[] = [];
  #bytes = 0;
  /** When the last call began, epoch ms. */
  #calledMs = Number.NEGATIVE_INFINITY;
  /** When somebody is to make the next one, epoch ms; null: nobody. */
  #dueMs: number | null = null;

  constructor(options: BatchOptions<Item>) {
    this.#options = options;
  }

  /** Sends the item now, with whatever waits, or sees to it that it is sent; true: now. */
  add(item: Item): boolean {
    const { gatherMs, patient, itemsMax, bytesMax, bytesOf, clock, keepAlive } = this.#options;
    this.#items.push(item);
    this.#bytes += bytesOf(item);
    const nowMs = clock();
    const sinceMs = nowMs - this.#calledMs;
    // A clock that was set back says nothing of when the last call was.
    const quiet = !patient && (sinceMs >= gatherMs || sinceMs < 0);
    if (quiet || this.#items.length >= itemsMax || this.#bytes >= bytesMax) {
      this.#send();
      return true;
    }
    if (this.#dueMs !== null && Math.abs(nowMs - this.#dueMs) <= LATE_MS) return false;
    const waitMs = patient ? gatherMs : gatherMs - sinceMs;
    this.#dueMs = nowMs + waitMs;
    const sent = Promise.withResolvers<void>();
    setTimeout(() => {
      this.#send();
      sent.resolve();
    }, waitMs);
    keepAlive(sent.promise);
    return false;
  }

  #send(): void {
    const { itemsMax, bytesMax, bytesOf, call, clock } = this.#options;
    const items = this.#items;
    this.#dueMs = null;
    this.#items = [];
    this.#bytes = 0;
    if (items.length === 0) return;
    this.#calledMs = clock();
    let first = 0;
    let bytes = 0;
    for (const [at, item] of items.entries()) {
      bytes += bytesOf(item);
      if (at === first || (at - first < itemsMax && bytes <= bytesMax)) continue;
      call(items.slice(first, at));
      first = at;
      bytes = bytesOf(item);
    }
    call(items.slice(first));
  }
}
