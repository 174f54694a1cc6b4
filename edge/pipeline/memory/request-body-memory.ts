/**
 * Room for the request bodies that an isolate has to hold: JSON documents, and forms until they are sent. An isolate has 128
 * MB for everything, so that bodies which do not fit wait, the network holding them back; whose turn it is, is decided in
 * domain/body-memory-shares.ts. What a body has goes back when it is let go of, and at the latest when its client leaves.
 */
import {
  type BodyMemoryBounds,
  BodyMemoryShares,
  type HeldBody,
  PACE_MS,
} from "../../domain/request/body-memory-shares.ts";
import type { Clock } from "../../ports.ts";

/** A body up to this needs no room. */
export const UNRESERVED_MAX_BYTES = 64 * 1024;
const ROOM: BodyMemoryBounds = { totalBytes: 64 * 1024 * 1024, tenantBytes: 32 * 1024 * 1024 };

export class RequestBodyMemory {
  readonly #shares: BodyMemoryShares;
  readonly #clock: Clock;
  /** Tells a body that waited that it may go on. */
  readonly #turns = new Map<HeldBody, () => void>();

  constructor(clock: Clock, bounds = ROOM) {
    this.#shares = new BodyMemoryShares(bounds);
    this.#clock = clock;
  }

  /** Bytes that are held. */
  get usedBytes(): number {
    return this.#shares.usedBytes;
  }

  /** Room for a body of a tenant, of so many bytes if it says so. It is closed by its opener, or its client's leaving. */
  open(tenant: string, expectedBytes: number | null, client: AbortSignal): BodyReservation {
    const body = this.#shares.open(tenant, expectedBytes, this.#clock());
    const close = (): void => {
      client.removeEventListener("abort", close);
      this.#shares.close(body);
      this.#letOn();
    };
    client.addEventListener("abort", close, { once: true });
    return {
      take: async (bytes) => {
        if (client.aborted) return false;
        return this.#shares.take(body, bytes, this.#clock()) || (await this.#turn(body, client));
      },
      complete: () => {
        this.#shares.complete(body);
        this.#letOn();
      },
      close,
    };
  }

  /** Waits for its turn. False when the client leaves meanwhile. */
  async #turn(body: HeldBody, client: AbortSignal): Promise<boolean> {
    const turn = Promise.withResolvers<boolean>();
    const leave = (): void => turn.resolve(false);
    this.#turns.set(body, () => turn.resolve(true));
    client.addEventListener("abort", leave, { once: true });
    // Whoever is waited for may fall silent, and nobody tells. A timer of its own also shows the runtime that it waits.
    let timer = setTimeout(() => look(), PACE_MS);
    const look = (): void => {
      timer = setTimeout(() => look(), PACE_MS);
      this.#letOn();
    };
    this.#letOn();
    try {
      return await turn.promise;
    } finally {
      clearTimeout(timer);
      client.removeEventListener("abort", leave);
      this.#turns.delete(body);
    }
  }

  #letOn(): void {
    for (let body = this.#next(); body !== null; body = this.#next()) this.#turns.get(body)?.();
  }

  #next(): HeldBody | null {
    return this.#turns.size === 0 ? null : this.#shares.next(this.#clock());
  }
}

/** What one body has of the room. */
export interface BodyReservation {
  /** Counts bytes that have come, once there is room for them. False: the client has left meanwhile. */
  take(bytes: number): Promise<boolean>;
  /** Nothing more will come. */
  complete(): void;
  /** Gives everything back; calls after the first do nothing. */
  close(): void;
}
