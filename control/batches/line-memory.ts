/**
 * Bounds what bodies and answers of lines hold in memory, here and in Workers (docs/rules/batches.md#windows). Nobody knows how large
 * an answer will be, so each counts as the largest that its model gave of late.
 */
const HELD_MAX_CHARS = 64 * 1024 * 1024;
/** What any answer counts, so that models of small answers need not be remembered. */
const LEAST_CHARS = 64 * 1024;
const FORGETS = 0.9;

export class LineMemory {
  readonly #largest = new Map<string, number>();
  #heldChars = 0;

  /** How many more lines of a model may be under way. One always may: it is its answers that tell their size. */
  room(model: string): number {
    if (this.#heldChars === 0) return Math.max(1, Math.floor(HELD_MAX_CHARS / this.#expected(model)));
    return Math.max(0, Math.floor((HELD_MAX_CHARS - this.#heldChars) / this.#expected(model)));
  }

  /** A line is under way; what it returns gives its memory free. */
  taken(model: string, bodyChars: number): () => void {
    const chars = bodyChars + this.#expected(model);
    this.#heldChars += chars;
    return () => {
      this.#heldChars -= chars;
    };
  }

  /** A line of the model has an answer. */
  answered(model: string, chars: number): void {
    const largest = Math.max(chars, this.#expected(model) * FORGETS);
    if (largest > LEAST_CHARS) this.#largest.set(model, largest);
    else this.#largest.delete(model);
  }

  #expected(model: string): number {
    return this.#largest.get(model) ?? LEAST_CHARS;
  }
}
