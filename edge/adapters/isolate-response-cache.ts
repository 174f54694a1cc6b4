/**
 * Answers of the response cache in an isolate's memory: least recently used out first when the isolate's room for them is
 * full. One is given only as long as the store would give it: until it expires by the clock, which must not have gone back
 * meanwhile, and until everything was read anew (kind `all`: a resync). After a minute the store is asked again, so that
 * what somebody removed there by hand is gone here too. Whether an answer is this request's is decided by whoever asks.
 */
import type { CacheEntry, Clock } from "../ports.ts";

/** For so long an answer is given without asking the store again, ms. */
export const ISOLATE_MAX_AGE_MS = 60_000;
/** What an answer takes besides its body and texts, bytes; an estimate. */
const OVERHEAD_BYTES = 512;

/** Room that is shared with answers on their way into the cache (pipeline/answer-room.ts). */
interface SharedMemory {
  open(spare: boolean): { grow(bytes: number): boolean; close(): void };
}

interface CachedAnswer {
  readonly entry: CacheEntry;
  /** It is given before this, epoch ms. */
  readonly untilMs: number;
  /** The newest `all` that was heeded before it was read or made. */
  readonly epoch: number;
  readonly hold: ReturnType<SharedMemory["open"]>;
}

export class IsolateResponseCache {
  readonly #room: SharedMemory;
  readonly #clock: Clock;
  readonly #epoch: () => number;
  /** By their names in the store, the least recently used first. */
  readonly #answers = new Map<string, CachedAnswer>();
  #latestMs = Number.NEGATIVE_INFINITY;

  constructor(room: SharedMemory, clock: Clock, epoch: () => number) {
    this.#room = room;
    this.#clock = clock;
    this.#epoch = epoch;
  }

  /** The newest revision of kind `all` that the isolate has heeded: to be asked before a read begins. */
  get epoch(): number {
    return this.#epoch();
  }

  /** The answer of this name; null when there is none that may be given. */
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

  /** Keeps an answer if there is room. `expiresMs` is when the store lets it go, `epoch` what {@link epoch} was before. */
  keep(name: string, entry: CacheEntry, expiresMs: number, epoch: number): void {
    const nowMs = this.#now();
    const earlier = this.#answers.get(name);
    if (earlier !== undefined) this.#drop(name, earlier);
    const untilMs = Math.min(expiresMs, nowMs + ISOLATE_MAX_AGE_MS);
    // A clock that is before the one that it was stored by cannot tell when it expires.
    if (untilMs <= nowMs || entry.stored_at_ms > nowMs) return;
    const hold = this.#room.open(true);
    if (!hold.grow(bytesOf(name, entry))) hold.close();
    else this.#answers.set(name, { entry, untilMs, epoch, hold });
  }

  /** Drops the least recently used answer, for the room that it has; false: there is none. */
  evictOldest(): boolean {
    for (const [name, answer] of this.#answers) {
      this.#drop(name, answer);
      return true;
    }
    return false;
  }

  /** The time; when it has gone back, nobody knows what has expired. */
  #now(): number {
    const nowMs = this.#clock();
    if (nowMs < this.#latestMs) while (this.evictOldest());
    this.#latestMs = nowMs;
    return nowMs;
  }

  #drop(name: string, { hold }: CachedAnswer): void {
    this.#answers.delete(name);
    hold.close();
  }
}

/** What it takes, with texts at their widest. */
function bytesOf(name: string, { path, content_type, origin, body }: CacheEntry): number {
  return OVERHEAD_BYTES + body.byteLength + 2 * (name.length + path.length + content_type.length + origin.length);
}
