/**
 * Memory for the request bodies that an isolate must hold: JSON documents, and forms until they are sent. An isolate has 128 MB
 * for everything, so bodies that do not fit wait, and back-pressure holds their clients back;
 * edge/domain/request/body-memory-shares.ts decides which body is next. The memory of a body is freed when the body is
 * released, at the latest when its client leaves.
 */
import { LIMITS } from "../../../../shared/catalogues/limits.ts";
import {
  type BodyMemoryBounds,
  BodyMemoryShares,
  type HeldBody,
  PACE_MS,
} from "../../../domain/request/body-memory-shares.ts";
import type { Clock } from "../../../ports.ts";
import type { Interruption } from "../interruption.ts";

/** A body up to this size needs no reservation. */
export const UNRESERVED_MAX_BYTES = LIMITS.smallBody;
const BOUNDS: BodyMemoryBounds = { totalBytes: LIMITS.bodyMemory, tenantBytes: LIMITS.tenantBodyMemory };
/** Bodies of batch lines, and their answers. */
export const LINES: BodyMemoryBounds = {
  totalBytes: LIMITS.lineMemory,
  tenantBytes: LIMITS.tenantLineMemory,
  leavesFree: true,
};

/** The call whose body may need to wait. */
interface Waiting {
  readonly request: { readonly signal: AbortSignal };
  readonly interruption: Interruption;
}

export class RequestBodyMemory {
  readonly #shares: BodyMemoryShares;
  readonly #clock: Clock;
  /** Functions that let waiting bodies continue. */
  readonly #turns = new Map<HeldBody, () => void>();

  constructor(clock: Clock, bounds = BOUNDS) {
    this.#shares = new BodyMemoryShares(bounds);
    this.#clock = clock;
  }

  /** Bytes that are reserved. */
  get usedBytes(): number {
    return this.#shares.usedBytes;
  }

  /**
   * Opens a reservation for a body of a tenant; `expectedBytes`: its declared size. It ends by `release`, or when its
   * client leaves.
   */
  open(tenant: string, expectedBytes: number | null, call: Waiting): BodyReservation {
    const client = call.request.signal;
    const body = this.#shares.open(tenant, expectedBytes, this.#clock());
    const release = (): void => {
      client.removeEventListener("abort", release);
      this.#shares.close(body);
      this.#resumeNext();
    };
    client.addEventListener("abort", release, { once: true });
    return {
      reserve: async (bytes, isForValues) => {
        if (client.aborted) return false;
        return this.#shares.take(body, bytes, this.#clock(), isForValues) || (await this.#turn(body, call));
      },
      complete: () => {
        this.#shares.complete(body);
        this.#resumeNext();
      },
      keepValues: (bytes) => {
        this.#shares.keepValues(body, bytes);
        this.#resumeNext();
      },
      release,
    };
  }

  /** Waits for the body's turn. False when the client leaves, or the call is interrupted, meanwhile. */
  async #turn(body: HeldBody, { request: { signal: client }, interruption }: Waiting): Promise<boolean> {
    const turn = Promise.withResolvers<boolean>();
    const leave = (): void => turn.resolve(false);
    const callOff = interruption.listen(leave);
    this.#turns.set(body, () => turn.resolve(true));
    client.addEventListener("abort", leave, { once: true });
    // The body that this one waits for may stall without an event. A separate timer also shows the runtime that this request
    // waits.
    let timer = setTimeout(() => look(), PACE_MS);
    const look = (): void => {
      timer = setTimeout(() => look(), PACE_MS);
      this.#resumeNext();
    };
    this.#resumeNext();
    try {
      return await turn.promise;
    } finally {
      clearTimeout(timer);
      callOff();
      client.removeEventListener("abort", leave);
      this.#turns.delete(body);
    }
  }

  #resumeNext(): void {
    for (let body = this.#next(); body !== null; body = this.#next()) this.#turns.get(body)?.();
  }

  #next(): HeldBody | null {
    return this.#turns.size === 0 ? null : this.#shares.resumeNext(this.#clock());
  }
}

/** The memory that one body has. */
export interface BodyReservation {
  /** Counts bytes that have arrived, or values, once there is memory for them. False: the client has left meanwhile. */
  reserve(bytes: number, isForValues?: boolean): Promise<boolean>;
  /** Reports that nothing more will come. */
  complete(): void;
  /** Frees the memory reserved for values, except for so many bytes. */
  keepValues(bytes: number): void;
  /** Frees everything that is reserved; calls after the first do nothing. */
  release(): void;
}
