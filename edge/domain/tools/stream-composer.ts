/**
 * The event stream of a tool loop (docs/rules/tool-loop.md#streaming): the streams of all turns become one answer, with
 * the id, model and time of the first. Content and reasoning are passed on as they come; tool calls and the finish are
 * held back until it is decided whose they are. Pure: it gets the data of events and returns the text of events.
 */

import { atOnce, type Steps } from "../../../shared/steps.ts";
import { dataEvent } from "../../../shared/wire/event-reader.ts";
import { isJsonObject, type JsonObject } from "../wire/json/document.ts";
import { parsedInSteps } from "../wire/json/parse-in-steps.ts";
import { jsonInSteps } from "../wire/json/write-in-steps.ts";
import { eventHead } from "../wire/sse/event-head.ts";
import { headOf } from "./completion.ts";
import { StreamedTurn } from "./streamed-turn.ts";
import { type FinishedTurn, finalFinishReason, REASONING_NAMES } from "./turn.ts";

const DONE = "[DONE]";

interface ComposerOptions {
  /** The names of the gateway's tools. */
  readonly owned: { has(name: string): boolean };
  /** The client wants the usage event. */
  readonly usageAsked: boolean;
  /** The most that is kept of one turn. */
  readonly turnMaxCharacters: number;
}

export class StreamComposer {
  readonly #options: ComposerOptions;
  /** The members that every chunk of the answer has, from the first turn. */
  #frame: JsonObject | null = null;
  #roleSent = false;
  /** The member in which this upstream writes reasoning. */
  #reasoning: string = "reasoning_content";
  #turn: StreamedTurn;
  #done = false;
  #failed = false;

  constructor(options: ComposerOptions) {
    this.#options = options;
    this.#turn = new StreamedTurn(options.owned, options.turnMaxCharacters);
  }

  /** The stream has ended with an error event, which the client has: nothing may follow. */
  get failed(): boolean {
    return this.#failed;
  }

  /** The turn under way. */
  get turn(): StreamedTurn {
    return this.#turn;
  }

  /** Starts the next turn. */
  nextTurn(): void {
    this.#turn = new StreamedTurn(this.#options.owned, this.#options.turnMaxCharacters);
    this.#done = false;
  }

  /** The client's events for one event of the current turn; may be none. */
  *take(data: string): Steps<string> {
    if (this.#failed || this.#done) return "";
    if (data === DONE) {
      this.#done = true;
      return "";
    }
    const chunk = yield* parsedInSteps(data);
    if (!isJsonObject(chunk)) return dataEvent(data);
    this.#failed = isJsonObject(chunk["error"]);
    return this.#failed || !Array.isArray(chunk["choices"]) ? dataEvent(data) : yield* this.#chunk(chunk);
  }

  /** Tells the client that these tools are called. */
  announce(names: readonly string[]): string {
    return names
      .map((name) => atOnce(this.#event({ delta: { [this.#reasoning]: `[tool: ${name}]` }, finish_reason: null })))
      .join("");
  }

  /** The end of the answer: the finish, the usage if it was asked for, `[DONE]`. */
  *end(
    turn: FinishedTurn,
    final: { readonly toolCalls: readonly JsonObject[]; readonly usage: JsonObject | null },
  ): Steps<string> {
    const rest = this.#turn.rest();
    const reason = finalFinishReason(turn, final);
    const events = [
      ...(rest.length === 0 ? [] : [yield* this.#event({ delta: { tool_calls: rest }, finish_reason: null })]),
      ...(reason === null ? [] : [yield* this.#event({ delta: {}, finish_reason: reason })]),
    ];
    const { usage } = final;
    if (this.#options.usageAsked && usage !== null)
      events.push(dataEvent(yield* jsonInSteps({ ...this.#frame, choices: [], usage })));
    // An upstream that has shown no end may have been cut off, and its client must be able to tell.
    if (this.#done || reason !== null) events.push(dataEvent(DONE));
    return events.join("");
  }

  *#chunk({ choices, usage, ...frame }: JsonObject): Steps<string> {
    if (isJsonObject(usage)) this.#turn.reported(usage);
    this.#frame ??= eventHead(frame);
    const choice = (choices as readonly unknown[]).find((one) => isJsonObject(one) && (one["index"] ?? 0) === 0);
    if (!isJsonObject(choice)) return "";
    const { delta, finish_reason: reason, ...others } = choice;
    const given = isJsonObject(delta) ? delta : {};
    const calls = yield* this.#turn.delta(given);
    if (reason !== null && reason !== undefined) this.#turn.finished(reason);
    const passed = this.#passedOn(given, calls);
    return passed === null ? "" : yield* this.#event({ ...others, delta: passed, finish_reason: null }, frame);
  }

  /** The part of a delta that is passed on at once; null if none. */
  #passedOn(delta: JsonObject, calls: readonly JsonObject[]): JsonObject | null {
    const { tool_calls: _, role, ...rest } = delta;
    this.#reasoning = REASONING_NAMES.find((name) => typeof rest[name] === "string") ?? this.#reasoning;
    const ofClient = calls.length === 0 ? {} : { tool_calls: calls };
    if (role !== undefined && !this.#roleSent) {
      this.#roleSent = true;
      return { role, ...rest, ...ofClient };
    }
    const says = calls.length > 0 || Object.values(rest).some((value) => value !== null && value !== "");
    return says ? { ...rest, ...ofClient } : null;
  }

  *#event(choice: JsonObject, frame: JsonObject | null = this.#frame): Steps<string> {
    const head = this.#frame === null ? {} : headOf(this.#frame);
    return dataEvent(yield* jsonInSteps({ ...frame, ...head, choices: [{ index: 0, ...choice }] }));
  }
}
