/**
 * The Cell's outgoing rows as a pure state machine: rows of about 20 ms leave in one batch, one batch at a time, and a
 * batch that failed is sent again unchanged under the same sequence number. A row is acknowledged when its batch is
 * (docs/rules/settlement-and-rows.md#custody). An accepted row is never dropped; beyond its bound it refuses rows, and the
 * Worker keeps custody.
 */
import type { UsageRow } from "../../../shared/usage/usage-row.ts";

export const GROUP_COMMIT_MS = 20;
/** Rows of one batch at most; more wait for the next. */
export const BATCH_MAX_ROWS = 500;
/** Rows that may wait for the Ledger before new ones are refused. */
export const WAITING_MAX_ROWS = 20_000;

/** `ticket`: the waiter to acknowledge; `orphan`: the row may have arrived before in another way. */
interface WaitingRow<Ticket> {
  readonly ticket: Ticket;
  readonly row: UsageRow;
  readonly orphan: boolean;
}

export interface OutgoingBatch<Ticket> {
  readonly sequence: number;
  /** Orphans and others never share a batch. */
  readonly orphan: boolean;
  readonly rows: readonly WaitingRow<Ticket>[];
}

export class GroupCommit<Ticket> {
  #nextSequence = 1;
  #waiting: WaitingRow<Ticket>[] = [];
  #flying: OutgoingBatch<Ticket> | null = null;
  #failures = 0;

  /** Takes a row; false when too many wait. */
  add(row: WaitingRow<Ticket>): boolean {
    if (this.#waiting.length >= WAITING_MAX_ROWS) return false;
    this.#waiting.push(row);
    return true;
  }

  /** The batch to send now, or null when one is in flight or nothing waits. */
  start(): OutgoingBatch<Ticket> | null {
    const first = this.#waiting[0];
    if (this.#flying !== null || first === undefined) return null;
    const cut = this.#waiting.findIndex((entry, at) => at >= BATCH_MAX_ROWS || entry.orphan !== first.orphan);
    const rows = this.#waiting.splice(0, cut === -1 ? this.#waiting.length : cut);
    this.#flying = { sequence: this.#nextSequence, orphan: first.orphan, rows };
    this.#nextSequence += 1;
    this.#failures = 0;
    return this.#flying;
  }

  /** The batch in flight is durable. Returns its rows, to be acknowledged. */
  done(): readonly WaitingRow<Ticket>[] {
    const rows = this.#flying?.rows ?? [];
    this.#flying = null;
    return rows;
  }

  /** The batch in flight failed; send it again, unchanged, after the returned wait in ms. */
  failed(): number {
    this.#failures += 1;
    return Math.min(5000, 50 * 2 ** Math.min(this.#failures - 1, 7));
  }

  /** Nothing waits and nothing is in flight. */
  get idle(): boolean {
    return this.#flying === null && this.#waiting.length === 0;
  }

  get waiting(): number {
    return this.#waiting.length;
  }
}
