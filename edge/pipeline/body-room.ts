/**
 * Room for the large request bodies that an isolate has to hold: JSON documents, and forms that name their model after
 * their file. An isolate has 128 MB for everything, so that large bodies take turns; the network holds back those that
 * wait. A turn is never waited for longer than a bound: clients that send slowly must not stop the others.
 */
import { ClientGone } from "./context.ts";

/** A body up to this needs no room. */
export const ROOM_FREE_BYTES = 1024 * 1024;
const ROOM_BYTES = 64 * 1024 * 1024;
const WAIT_MAX_MS = 30_000;

/** Gives the room back; calls after the first do nothing. */
export type GiveBack = () => void;

interface Waiting {
  readonly bytes: number;
  readonly enter: () => void;
}

export class BodyRoom {
  readonly #roomBytes: number;
  readonly #waitMaxMs: number;
  readonly #waiting = new Set<Waiting>();
  #usedBytes = 0;

  constructor(roomBytes = ROOM_BYTES, waitMaxMs = WAIT_MAX_MS) {
    this.#roomBytes = roomBytes;
    this.#waitMaxMs = waitMaxMs;
  }

  /** Bytes given out. */
  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** Waits for its turn, first come, first served. Throws ClientGone when the client leaves meanwhile. */
  async take(bytes: number, client: AbortSignal): Promise<GiveBack> {
    if (this.#waiting.size > 0 || !this.#fits(bytes)) await this.#turn(bytes, client);
    else this.#usedBytes += bytes;
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#usedBytes -= bytes;
      this.#admit();
    };
  }

  async #turn(bytes: number, client: AbortSignal): Promise<void> {
    const turn = Promise.withResolvers<void>();
    const waiting: Waiting = {
      bytes,
      enter: () => {
        this.#waiting.delete(waiting);
        this.#usedBytes += bytes;
        turn.resolve();
      },
    };
    this.#waiting.add(waiting);
    const timer = setTimeout(waiting.enter, this.#waitMaxMs);
    const leave = (): void => {
      if (this.#waiting.delete(waiting)) turn.reject(new ClientGone());
    };
    if (client.aborted) leave();
    else client.addEventListener("abort", leave, { once: true });
    try {
      await turn.promise;
    } finally {
      clearTimeout(timer);
      client.removeEventListener("abort", leave);
    }
  }

  #admit(): void {
    for (const waiting of this.#waiting) {
      if (!this.#fits(waiting.bytes)) return;
      waiting.enter();
    }
  }

  #fits(bytes: number): boolean {
    return this.#usedBytes === 0 || this.#usedBytes + bytes <= this.#roomBytes;
  }
}
