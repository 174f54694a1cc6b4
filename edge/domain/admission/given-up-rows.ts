/**
 * The rows of requests that were given up. Each waits in case its request shows up, and survives a restart of the Cell, because the
 * request has been charged already (docs/rules/settlement-and-rows.md#custody). It is deleted once the Ledger has it.
 */
import type { UsageRow } from "../../../shared/usage/usage-row.ts";

/** How long a row waits, in ms, in case its request still runs (docs/rules/admission.md#membership). */
export const ROW_WAITS_MS = 6_000;

/** A waiting row, and when to write it, epoch ms. */
export interface GivenUpRow {
  readonly row: UsageRow;
  readonly dueMs: number;
}

/** Where they are stored. */
export interface GivenUpRowStore {
  keep(lost: GivenUpRow): void;
  has(requestId: string): boolean;
  forget(requestId: string): void;
}

interface GivenUpRowsOptions {
  readonly store: GivenUpRowStore;
  readonly complete: (row: UsageRow) => Promise<void>;
  readonly now: () => number;
  readonly later: (delayMs: number, run: () => void) => void;
  /** Called when the disk did not take a change. A row that is not on it waits in memory alone. */
  readonly failed: (error: unknown) => void;
}

export class GivenUpRows {
  readonly #options: GivenUpRowsOptions;

  constructor(options: GivenUpRowsOptions) {
    this.#options = options;
  }

  /** Writes the row when it is due, unless `isLost` says that its request has shown up. */
  wait(lost: GivenUpRow, isLost: () => boolean): void {
    const { store, later, now } = this.#options;
    this.#stored(() => store.keep(lost));
    later(lost.dueMs - now(), () => {
      if (isLost()) this.#write(lost.row);
    });
  }

  /** Takes the rows that an earlier life of the Cell has left. `isKnown`: whether a request is entered, or has ended, in this one. */
  recover(left: readonly GivenUpRow[], isKnown: (requestId: string) => boolean): void {
    const { store, later, now } = this.#options;
    for (const { row, dueMs } of left)
      later(Math.max(ROW_WAITS_MS, dueMs - now()), () => {
        if (store.has(row.request_id) && !isKnown(row.request_id)) this.#write(row);
      });
  }

  /** The request has shown up. */
  forget(requestId: string): void {
    this.#stored(() => this.#options.store.forget(requestId));
  }

  /** A full disk must stop no decision. */
  #stored(write: () => void): void {
    try {
      write();
    } catch (error) {
      this.#options.failed(error);
    }
  }

  /** Nobody else has this row. */
  #write(row: UsageRow): void {
    const { complete, later } = this.#options;
    void complete(row).then(
      () => this.forget(row.request_id),
      () => later(ROW_WAITS_MS, () => this.#write(row)),
    );
  }
}
