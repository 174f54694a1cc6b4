/** Unfinished work of the isolate's requests: their answers, and later work such as settlements. */
export class WorkUnderWay {
  #count = 0;

  get none(): boolean {
    return this.#count === 0;
  }

  /** Counts the work until it ends. */
  during(work: Promise<unknown>): Promise<unknown> {
    this.#count += 1;
    return work.finally(() => {
      this.#count -= 1;
    });
  }
}
