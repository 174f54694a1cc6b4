/**
 * What an answer says of itself besides its usage: the model that answered, and why its choices ended. Only names and
 * words are kept, a few and short ones: nothing of the answer's content can become a fact.
 */

/** What the answer does not say is absent. */
export interface AnswerFacts {
  /** The model that answered, as its upstream calls it. */
  readonly response_model?: string;
  /** Why its choices ended, in the order in which they did. */
  readonly finish_reasons?: readonly string[];
}

const CHARACTERS_MAX = 100;
const REASONS_MAX = 16;
const WORD = /^[\w./:@+-]{1,100}$/;

/** Keeps the texts that the scan finds at the places of facts; they may be cut anywhere. */
export class FactReader {
  #text = "";
  #model = "";
  readonly #reasons: string[] = [];

  get hasModel(): boolean {
    return this.#model !== "";
  }

  /** A text begins after its opening quote. */
  begin(): void {
    this.#text = "";
  }

  /** More of the text; of a text that is too long only so much as shows that it is. */
  push(bytes: Uint8Array, from: number, to: number): void {
    const end = Math.min(to, from + CHARACTERS_MAX + 2 - this.#text.length);
    this.#text += String.fromCharCode(...bytes.subarray(from, end));
  }

  /** The text has ended with its closing quote. */
  end(isModel: boolean): void {
    const fact = this.#text.slice(0, -1);
    if (!WORD.test(fact)) return;
    if (isModel) this.#model = fact;
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
