/**
 * Memory for the answers that an isolate has to hold whole: to store them, to hand them on in one piece, or to look at
 * them before the client does. An isolate has 128 MB for everything. No answer waits for memory: what does not fit is
 * not held, and the step that wanted to hold it decides what becomes of it (docs/rules/streams.md#buffered-answers).
 */

/** What all answers held by an isolate on their way to a client may have together, in bytes. */
export const ANSWER_MEMORY_BYTES = 32 * 1024 * 1024;
/** And those of them that are held for the response cache, besides; what they do not need has its hot answers. */
export const CACHE_MEMORY_BYTES = 16 * 1024 * 1024;

/** What one answer has. The step that opens it closes it, whatever becomes of the answer. */
export interface MemoryReservation {
  /** Takes so many bytes more; false, and nothing taken, when they do not fit. */
  grow(bytes: number): boolean;
  /** Gives everything back; calls after the first do nothing. */
  close(): void;
}

export class MemoryBudget {
  readonly #totalBytes: number;
  readonly #giveUp: () => boolean;
  #usedBytes = 0;
  /** Of these, what can be given up. */
  #spareBytes = 0;

  /** `giveUp` is called, as often as it takes, to close a reservation that was opened as `spare`; false: there is none. */
  constructor(totalBytes: number, giveUp: () => boolean = () => false) {
    this.#totalBytes = totalBytes;
    this.#giveUp = giveUp;
  }

  /** Bytes given out. */
  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** A reservation that has nothing yet; `spare`: it is closed when others need its memory. */
  open(spare = false): MemoryReservation {
    let heldBytes = 0;
    let closed = false;
    return {
      grow: (bytes) => {
        if (closed || this.#usedBytes - this.#spareBytes + bytes > this.#totalBytes) return false;
        while (this.#usedBytes + bytes > this.#totalBytes) if (!this.#giveUp()) return false;
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
