/**
 * The requests that hold a slot of a Cell or wait for one, and the check of what each of them rests on. The scheduler
 * asks this check before it gives a slot to a request that waited (docs/rules/fairshare.md#choosing-the-next).
 */
import type { Revisions } from "../../domain/cell/revisions.ts";
import type { GrantCheck } from "../../domain/fairshare/types.ts";
import type { AdmissionEntry } from "./admission-entry.ts";

export class AdmissionEntries implements GrantCheck {
  /** In the order in which they were put. */
  readonly #entries = new Map<string, AdmissionEntry>();
  readonly #revisions: Pick<Revisions, "generation" | "staleAmong">;
  readonly #now: () => number;
  /** The request that arrives in this turn: its records were compared just now. */
  #arriving: AdmissionEntry | null = null;

  constructor(revisions: Pick<Revisions, "generation" | "staleAmong">, now: () => number) {
    this.#revisions = revisions;
    this.#now = now;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(requestId: string): AdmissionEntry | undefined {
    return this.#entries.get(requestId);
  }

  /** Puts an entry in the place of an earlier one of the same request. */
  put(entry: AdmissionEntry): void {
    this.#entries.set(entry.request.requestId, entry);
  }

  remove(entry: AdmissionEntry): void {
    this.#entries.delete(entry.request.requestId);
  }

  /** The entry is its request's: it was not removed, and no other one is in its place. */
  holds(entry: AdmissionEntry): boolean {
    return this.#entries.get(entry.request.requestId) === entry;
  }

  /**
   * When the request that has been here longest began to wait, epoch ms; `nowMs` when there is none. No request that is
   * still to be checked was sent much earlier.
   */
  oldestArrivalMs(nowMs: number): number {
    const [first] = this.#entries.values();
    return first?.arrivedMs ?? nowMs;
  }

  /** Marks the request whose records were compared in this turn; null: the turn of its arrival is over. */
  setArriving(entry: AdmissionEntry | null): void {
    this.#arriving = entry;
  }

  /** Whether a request may still be granted what it asked for. Costs only a look at the clock while no record has changed. */
  isCurrent(entry: AdmissionEntry): boolean {
    const { revs, openUntilMs } = entry.request;
    const { generation } = this.#revisions;
    if (entry === this.#arriving) return true;
    if (openUntilMs !== null && this.#now() >= openUntilMs) return false;
    if (entry.generation === generation) return true;
    if (this.#revisions.staleAmong(revs).length > 0) return false;
    entry.generation = generation;
    return true;
  }

  mayHave(requestId: string): boolean {
    const entry = this.#entries.get(requestId);
    return entry === undefined || this.isCurrent(entry);
  }
}
