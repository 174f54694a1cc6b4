/**
 * What the next response of a realtime session will read, in tokens (docs/rules/realtime.md#budgets): what its last one reported,
 * and what was added since. Until one has reported, what was said to the model counts as well.
 */
import { saturated } from "../../../shared/money/amount.ts";

/** Base64 characters of a token of audio, which is 100 ms: PCM of 16 bits at 24 kHz, and G.711. */
const PCM_CHARACTERS = 6_400;
const G711_CHARACTERS = 1_067;
/** The same of a token of spoken output, which is 50 ms. */
const SPOKEN_CHARACTERS = PCM_CHARACTERS / 2;

export class ConversationTokens {
  #reported: number | null = null;
  #added = 0;
  #characters = 0;
  #instructions = 0;
  #charactersPerToken = PCM_CHARACTERS;

  get inputTokens(): number {
    const heard = Math.ceil(this.#characters / this.#charactersPerToken);
    return saturated((this.#reported ?? this.#instructions) + this.#added + heard);
  }

  /** Input audio, in base64. */
  heard(characters: number): void {
    this.#characters += characters;
  }

  /** A text of so many code points, or other input, was added. */
  said(tokens: number): void {
    this.#added += tokens;
  }

  /** The settings of the session, and how many tokens its model reads of them. */
  configured(session: object, tokens: number): void {
    const moreTokens = Math.max(0, tokens - this.#instructions);
    this.#instructions += moreTokens;
    if (this.#reported !== null) this.#added += moreTokens;
    if (/"(?:g711_[au]law|audio\/pcm[au])"/.test(JSON.stringify(session))) this.#charactersPerToken = G711_CHARACTERS;
  }

  /** A response has read and said so many tokens: the next one reads all of them. */
  responded(tokens: number): void {
    this.#reported = tokens;
    this.#added = 0;
    this.#characters = 0;
  }
}

/** The least tokens of spoken output of so many base64 characters. */
export function spokenTokens(characters: number): number {
  return Math.floor(characters / SPOKEN_CHARACTERS);
}
