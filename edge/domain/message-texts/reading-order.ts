/**
 * The contents of a request in the orders in which a model may read them (docs/rules/guardrails.md#split-texts): instructions
 * come first, wherever they are in the body, and many servers move system messages to the front.
 */
export class ReadingOrder<T> {
  readonly #instructions: T[] = [];
  readonly #messages: T[] = [];
  readonly #ofSystem: T[] = [];
  readonly #ofOthers: T[] = [];
  #moves = false;

  /** Takes the next content. */
  add(content: T, from: "instructions" | "system" | "others"): void {
    if (from === "instructions") this.#instructions.push(content);
    else {
      this.#messages.push(content);
      if (from === "system") this.#moves ||= this.#ofOthers.length > 0;
      (from === "system" ? this.#ofSystem : this.#ofOthers).push(content);
    }
  }

  /** System messages at their own places. */
  get asGiven(): readonly T[] {
    return [...this.#instructions, ...this.#messages];
  }

  /** All system messages first; empty: they are first already. */
  get systemFirst(): readonly T[] {
    return this.#moves ? [...this.#instructions, ...this.#ofSystem, ...this.#ofOthers] : [];
  }
}
