/**
 * Memory for the answers that an isolate must hold whole: to store them, to forward them in one piece, or to examine them
 * before the client gets them. An isolate has 128 MB for everything. No answer waits for memory: an answer that does not fit is
 * not held, and the step that wanted to hold it decides what happens instead (docs/rules/streams.md#buffered-answers).
 */
import { LIMITS } from "../../../../shared/catalogues/limits.ts";

/** Memory for all answers that an isolate holds before they go to a client, in bytes. */
export const ANSWER_MEMORY_BYTES = LIMITS.answerMemory;
/**
 * Additional memory for answers that are held for the response cache, in bytes; the unused part is used for the most recent
 * entries.
 */
export const CACHE_MEMORY_BYTES = LIMITS.cacheMemory;

/** The memory of one answer. The step that opens it must close it, even if the answer fails. */
export interface MemoryReservation {
  /** Reserves this many more bytes; false, and nothing reserved, when they do not fit. */
  grow(bytes: number): boolean;
  /** Frees everything that is reserved; calls after the first do nothing. */
  close(): void;
}

export class MemoryBudget {
  readonly #totalBytes: number;
  readonly #giveUp: () => boolean;
  #usedBytes = 0;
  /** The reserved bytes that can be given up. */
  #spareBytes = 0;

  /** `giveUp` is called, repeatedly if necessary, to close a reservation that was opened as `spare`; false if there is none. */
  constructor(totalBytes: number, giveUp: () => boolean = () => false) {
    this.#totalBytes = totalBytes;
    this.#giveUp = giveUp;
  }

  /** Bytes that are reserved. */
  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** Opens a reservation of zero bytes; `spare`: it is closed when others need its memory. */
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
