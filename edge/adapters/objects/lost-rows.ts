/**
 * Usage rows that this isolate had to give up, because neither their Cell nor its Ledger took them, until a Ledger has counted
 * them (docs/rules/settlement-and-rows.md#custody). Invariant: they are forgotten only when the Ledger has answered. The
 * request in whose context the call runs may be cut off before that, so they may be counted twice; better than not at all.
 */
import type { LedgerApi } from "../../domain/ledger/rpc.ts";
import type { Clock } from "../../ports.ts";

/** After this long no call can be under way any more: the runtime grants 30 s to work after an answer. */
const TELL_AGAIN_AFTER_MS = 60_000;

interface LostRowsOptions {
  readonly ledger: () => Pick<LedgerApi, "lost">;
  readonly clock: Clock;
  /** Lets a call outlive the request in whose context it is made. */
  readonly keepAlive: (work: Promise<unknown>) => void;
}

export class LostRows {
  readonly #options: LostRowsOptions;
  #rows = 0;
  /** The current call, and when it was made; null if there is none. */
  #telling: { readonly sinceMs: number } | null = null;

  constructor(options: LostRowsOptions) {
    this.#options = options;
  }

  /** A row was given up. */
  add(): void {
    this.#rows += 1;
  }

  /** Reports them to a Ledger, one call at a time; call it when one may be reachable. */
  tell(): void {
    const rows = this.#rows;
    const { ledger, clock, keepAlive } = this.#options;
    const nowMs = clock();
    const isUnderWay = this.#telling !== null && Math.abs(nowMs - this.#telling.sinceMs) < TELL_AGAIN_AFTER_MS;
    if (rows === 0 || isUnderWay) return;
    const telling = { sinceMs: nowMs };
    this.#telling = telling;
    const end = (counted: number): void => {
      // A later call reports the same rows.
      if (this.#telling !== telling) return;
      this.#rows -= counted;
      this.#telling = null;
    };
    keepAlive(
      ledger()
        .lost(rows)
        .then(
          () => end(rows),
          () => end(0),
        ),
    );
  }
}
