/**
 * Cuts off clients that take nothing of an answer while bytes of it are waiting (docs/rules/console.md#stalled-readers): such an
 * answer holds a call of the console, and what makes it, for as long as the client likes. Looks are counted instead of time: a
 * process that was busy learns late what was taken. What a client sends does not count: it could send a byte now and then.
 */
import type { Socket } from "node:net";

/** Looks without a change until a client is cut off. */
const LOOKS = 4;

/** What is known of a connection. `_handle` has no documentation; without it, only whole writes count as taken. */
type WatchedSocket = Pick<Socket, "bytesWritten" | "writableLength" | "destroy"> & {
  readonly _handle?: { readonly writeQueueSize?: number } | null;
};

interface Waiting {
  readonly taken: string;
  readonly looks: number;
}

export class StalledReaders {
  readonly #waiting = new Map<WatchedSocket, Waiting | null>();

  add(socket: WatchedSocket): void {
    this.#waiting.set(socket, null);
  }

  remove(socket: WatchedSocket): void {
    this.#waiting.delete(socket);
  }

  /** To be called once in each quarter of the time that a client may stall. */
  look(): void {
    for (const [socket, before] of this.#waiting) {
      if (socket.writableLength === 0) {
        this.#waiting.set(socket, null);
        continue;
      }
      const taken = takenOf(socket);
      const looks = before?.taken === taken ? before.looks + 1 : 0;
      if (looks >= LOOKS) socket.destroy();
      this.#waiting.set(socket, { taken, looks });
    }
  }
}

/** Looks until the returned function is called. `afterMs`: how long a client may take nothing; 0: for ever. */
export function watchReaders(readers: StalledReaders, afterMs: number): () => void {
  if (afterMs === 0) return () => undefined;
  const timer = setInterval(() => readers.look(), afterMs / LOOKS);
  timer.unref();
  return () => clearInterval(timer);
}

/** What changes when the client has taken something, and never when the server writes more. */
function takenOf({ bytesWritten, writableLength, _handle }: WatchedSocket): string {
  return `${bytesWritten - writableLength} ${_handle?.writeQueueSize ?? 0}`;
}
