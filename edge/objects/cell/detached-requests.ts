/**
 * Requests whose permits or sessions were lost. Those that were let through were charged then, and have rows. Those
 * that waited gave up their place and may come back for a while; when one does not, the row that says it left is
 * written only then, because the log keeps the first row of a request.
 */
import type { UsageRow } from "../../../shared/usage-row.ts";
import { type ActualUsage, largerUsed, NOTHING_USED } from "../../domain/budget/amounts.ts";
import type { AdmissionEntries } from "./admission-entries.ts";
import type { AdmissionEntry, RowCompletion } from "./admission-entry.ts";

/**
 * A request that is disconnected has so many intervals to show that it lives (docs/rules/admission.md#grace). Several, because one
 * that passes while this process stands still says nothing.
 */
const GRACE_INTERVALS = 4;
const GRACE_INTERVAL_MS = 500;
/** Enough for all requests that may run in a cell at once. */
const KEPT_MAX = 10_000;
/** Longer than an isolate needs to notice that its session is lost (exchange-admission.ts). */
const BACK_WITHIN_MS = 6_000;
/** A cut that lasts longer is taken to be the end of the isolate: its clients have given up long before. */
const SILENT_WITHIN_MS = 300_000;

export class DetachedRequests {
  readonly #charged = new Map<string, ActualUsage>();
  readonly #waiting = new Map<string, AdmissionEntry>();
  /** What is to be done about the requests of a silent isolate some seconds after it is heard again. */
  readonly #ofSilent = new Map<string, (() => void)[]>();
  readonly #later: (delayMs: number, run: () => void) => void;
  readonly #rows: RowCompletion;

  constructor(later: (delayMs: number, run: () => void) => void, rows: RowCompletion) {
    this.#later = later;
    this.#rows = rows;
  }

  /** Gives a disconnected request up when its grace is over, unless it has ended, or goes on in another entry, before. */
  afterGrace(
    entry: AdmissionEntry,
    entries: Pick<AdmissionEntries, "holds">,
    giveUp: () => void,
    intervals = GRACE_INTERVALS,
  ): void {
    if (!entries.holds(entry)) return;
    if (intervals === 0) giveUp();
    else this.#later(GRACE_INTERVAL_MS, () => this.afterGrace(entry, entries, giveUp, intervals - 1));
  }

  /** Remembers what a request was charged when its permit was lost: the request may go on, come back and be adopted. */
  rememberCharge(requestId: string, charged: ActualUsage): void {
    this.#charged.set(requestId, charged);
    const [oldest = requestId] = this.#charged.keys();
    if (this.#charged.size > KEPT_MAX) this.#charged.delete(oldest);
  }

  /**
   * Remembers a request that waited. `row` says that it left; it is written when the request does not come back in
   * time. `silent`: its isolate, when that is not heard; the time begins when it is heard again.
   */
  detach(entry: AdmissionEntry, row: UsageRow, silent?: string): void {
    const { requestId } = entry.request;
    if (entry.charged !== null) this.rememberCharge(requestId, entry.charged);
    this.#waiting.set(requestId, entry);
    const giveUp = (): void => {
      if (this.#waiting.get(requestId) !== entry) return;
      this.#waiting.delete(requestId);
      this.rememberCharge(requestId, largerUsed(NOTHING_USED, entry.charged ?? NOTHING_USED));
      void this.#rows.complete(row, true).catch(() => undefined);
    };
    if (silent === undefined) {
      this.#later(BACK_WITHIN_MS, giveUp);
      return;
    }
    const others = this.#ofSilent.get(silent);
    if (others !== undefined) {
      others.push(giveUp);
      return;
    }
    const all = [giveUp];
    this.#ofSilent.set(silent, all);
    this.#later(SILENT_WITHIN_MS, () => {
      if (this.#ofSilent.get(silent) !== all) return;
      this.#ofSilent.delete(silent);
      for (const end of all) end();
    });
  }

  /** The isolate is heard: from now on its requests have as long to come back as others. */
  isBack(holder: string): void {
    const waiting = this.#ofSilent.get(holder);
    if (waiting === undefined) return;
    this.#ofSilent.delete(holder);
    this.#later(BACK_WITHIN_MS, () => {
      for (const giveUp of waiting) giveUp();
    });
  }

  get waitingCount(): number {
    return this.#waiting.size;
  }

  has(requestId: string): boolean {
    return this.#waiting.has(requestId) || this.#charged.has(requestId);
  }

  /** The entry of a request that waited; null: the request did not wait, or its time to come back is over. */
  waiting(requestId: string): AdmissionEntry | null {
    return this.#waiting.get(requestId) ?? null;
  }

  /** The request is here again, or has ended elsewhere. */
  reattach(requestId: string): void {
    this.#waiting.delete(requestId);
  }

  /** What a lost request was charged (nothing if it only waited), returned once; null: it was not lost. */
  takeCharge(requestId: string): ActualUsage | null {
    const charged = this.#charged.get(requestId) ?? null;
    this.#charged.delete(requestId);
    return charged;
  }
}
