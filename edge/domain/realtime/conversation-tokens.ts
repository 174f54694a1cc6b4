/**
 * What the next response of a realtime session will read, in tokens (docs/rules/realtime.md#budgets): what the last one that read the
 * conversation reported, and what was added since that one began.
 */
import { saturated } from "../../../shared/money/amount.ts";
import type { ReadContext } from "./read-context.ts";

/** Base64 characters of a token of audio, which is 100 ms: PCM of 16 bits at 24 kHz, and G.711. */
const PCM_CHARACTERS = 6_400;
const G711_CHARACTERS = 1_067;
/** The same of a token of spoken output, which is 50 ms. */
const SPOKEN_CHARACTERS = PCM_CHARACTERS / 2;

/** What the model reads of the settings of a session, in tokens. */
export interface SettingsTokens {
  readonly instructions: number;
  readonly tools: number;
}

/** What was added since a point of the conversation: texts and other input, audio in base64, and the largest settings. */
interface Added {
  tokens: number;
  characters: number;
  instructions: number;
  tools: number;
}

/** A response under way. */
export interface Turn {
  readonly since: Added;
  readonly context: ReadContext;
}

export class ConversationTokens {
  #reported = 0;
  #since = nothingAdded();
  /** Since the response began that began last. */
  #latest = this.#since;
  readonly #turns = new Set<Turn>();
  #largest: SettingsTokens = { instructions: 0, tools: 0 };
  #charactersPerToken = PCM_CHARACTERS;
  /** Its upstream may begin responses unasked. */
  #hasTurns = false;
  /** Some response reads other than the whole conversation. */
  #hasOthers = false;
  /** A response that was refused may count as one that is still to begin. */
  #isDoubted = false;

  get inputTokens(): number {
    const { tokens, characters, instructions, tools } = this.#since;
    return saturated(this.#reported + tokens + instructions + tools + this.audioTokens(characters));
  }

  /** Audio in base64, in tokens. */
  audioTokens(characters: number): number {
    return Math.ceil(characters / this.#charactersPerToken);
  }

  /** Input audio, in base64. */
  heard(characters: number): void {
    for (const added of this.#all()) added.characters += characters;
  }

  /** A text of so many code points, or other input, was added. */
  said(tokens: number): void {
    for (const added of this.#all()) added.tokens += tokens;
  }

  /** The client sends settings of the session. */
  configured(session: object, { instructions, tools }: SettingsTokens): void {
    if (/"(?:g711_[au]law|audio\/pcm[au])"/.test(JSON.stringify(session))) this.#charactersPerToken = G711_CHARACTERS;
    this.#largest = larger(this.#largest, { instructions, tools });
    for (const added of this.#all()) Object.assign(added, larger(added, { instructions, tools }));
  }

  /** The upstream states the settings of the session: those that were never sent count as well. */
  stated(session: object, { instructions, tools }: SettingsTokens): void {
    const { instructions: most, tools: mostTools } = this.#largest;
    this.configured(session, {
      instructions: instructions > most ? instructions : 0,
      tools: tools > mostTools ? tools : 0,
    });
  }

  /**
   * A response begins, which the client asks for now; else its upstream may have begun it before it had what was added last. Where it
   * may begin some, one of these may be taken for the one that was asked for.
   */
  begun(context: ReadContext, isAsked: boolean): Turn {
    if (!isAsked) this.#hasTurns = true;
    if (context.reads !== "all") this.#hasOthers = true;
    const now = nothingAdded();
    const turn = { since: this.#hasTurns ? this.#latest : now, context };
    this.#latest = now;
    this.#turns.add(turn);
    return turn;
  }

  /** The upstream may begin responses unasked from now on. */
  mayBeginTurns(): void {
    this.#hasTurns = true;
  }

  /** The upstream has refused an event, maybe one that asked for a response. */
  doubted(): void {
    this.#isDoubted = true;
  }

  /** It has ended. `reported`: what it has read and said; null: that says nothing of the whole conversation. */
  ended(turn: Turn, reported: { readonly inputTokens: number } | null, outputTokens: number): void {
    const { since, context } = turn;
    if (context.isInConversation) this.said(outputTokens);
    this.#turns.delete(turn);
    if (reported === null || context.reads === "own") return;
    // those of the session count in place of those of the response
    if (context.reads === "items") Object.assign(since, larger(since, this.#largest));
    const [before, sinceBefore, reportedBefore] = [this.inputTokens, this.#since, this.#reported];
    this.#since = since;
    this.#reported = reported.inputTokens;
    // then a response may be another one than it is taken for
    const isUnsure = this.#isDoubted || (this.#hasTurns && this.#hasOthers);
    if (isUnsure && this.inputTokens < before) [this.#since, this.#reported] = [sinceBefore, reportedBefore];
  }

  #all(): ReadonlySet<Added> {
    return new Set([this.#since, this.#latest, ...[...this.#turns].map(({ since }) => since)]);
  }
}

function nothingAdded(): Added {
  return { tokens: 0, characters: 0, instructions: 0, tools: 0 };
}

function larger(one: SettingsTokens, other: SettingsTokens): SettingsTokens {
  return {
    instructions: Math.max(one.instructions, other.instructions),
    tools: Math.max(one.tools, other.tools),
  };
}

/** The least tokens of spoken output of so many base64 characters. */
export function spokenTokens(characters: number): number {
  return Math.floor(characters / SPOKEN_CHARACTERS);
}
