/**
 * Reads that must not be older than the question. A question during a read shares the next read, which begins when that one has
 * ended, so there is one read of the same thing at a time.
 */

interface Reading<T> {
  readonly answer: Promise<T>;
  next?: Promise<T>;
}

export class FreshReads<T> {
  readonly #readings = new Map<string, Reading<T>>();

  /** The answer of a read that begins now or later. */
  async get(name: string, read: () => Promise<T>): Promise<T> {
    const running = this.#readings.get(name);
    if (running === undefined) return await this.#begin(name, read);
    running.next ??= running.answer.then(
      async () => await this.#begin(name, read),
      async () => await this.#begin(name, read),
    );
    return await running.next;
  }

  async #begin(name: string, read: () => Promise<T>): Promise<T> {
    const reading: Reading<T> = { answer: read() };
    this.#readings.set(name, reading);
    try {
      return await reading.answer;
    } finally {
      if (reading.next === undefined) this.#readings.delete(name);
    }
  }
}
