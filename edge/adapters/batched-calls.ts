/**
 * Sends items that requests produce at nearly the same moment in one call. Each call is made in the context of one of these
 * requests; if the platform cuts that request off, a later request sends the remaining items.
 */
import type { Clock } from "../ports.ts";

interface BatchOptions<Item> {
  /** Makes one call in the context of the current request, and keeps that request alive for it. Never throws. */
  readonly call: (items: readonly Item[]) => void;
  /** Least time between the beginnings of two calls, ms. */
  readonly gatherMs: number;
  /** Waits for `gatherMs` even after a quiet moment: no request waits for the result. */
  readonly patient: boolean;
  /** Most items in one call. */
  readonly itemsMax: number;
  /** Most bytes in one call that has more than one item. */
  readonly bytesMax: number;
  readonly bytesOf: (item: Item) => number;
  readonly clock: Clock;
  /** Keeps a request alive while it waits for more items. */
  readonly keepAlive: (work: Promise<unknown>) => void;
}

/** A call that is this late will not come, because its request was cut off; ms. */
const LATE_MS = 250;

export class BatchedCalls<Item> {
  readonly #options: BatchOptions<Item>;
  #items: Item[] = [];
  #bytes = 0;
  /** When the last call started, epoch ms. */
  #calledMs = Number.NEGATIVE_INFINITY;
  /** When a waiting request will make the next call, epoch ms; null: no request waits. */
  #dueMs: number | null = null;

  constructor(options: BatchOptions<Item>) {
    this.#options = options;
  }

  /** Sends the item at once, together with the waiting items, or has it sent later. True: it was sent at once. */
  add(item: Item): boolean {
    const { gatherMs, patient, itemsMax, bytesMax, bytesOf, clock, keepAlive } = this.#options;
    this.#items.push(item);
    this.#bytes += bytesOf(item);
    const nowMs = clock();
    const sinceMs = nowMs - this.#calledMs;
    // A clock that was set back cannot show when the last call was.
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
