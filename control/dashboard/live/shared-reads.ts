/**
 * Answers that every open page reads again and again: requests of the same address within a second share one call
 * (docs/rules/console.md#live).
 */

const SHARED_FOR_MS = 1000;

/** An answer that can be given several times. */
export interface WholeAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Uint8Array<ArrayBuffer>;
}

interface Call {
  readonly atMs: number;
  readonly answer: Promise<WholeAnswer>;
}

export class SharedReads {
  readonly #calls = new Map<string, Call>();
  readonly #nowMs: () => number;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** The answer of a call that began within the last second, or of a new one. A failed call is not shared. */
  async get(address: string, call: () => Promise<WholeAnswer>): Promise<WholeAnswer> {
    const nowMs = this.#nowMs();
    for (const [known, { atMs }] of this.#calls)
      if (nowMs < atMs || nowMs >= atMs + SHARED_FOR_MS) this.#calls.delete(known);
    const running = this.#calls.get(address);
    if (running !== undefined) return await running.answer;
    const began = { atMs: nowMs, answer: call() };
    this.#calls.set(address, began);
    try {
      const answer = await began.answer;
      if (answer.status !== 200) this.#forget(address, began);
      return answer;
    } catch (error) {
      this.#forget(address, began);
      throw error;
    }
  }

  #forget(address: string, call: Call): void {
    if (this.#calls.get(address) === call) this.#calls.delete(address);
  }
}
