/**
 * What the responses of a realtime session reserve (docs/rules/realtime.md#budgets): what its conversation has by now, and what its
 * settings allow. Settings of the client count once its upstream has taken them, and until then where they allow more.
 */
import { ConversationTokens } from "../../domain/realtime/conversation-tokens.ts";
import { OutputLimits } from "../../domain/realtime/output-limits.ts";
import { outputLimitOf, type RealtimeEvent } from "../../domain/realtime/realtime-events.ts";
import { estimateTokens, type TokenEstimate, withOutput } from "../../domain/request/token-estimate.ts";
import { isJsonObject, type JsonObject, jsonObjectOf, wholeDocument } from "../../domain/wire/json/document.ts";
import type { Call } from "../call/context.ts";
import { inTurns } from "../call/in-turns.ts";

export class Conversation {
  readonly #call: Call;
  readonly #tokens = new ConversationTokens();
  readonly #limits = new OutputLimits();

  constructor(call: Call) {
    this.#call = call;
  }

  /** Of a response with settings of its own; null: it has none. */
  async estimateFor(settings: JsonObject | null): Promise<TokenEstimate> {
    const { instructions, tools, input } = settings ?? {};
    const ownTokens = settings === null ? 0 : await this.#tokensOf({ instructions, tools, input });
    const inputTokens = this.#tokens.inputTokens + ownTokens;
    const own = outputLimitOf(settings);
    const limits = own === undefined ? this.#limits.possible : [own];
    const estimates = limits.map((limitTokens) => withOutput(inputTokens, { limitTokens, answers: 1 }));
    return estimates.reduce((one, other) => (other.outputTokens > one.outputTokens ? other : one));
  }

  /** Of what the upstream has done without being asked. */
  get inputTokens(): number {
    return this.#tokens.inputTokens;
  }

  /** The client sends settings of the session in an event with this id. */
  async asked(id: unknown, session: JsonObject): Promise<void> {
    await this.#configured(session);
    this.#limits.asked(id, outputLimitOf(session));
  }

  /** The upstream states the settings of the session. */
  async stated({ type, session }: RealtimeEvent): Promise<void> {
    const settings = jsonObjectOf(session);
    if (settings !== null) await this.#configured(settings);
    if (type.endsWith(".updated")) this.#limits.taken();
    const limit = outputLimitOf(settings);
    if (limit !== undefined) this.#limits.stated(limit);
  }

  /** The upstream has refused the event with this id. */
  refused(id: string): void {
    this.#limits.refused(id);
  }

  /** The client adds an item. */
  async added(item: JsonObject): Promise<void> {
    this.#tokens.said(await this.#tokensOf({ input: [item] }));
    const { content } = item;
    if (!Array.isArray(content)) return;
    for (const part of content.filter(isJsonObject))
      if (typeof part["audio"] === "string") this.#tokens.heard(part["audio"].length);
  }

  /** Input audio, in characters of base64. */
  heard(characters: number): void {
    this.#tokens.heard(characters);
  }

  /** A response has read and said so many tokens. */
  responded(tokens: number): void {
    this.#tokens.responded(tokens);
  }

  async #configured(session: JsonObject): Promise<void> {
    const { instructions, tools } = session;
    this.#tokens.configured(session, await this.#tokensOf({ instructions, tools }));
  }

  async #tokensOf(read: JsonObject): Promise<number> {
    return (await inTurns(this.#call, estimateTokens("responses", wholeDocument(read)))).inputTokens;
  }
}
