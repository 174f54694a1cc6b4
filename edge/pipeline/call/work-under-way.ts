/** What the isolate's requests still do: their answers, and what follows these, such as settlements. */
export class WorkUnderWay {
  #count = 0;
  #over: () => void = () => undefined;

  /** Counts the work until it ends. */
  during(work: Promise<unknown>): Promise<unknown> {
    this.#count += 1;
    return work.finally(() => {
      this.#count -= 1;
      if (this.#count === 0) this.#over();
    });
  }

  /** Resolves when there is none. */
  async none(): Promise<void> {
    while (this.#count > 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#over = resolve;
      await promise;
    }
  }
}
