/**
 * The input of the next response of a realtime session, in tokens (docs/rules/realtime.md#budgets): the report of the last
 * response that read the conversation, and everything added since that response started.
 */
import { saturated } from "../../../shared/money/amount.ts";
import { type JsonObject, jsonObjectOf } from "../wire/json/document.ts";
import type { ReadContext } from "./read-context.ts";

/** Base64 characters of a token of audio, which is 100 ms: PCM of 16 bits at 24 kHz, and G.711. */
const PCM_CHARACTERS = 6_400;
const G711_CHARACTERS = 1_067;
const G711: ReadonlySet<unknown> = new Set(["g711_ulaw", "g711_alaw", "audio/pcmu", "audio/pcma"]);
/** The same of a token of spoken output, which is 50 ms. */
const SPOKEN_CHARACTERS = PCM_CHARACTERS / 2;

/** The settings of a session that the model reads, in tokens. */
export interface SettingsTokens {
  readonly instructions: number;
  readonly tools: number;
}

/** Added since a point of the conversation: texts and other input, audio in base64, and the largest settings. */
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
  /** Since the start of the response that started last. */
  #latest = this.#since;
  readonly #turns = new Set<Turn>();
  #largest: SettingsTokens = { instructions: 0, tools: 0 };
  #charactersPerToken = PCM_CHARACTERS;
  /** Its upstream may start responses unasked. */
  #hasTurns = false;
  /** Some response reads other than the whole conversation. */
  #hasOthers = false;
  /** A response that was refused may count as one that has not started yet. */
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
  configured(session: JsonObject, { instructions, tools }: SettingsTokens): void {
    if (formatsOf(session).some((format) => G711.has(format))) this.#charactersPerToken = G711_CHARACTERS;
    this.#largest = larger(this.#largest, { instructions, tools });
    for (const added of this.#all()) Object.assign(added, larger(added, { instructions, tools }));
  }

  /** The upstream states the settings of the session: settings that were never sent count as well. */
  stated(session: JsonObject, { instructions, tools }: SettingsTokens): void {
    const { instructions: most, tools: mostTools } = this.#largest;
    this.configured(session, {
      instructions: instructions > most ? instructions : 0,
      tools: tools > mostTools ? tools : 0,
    });
  }

  /**
   * A response starts. The client asks for it now, or its upstream may have started it before the last addition arrived. If the
   * upstream may start responses unasked, one of these may be taken for the requested one.
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

  /** The upstream may start responses unasked from now on. */
  mayBeginTurns(): void {
    this.#hasTurns = true;
  }

  /** The upstream has refused an event, maybe one that asked for a response. */
  doubted(): void {
    this.#isDoubted = true;
  }

  /** The response has ended. `reported`: its input and output; null: the report does not cover the whole conversation. */
  ended(turn: Turn, reported: { readonly inputTokens: number } | null, outputTokens: number): void {
    const { since, context } = turn;
    if (context.isInConversation) this.said(outputTokens);
    this.#turns.delete(turn);
    if (reported === null || context.reads === "own") return;
    // settings of the response replace those of the session
    if (context.reads === "items") Object.assign(since, larger(since, this.#largest));
    const [before, sinceBefore, reportedBefore] = [this.inputTokens, this.#since, this.#reported];
    this.#since = since;
    this.#reported = reported.inputTokens;
    // in that case responses may be confused
    const isUnsure = this.#isDoubted || (this.#hasTurns && this.#hasOthers);
    if (isUnsure && this.inputTokens < before) [this.#since, this.#reported] = [sinceBefore, reportedBefore];
  }

  #all(): ReadonlySet<Added> {
    return new Set([this.#since, this.#latest, ...[...this.#turns].map(({ since }) => since)]);
  }
}

/** The formats of audio that settings name, in the older members and in today's. */
function formatsOf({ input_audio_format, output_audio_format, audio }: JsonObject): readonly unknown[] {
  const { input, output } = jsonObjectOf(audio) ?? {};
  const todays = [input, output].map((side) => jsonObjectOf(jsonObjectOf(side)?.["format"])?.["type"]);
  return [input_audio_format, output_audio_format, ...todays];
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
