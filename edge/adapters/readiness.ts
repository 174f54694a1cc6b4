/**
 * Whether this Worker can serve its first request (docs/rules/routes.md#probes). Once it could it stays ready: while store or
 * Cell is away other instances lack them too, and this one serves what it has in memory.
 */
import { withStallTolerantTimeout } from "./stall-tolerant-timeout.ts";

/** Probes give up after a second or a few. */
const WITHIN_MS = 1000;

export class Readiness {
  readonly #isStoreFilled: () => Promise<boolean>;
  readonly #askCell: () => Promise<unknown>;
  #isReady = false;

  constructor(isStoreFilled: () => Promise<boolean>, askCell: () => Promise<unknown>) {
    this.#isStoreFilled = isStoreFilled;
    this.#askCell = askCell;
  }

  /** What is missing, in words; null: nothing. Whoever asks has no key, so the words say no more than the part. */
  async missingPart(): Promise<string | null> {
    if (this.#isReady) return null;
    const [store, cell] = await Promise.all([answerOf(this.#isStoreFilled()), answerOf(this.#askCell())]);
    if (store === null) return "the key-value store does not answer";
    if (!store.value) return "the key-value store is not filled yet";
    if (cell === null) return "the Cell does not answer";
    this.#isReady = true;
    return null;
  }
}

/** Null: it failed, or did not come in time. */
async function answerOf<T>(work: Promise<T>): Promise<{ readonly value: T } | null> {
  return await withStallTolerantTimeout(work, WITHIN_MS).catch(() => null);
}
