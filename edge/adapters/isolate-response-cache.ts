/**
 * Answers of the response cache in an isolate's memory; the least recently used are removed first when the isolate's memory
 * for them is full. An entry is valid only as long as in the store: until it expires by the clock, which must not have gone
 * back meanwhile, and until a resync (kind `all`). After a minute the store is read again, so that an entry that was
 * removed there by hand disappears here too. The caller decides whether an answer fits its request.
 */
import type { CacheEntry, Clock } from "../ports.ts";

/** An answer is used for this long before the store is read again, ms. */
export const ISOLATE_MAX_AGE_MS = 60_000;
/** Estimated memory of an answer other than its body and texts, bytes. */
const OVERHEAD_BYTES = 512;

/** Memory that is shared with answers that are being captured for the cache (pipeline/memory/memory-budget.ts). */
interface SharedMemory {
  open(spare: boolean): { grow(bytes: number): boolean; close(): void };
}

interface CachedAnswer {
  readonly entry: CacheEntry;
  /** The entry is valid before this time, epoch ms. */
  readonly untilMs: number;
  /** The newest `all` revision that the isolate had applied when the answer was read or made. */
  readonly epoch: number;
  readonly reservation: ReturnType<SharedMemory["open"]>;
}

export class IsolateResponseCache {
  readonly #memory: SharedMemory;
  readonly #clock: Clock;
  readonly #epoch: () => number;
  /** By their names in the store, the least recently used first. */
  readonly #answers = new Map<string, CachedAnswer>();
  #latestMs = Number.NEGATIVE_INFINITY;

  constructor(memory: SharedMemory, clock: Clock, epoch: () => number) {
    this.#memory = memory;
    this.#clock = clock;
    this.#epoch = epoch;
  }

  /** The newest revision of kind `all` that the isolate has applied; callers must get it before they start a read. */
  get epoch(): number {
    return this.#epoch();
  }

  /** The valid answer with this name, or null. */
  get(name: string): CacheEntry | null {
    const nowMs = this.#now();
    const answer = this.#answers.get(name);
    if (answer === undefined) return null;
    if (nowMs >= answer.untilMs || answer.epoch !== this.#epoch()) {
      this.#drop(name, answer);
      return null;
    }
    this.#answers.delete(name);
    this.#answers.set(name, answer);
    return answer.entry;
  }

  /**
   * Keeps an answer if there is memory for it. `expiresMs`: when the store removes it; `epoch`: the value of {@link epoch}
   * before the answer was read or made.
   */
  keep(name: string, entry: CacheEntry, expiresMs: number, epoch: number): void {
    const nowMs = this.#now();
    const earlier = this.#answers.get(name);
    if (earlier !== undefined) this.#drop(name, earlier);
    const untilMs = Math.min(expiresMs, nowMs + ISOLATE_MAX_AGE_MS);
    // When the clock is behind the time at which the entry was stored, it cannot show when the entry expires.
    if (untilMs <= nowMs || entry.stored_at_ms > nowMs) return;
    const reservation = this.#memory.open(true);
    if (!reservation.grow(bytesOf(name, entry))) reservation.close();
    else this.#answers.set(name, { entry, untilMs, epoch, reservation });
  }

  /** Removes the least recently used answer to free its memory; false if there is none. */
  evictOldest(): boolean {
    for (const [name, answer] of this.#answers) {
      this.#drop(name, answer);
      return true;
    }
    return false;
  }

  /** The time. When it has gone back, expiry times are meaningless, and all answers are dropped. */
  #now(): number {
    const nowMs = this.#clock();
    if (nowMs < this.#latestMs) while (this.evictOldest());
    this.#latestMs = nowMs;
    return nowMs;
  }

  #drop(name: string, { reservation }: CachedAnswer): void {
    this.#answers.delete(name);
    reservation.close();
  }
}

/** The memory of an entry; texts are counted at their largest size per character. */
function bytesOf(name: string, { path, content_type, origin, body }: CacheEntry): number {
  return OVERHEAD_BYTES + body.byteLength + 2 * (name.length + path.length + content_type.length + origin.length);
}
