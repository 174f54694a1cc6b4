/**
 * The requests that hold a slot of a Cell or wait for one, and the check whether the records of each are current. The
 * scheduler calls this check before it gives a slot to a request that waited
 * (docs/rules/fairshare.md#choosing-the-next).
 */
import type { WaitingQueue } from "../../../shared/schema/load.ts";
import type { Revisions } from "../../domain/cell/revisions.ts";
import type { GrantCheck } from "../../domain/fairshare/types.ts";
import { type AdmissionEntry, waitingForBudget } from "./admission-entry.ts";
import type { SilentHolders } from "./silent-holders.ts";

const NEED_NOT_BE_HEARD = { heard: () => undefined, isQuiet: () => false };

export class AdmissionEntries implements GrantCheck {
  /** In the order in which they were put. */
  readonly #entries = new Map<string, AdmissionEntry>();
  readonly #revisions: Pick<Revisions, "generation" | "staleAmong">;
  readonly #now: () => number;
  readonly #holders: Pick<SilentHolders, "heard" | "isQuiet">;
  /** The request that arrives in this turn: its records were compared a moment ago. */
  #arriving: AdmissionEntry | null = null;

  /** `holders` hear of the isolate of each entry that is put, because a message of it has led to that. */
  constructor(
    revisions: Pick<Revisions, "generation" | "staleAmong">,
    now: () => number,
    holders: Pick<SilentHolders, "heard" | "isQuiet"> = NEED_NOT_BE_HEARD,
  ) {
    this.#revisions = revisions;
    this.#now = now;
    this.#holders = holders;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(requestId: string): AdmissionEntry | undefined {
    return this.#entries.get(requestId);
  }

  /** Adds an entry; it replaces an earlier one of the same request. */
  put(entry: AdmissionEntry): void {
    const { requestId, holder, leaseMs } = entry.request;
    this.#entries.set(requestId, entry);
    this.#holders.heard(holder, leaseMs);
  }

  remove(entry: AdmissionEntry): void {
    this.#entries.delete(entry.request.requestId);
  }

  /** Whether the entry is its request's current one: it was not removed, and no other entry has replaced it. */
  holds(entry: AdmissionEntry): boolean {
    return this.#entries.get(entry.request.requestId) === entry;
  }

  /**
   * When the request that has been entered longest began to wait, epoch ms; `nowMs` when no request is entered. No
   * request that is still to be checked was sent much earlier.
   */
  oldestArrivalMs(nowMs: number): number {
    const [first] = this.#entries.values();
    return first?.arrivedMs ?? nowMs;
  }

  all(): readonly AdmissionEntry[] {
    return [...this.#entries.values()];
  }

  /** The requests that hold a slot and wait for tokens or money, which the scheduler counts as in flight. */
  awaitingBudget(nowMs: number): readonly WaitingQueue[] {
    const waiting = this.all().filter(({ slot, decision }) => slot !== null && decision === null);
    return waiting.map((entry) => waitingForBudget(entry, nowMs));
  }

  /** Marks the request whose records were compared in this turn; null: the turn of its arrival is over. */
  setArriving(entry: AdmissionEntry | null): void {
    this.#arriving = entry;
  }

  /**
   * Whether a request may be granted on the records that it was sent with. While no record has changed, this only reads
   * the clock.
   */
  isCurrent(entry: AdmissionEntry): boolean {
    const { revs, openUntilMs, holder } = entry.request;
    const { generation } = this.#revisions;
    if (entry === this.#arriving) return true;
    // What is granted to an isolate that is cut off is in use by nobody; when it is heard again, it asks again.
    if (this.#holders.isQuiet(holder)) return false;
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

  isUnheard(requestId: string): boolean {
    return this.#holders.isQuiet(this.#entries.get(requestId)?.request.holder);
  }
}
