/**
 * Facts that an answer states other than its usage: the model that answered, why its choices ended, and, if wanted, the ids under
 * which its upstream keeps it. Only names and words are kept, short ones: nothing of the answer's content can become a fact.
 */

/** Facts that the answer does not state are absent. */
export interface AnswerFacts {
  /** The model that answered, as its upstream calls it. */
  readonly response_model?: string;
  /** Why its choices ended, in order. */
  readonly finish_reasons?: readonly string[];
}

const CHARACTERS_MAX = 512;
const REASONS_MAX = 16;
const WORD = /^[\w./:@+-]{1,100}$/;
const ID = /^[\w.:@+=-]{1,512}$/;

/** The purpose of a text. */
export type Fact = "model" | "id" | "reason";

/** Keeps the texts that the scan finds at the places of facts; they may be cut anywhere. */
export class FactReader {
  #text = "";
  #model = "";
  readonly #reasons: string[] = [];
  readonly #onId: ((id: string) => void) | undefined;

  /** `onId`: called with each id of an object of the upstream; when it is omitted, they are not read. */
  constructor(onId?: (id: string) => void) {
    this.#onId = onId;
  }

  get wantsIds(): boolean {
    return this.#onId !== undefined;
  }

  get hasModel(): boolean {
    return this.#model !== "";
  }

  /** A text starts after its opening quote. */
  begin(): void {
    this.#text = "";
  }

  /** More of the text; of a text that is too long only so much as shows that it is. */
  push(bytes: Uint8Array, from: number, to: number): void {
    const end = Math.min(to, from + CHARACTERS_MAX + 2 - this.#text.length);
    this.#text += String.fromCharCode(...bytes.subarray(from, end));
  }

  /** The text has ended with its closing quote. */
  end(is: Fact): void {
    const fact = this.#text.slice(0, -1);
    if (is === "id" && ID.test(fact)) this.#onId?.(fact);
    if (is === "id" || !WORD.test(fact)) return;
    if (is === "model") this.#model = fact;
    else if (this.#reasons.length < REASONS_MAX) this.#reasons.push(fact);
  }

  /** The facts that have come so far. */
  facts(): AnswerFacts {
    return {
      ...(this.hasModel ? { response_model: this.#model } : {}),
      ...(this.#reasons.length > 0 ? { finish_reasons: this.#reasons } : {}),
    };
  }
}
