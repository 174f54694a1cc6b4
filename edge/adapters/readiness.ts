/**
 * Whether this Worker can serve its first request (docs/rules/routes.md#probes). Once ready it stays ready: while the store or
 * the Cell is unavailable, other instances lack them too, and this one serves from its memory.
 */
import type { Clock } from "../ports.ts";
import { withStallTolerantTimeout } from "./stall-tolerant-timeout.ts";

/** Probes give up after a second or a few. */
const WITHIN_MS = 1000;
/** Probes need no key: the store and the Cell are asked no more often than this, however many probes there are. */
const AGAIN_AFTER_MS = 100;

export class Readiness {
  readonly #isStoreFilled: () => Promise<boolean>;
  readonly #askCell: () => Promise<unknown>;
  readonly #clock: Clock;
  #isReady = false;
  #last: { readonly missing: string; readonly atMs: number } | null = null;

  constructor(isStoreFilled: () => Promise<boolean>, askCell: () => Promise<unknown>, clock: Clock) {
    this.#isStoreFilled = isStoreFilled;
    this.#askCell = askCell;
    this.#clock = clock;
  }

  /** The missing part, in words; null if nothing is missing. The caller has no key, so the text names only the part. */
  async missingPart(): Promise<string | null> {
    if (this.#isReady) return null;
    if (this.#last !== null && Math.abs(this.#clock() - this.#last.atMs) < AGAIN_AFTER_MS) return this.#last.missing;
    const [store, cell] = await Promise.all([answerOf(this.#isStoreFilled()), answerOf(this.#askCell())]);
    const missing = missingOf(store?.value ?? null, cell !== null);
    this.#isReady = missing === null;
    this.#last = missing === null ? null : { missing, atMs: this.#clock() };
    return missing;
  }
}

function missingOf(isFilled: boolean | null, hasCell: boolean): string | null {
  if (isFilled === null) return "the key-value store does not answer";
  if (!isFilled) return "the key-value store is not filled yet";
  return hasCell ? null : "the Cell does not answer";
}

/** Null: it failed, or did not come in time. */
async function answerOf<T>(work: Promise<T>): Promise<{ readonly value: T } | null> {
  return await withStallTolerantTimeout(work, WITHIN_MS).catch(() => null);
}
