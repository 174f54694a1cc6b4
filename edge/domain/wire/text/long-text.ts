/**
 * A long text that is made of very many short pieces. The engine keeps a text that grows by `+=` as a node for each piece, many times
 * its size, until somebody reads it; then it copies all of it at once. Here pieces are joined while more of them come.
 */

/** Pieces that are joined at once. */
const PIECES = 1_024;

export class LongText {
  readonly #between: string;
  #joined = "";
  #pieces: string[] = [];
  #isEmpty = true;

  /** `between`: stands between two pieces. */
  constructor(between = "") {
    this.#between = between;
  }

  /** Whether it has no piece. */
  get isEmpty(): boolean {
    return this.#isEmpty && this.#pieces.length === 0;
  }

  add(piece: string): void {
    if (this.#pieces.push(piece) === PIECES) this.#join();
  }

  /** The text so far. */
  get text(): string {
    this.#join();
    return this.#joined;
  }

  #join(): void {
    if (this.#pieces.length === 0) return;
    this.#joined += (this.#isEmpty ? "" : this.#between) + this.#pieces.join(this.#between);
    this.#pieces = [];
    this.#isEmpty = false;
  }
}
