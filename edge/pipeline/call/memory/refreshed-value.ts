/**
 * A value that is read again when it is used and no longer fresh. Requests share the value and never a read in progress: the
 * platform may cut off the request that started one. While one request reads, the others use the value that is known.
 */

/** A read that has not ended after this long is taken to be cut off, ms. */
const READ_MAX_MS = 1000;

interface RefreshTerms {
  /** For this long after its read started, a value is used without reading again, ms. */
  readonly freshMs: number;
  /** So long a value is used while another request reads, or when reading fails, ms. */
  readonly keptMs: number;
}

export class RefreshedValue<T> {
  readonly #terms: RefreshTerms;
  #held: { readonly value: T; readonly readMs: number } | null = null;
  #readingSinceMs: number | null = null;

  constructor(terms: RefreshTerms) {
    this.#terms = terms;
  }

  /** The value at `nowMs`. Throws what `read` throws when no value may be used instead. */
  async get(nowMs: number, read: () => Promise<T>): Promise<T> {
    const held = this.#held;
    const ageMs = held === null ? Number.POSITIVE_INFINITY : nowMs - held.readMs;
    if (held !== null && ageMs < this.#terms.freshMs) return held.value;
    const mayBeOld = held !== null && ageMs < this.#terms.keptMs;
    const isBeingRead = this.#readingSinceMs !== null && nowMs - this.#readingSinceMs < READ_MAX_MS;
    if (mayBeOld && isBeingRead) return held.value;
    try {
      return await this.readAgain(nowMs, read);
    } catch (error) {
      if (mayBeOld) return held.value;
      throw error;
    }
  }

  /** Reads the value now, even if a value is known. Throws what `read` throws. */
  async readAgain(nowMs: number, read: () => Promise<T>): Promise<T> {
    this.#readingSinceMs = nowMs;
    try {
      const value = await read();
      if (this.#held === null || nowMs >= this.#held.readMs) this.#held = { value, readMs: nowMs };
      return value;
    } finally {
      if (this.#readingSinceMs === nowMs) this.#readingSinceMs = null;
    }
  }
}
