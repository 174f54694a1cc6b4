/** Only a few pieces of work run at the same time; the others wait in line, the oldest first. */

/** Nobody waits any more for what would have been next. */
export class LeftLine extends Error {
  override readonly name = "LeftLine";
}

export class WaitingLine {
  readonly #atOnce: number;
  readonly #waiting = new Set<() => void>();
  #free: number;

  constructor(atOnce: number) {
    this.#atOnce = atOnce;
    this.#free = atOnce;
  }

  /** How many wait. */
  get length(): number {
    return this.#waiting.size;
  }

  /** Nothing runs, and nobody waits. */
  get isEmpty(): boolean {
    return this.#free === this.#atOnce;
  }

  /**
   * Resolves when it is one's turn, to what ends it, which the caller calls once. Throws {@link LeftLine} when `left` is aborted
   * before.
   */
  async begin(left?: AbortSignal): Promise<() => void> {
    if (left?.aborted === true) throw new LeftLine();
    if (this.#free > 0) this.#free -= 1;
    else await this.#wait(left);
    return () => this.#end();
  }

  async #wait(left: AbortSignal | undefined): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = (): void => {
      if (this.#waiting.delete(resolve)) reject(new LeftLine());
    };
    this.#waiting.add(resolve);
    left?.addEventListener("abort", leave, { once: true });
    try {
      await promise;
    } finally {
      left?.removeEventListener("abort", leave);
    }
  }

  #end(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free += 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
