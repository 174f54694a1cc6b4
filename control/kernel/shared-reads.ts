/** Reads that many callers make again and again: those of one second share one call (docs/rules/console.md#live). */

const SHARED_FOR_MS = 1000;

interface Call<T> {
  readonly atMs: number;
  readonly answer: Promise<T>;
}

export class SharedReads<T> {
  readonly #calls = new Map<string, Call<T>>();
  readonly #isShared: (answer: T) => boolean;

  /** `isShared`: whether an answer may be given to others than those who wait for it. */
  constructor(isShared: (answer: T) => boolean = () => true) {
    this.#isShared = isShared;
  }

  /** The answer of a call that began within the last second, or of a new one. A failed call is not shared. */
  async get(name: string, nowMs: number, call: () => Promise<T>): Promise<T> {
    for (const [known, { atMs }] of this.#calls)
      if (nowMs < atMs || nowMs >= atMs + SHARED_FOR_MS) this.#calls.delete(known);
    const running = this.#calls.get(name);
    if (running !== undefined) return await running.answer;
    const began = { atMs: nowMs, answer: call() };
    this.#calls.set(name, began);
    try {
      const answer = await began.answer;
      if (!this.#isShared(answer)) this.#forget(name, began);
      return answer;
    } catch (error) {
      this.#forget(name, began);
      throw error;
    }
  }

  #forget(name: string, call: Call<T>): void {
    if (this.#calls.get(name) === call) this.#calls.delete(name);
  }
}
