/**
 * Room for the answers that an isolate has to hold whole: to store them, to hand them on in one piece, or to look at them
 * before the client does. An isolate has 128 MB for everything. Nobody waits for room: what does not fit is not held, and
 * whoever wanted to hold it decides what becomes of it (decisions §43.2).
 */

/** What all answers held by an isolate on their way to a client may have together, in bytes. */
export const ANSWER_MEMORY_BYTES = 32 * 1024 * 1024;
/** And those of them that are held for the response cache, besides; what they do not need has its hot answers. */
export const CACHE_MEMORY_BYTES = 16 * 1024 * 1024;

/** What one answer has. Whoever opens it closes it, whatever becomes of the answer. */
export interface MemoryReservation {
  /** Takes so many bytes more; false, and nothing taken, when there is no room. */
  grow(bytes: number): boolean;
  /** Gives everything back; calls after the first do nothing. */
  close(): void;
}

export class MemoryBudget {
  readonly #roomBytes: number;
  readonly #giveUp: () => boolean;
  #usedBytes = 0;
  /** Of these, what can be given up. */
  #spareBytes = 0;

  /** `giveUp` is asked, as often as it takes, to close a hold that was opened as `spare`; false: there is none. */
  constructor(roomBytes: number, giveUp: () => boolean = () => false) {
    this.#roomBytes = roomBytes;
    this.#giveUp = giveUp;
  }

  /** Bytes given out. */
  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** A hold that has nothing yet; `spare`: it is closed when others need its room. */
  open(spare = false): MemoryReservation {
    let heldBytes = 0;
    let closed = false;
    return {
      grow: (bytes) => {
        if (closed || this.#usedBytes - this.#spareBytes + bytes > this.#roomBytes) return false;
        while (this.#usedBytes + bytes > this.#roomBytes) if (!this.#giveUp()) return false;
        heldBytes += bytes;
        this.#usedBytes += bytes;
        if (spare) this.#spareBytes += bytes;
        return true;
      },
      close: () => {
        closed = true;
        this.#usedBytes -= heldBytes;
        if (spare) this.#spareBytes -= heldBytes;
        heldBytes = 0;
      },
    };
  }
}
