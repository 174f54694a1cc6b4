/**
 * The reservations of a realtime session's responses (docs/rules/realtime.md#budgets): the size of its conversation so far, and
 * the output that its settings allow. Settings of the client count once its upstream has taken them, and until then where they
 * allow more.
 */
import { ConversationTokens, type SettingsTokens, type Turn } from "../../domain/realtime/conversation-tokens.ts";
import { OutputLimits } from "../../domain/realtime/output-limits.ts";
import { audioCharacters, beginsInSilence, readContextOf } from "../../domain/realtime/read-context.ts";
import { outputLimitOf, type RealtimeEvent } from "../../domain/realtime/realtime-events.ts";
import { estimateTokens, type TokenEstimate, withOutput } from "../../domain/request/token-estimate.ts";
import { type JsonObject, jsonObjectOf, wholeDocument } from "../../domain/wire/json/document.ts";
import type { Call } from "../call/context.ts";
import { inTurns } from "../call/in-turns.ts";
import { fieldError } from "../resolve-model/field-error.ts";
import { writtenMessage } from "./parsed-message.ts";

export class Conversation {
  readonly #call: Call;
  readonly #tokens = new ConversationTokens();
  readonly #limits = new OutputLimits();
  /** How the upstream shortens the conversation, as the client has first asked for it. */
  #truncation: string | null = null;

  constructor(call: Call) {
    this.#call = call;
  }

  /** The estimate of a response; `settings`: its own settings, or null. */
  async estimateFor(settings: JsonObject | null): Promise<TokenEstimate> {
    const { instructions, tools, input } = settings ?? {};
    const ownTokens = settings === null ? 0 : await this.#tokensOf({ instructions, tools, input });
    const audioTokens = this.#tokens.audioTokens(audioCharacters(input));
    const inputTokens = this.#tokens.inputTokens + ownTokens + audioTokens;
    const own = outputLimitOf(settings);
    const limits = own === undefined ? this.#limits.possible : [own];
    const estimates = limits.map((limitTokens) => withOutput(inputTokens, { limitTokens, answers: 1 }));
    return estimates.reduce((one, other) => (other.outputTokens > one.outputTokens ? other : one));
  }

  /** For things that the upstream has done unasked. */
  get inputTokens(): number {
    return this.#tokens.inputTokens;
  }

  /** The client sends settings of the session in an event with this id. Throws what refuses them. */
  async asked(id: unknown, session: JsonObject): Promise<void> {
    const { truncation: given } = session;
    const truncation = given === undefined ? this.#truncation : await writtenMessage(this.#call, given);
    this.#truncation ??= truncation;
    // what one hides, another one would show the model again
    if (truncation !== this.#truncation)
      throw fieldError({ param: "session.truncation", message: "session.truncation can be set once; keep its value" });
    if (beginsInSilence(session)) this.#tokens.mayBeginTurns();
    this.#tokens.configured(session, await this.#settingsOf(session));
    this.#limits.asked(id, outputLimitOf(session));
  }

  /** The upstream states the settings of the session. */
  async stated({ type, session }: RealtimeEvent): Promise<void> {
    const settings = jsonObjectOf(session);
    if (settings !== null) {
      if (beginsInSilence(settings)) this.#tokens.mayBeginTurns();
      this.#tokens.stated(settings, await this.#settingsOf(settings));
    }
    if (type.endsWith(".updated")) this.#limits.taken();
    const limit = outputLimitOf(settings);
    if (limit !== undefined) this.#limits.stated(limit);
  }

  /** The upstream has refused an event, maybe one that asked for a response. */
  doubted(): void {
    this.#tokens.doubted();
  }

  /** The upstream has refused the event with this id. */
  refused(id: string): void {
    this.#limits.refused(id);
  }

  /** The client adds an item. */
  async added(item: JsonObject): Promise<void> {
    this.#tokens.said(await this.#tokensOf({ input: [item] }));
    this.#tokens.heard(audioCharacters([item]));
  }

  /** Input audio, in characters of base64. */
  heard(characters: number): void {
    if (characters > 0) this.#tokens.mayBeginTurns();
    this.#tokens.heard(characters);
  }

  /** A response with these settings starts. The client asks for it now, or its upstream has started it unasked. */
  begun(settings: JsonObject | null, isAsked: boolean): Turn {
    return this.#tokens.begun(readContextOf(settings), isAsked);
  }

  /** It has ended with this status, and with these tokens; one that broke off may have read less than its conversation. */
  ended(
    turn: Turn,
    status: unknown,
    { inputTokens, outputTokens }: Pick<TokenEstimate, "inputTokens" | "outputTokens">,
  ): void {
    const isWhole = status !== "failed" && status !== "cancelled";
    this.#tokens.ended(turn, isWhole ? { inputTokens } : null, outputTokens);
  }

  async #settingsOf({ instructions, tools }: JsonObject): Promise<SettingsTokens> {
    return { instructions: await this.#tokensOf({ instructions }), tools: await this.#tokensOf({ tools }) };
  }

  async #tokensOf(read: JsonObject): Promise<number> {
    return (await inTurns(this.#call, estimateTokens("responses", wholeDocument(read)))).inputTokens;
  }
}
