/** So many bytes are moved before everybody else has a turn: about 2 ms of work where each byte is read by scans. */
const TURN_BYTES = 256 * 1024;

/** The turns of a body that may always have more: without them it would leave no time to others. */
export class ByteTurns {
  readonly #sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  #room = TURN_BYTES;

  constructor({ sleep }: { readonly sleep: (ms: number, signal: AbortSignal) => Promise<void> }) {
    this.#sleep = sleep;
  }

  /** Notes moved bytes. Undefined: the turn has not ended. */
  after(bytes: number): Promise<void> | undefined {
    this.#room -= bytes;
    if (this.#room > 0) return undefined;
    this.#room = TURN_BYTES;
    return this.#sleep(0, new AbortController().signal);
  }
}
