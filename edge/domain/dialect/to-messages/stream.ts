/**
 * The stream of a chat completion as the events of a message of Anthropic's: one block after the other, and the end only after
 * `[DONE]`, so that a stream which breaks never looks complete.
 */
import { brokenStreamBody } from "../../../../shared/errors.ts";
import { atOnce, type Steps } from "../../../../shared/steps.ts";
import { isJsonObject, type JsonObject } from "../../wire/json/document.ts";
import { parsedInSteps } from "../../wire/json/parse-in-steps.ts";
import { jsonInSteps, type TakeBytes } from "../../wire/json/write-in-steps.ts";
import { headText } from "../../wire/sse/event-head.ts";
import { cutText } from "../../wire/text/printable.ts";
import { messagesError, statusOfEvent } from "../error-types.ts";
import { CHARACTER_BYTES, elementsOf, ITEM_UNITS, objectOf, textOf } from "../values.ts";
import { endOf, isBegun, isCut, messageHead, messagesUsage, reasoningOf, reportOf, textsOf } from "./answer.ts";
import { BlockQueue } from "./block-queue.ts";
import { CallPlaces } from "./call-places.ts";

/** The most of a refusal, or of the text that stopped the answer, that its end repeats. */
const REPEATED_MAX_CHARACTERS = 1024;

export class MessagesStream {
  isBroken = false;
  fault: string | null = null;
  readonly #blocks = new BlockQueue();
  /** The parts of the message that come from the first chunk. */
  #head: JsonObject | null = null;
  /** Members of later chunks that count for the whole answer. */
  #report: JsonObject = {};
  #finish: JsonObject = {};
  #refusal = "";
  readonly #places = new CallPlaces();
  readonly #take: TakeBytes | undefined;
  #ended = false;

  constructor(take?: TakeBytes) {
    this.#take = take;
  }

  get keptBytes(): number {
    return this.#blocks.keptCharacters * CHARACTER_BYTES;
  }

  *event(name: string | null, data: string): Steps<string> {
    if (this.#ended) return "";
    if (data === "[DONE]") return yield* this.#end();
    const chunk = yield* parsedInSteps(data);
    if (!isJsonObject(chunk)) return this.#broken();
    const { error, choices, object } = chunk;
    if (name === "error" || error || object === "error") {
      this.#ended = true;
      return yield* written([messagesError(statusOfEvent(chunk), chunk)]);
    }
    if (!Array.isArray(choices)) return "";
    this.#report = { ...this.#report, ...reportOf(chunk) };
    if (this.#head === null && !isBegun(chunk)) return "";
    const started = this.#start(chunk);
    const choice = elementsOf(choices).find((one) => (objectOf(one)["index"] ?? 0) === 0);
    const events = yield* this.#choice(objectOf(choice), chunk);
    if (this.#blocks.fault !== null) return this.#broken(this.#blocks.fault);
    return yield* written([...started, ...events]);
  }

  end(): string {
    return this.#ended ? "" : this.#broken();
  }

  #broken(fault: string | null = null): string {
    this.isBroken = true;
    this.fault = fault;
    this.#ended = true;
    return atOnce(written([messagesError(500, brokenStreamBody(fault))]));
  }

  #start(chunk: JsonObject): readonly JsonObject[] {
    if (this.#head !== null) return [];
    this.#head = messageHead(chunk);
    // the first event has the numbers known so far, the last event has all
    const usage = { input_tokens: 0, output_tokens: 0, ...messagesUsage(chunk) };
    const message = { ...this.#head, content: [], stop_reason: null, stop_sequence: null, usage };
    return [{ type: "message_start", message }];
  }

  *#choice(choice: JsonObject, chunk: JsonObject): Steps<readonly JsonObject[]> {
    const { delta, finish_reason, stop_reason } = choice;
    if (finish_reason !== undefined && finish_reason !== null)
      this.#finish = { finish_reason: headText(finish_reason), stop_reason: shortText(stop_reason) };
    const { content, refusal, tool_calls: calls } = objectOf(delta);
    this.#refusal = cutText(this.#refusal + textOf(refusal), REPEATED_MAX_CHARACTERS);
    const events: JsonObject[] = [
      ...this.#blocks.said("thinking", reasoningOf(objectOf(delta))),
      ...this.#blocks.said("text", textsOf(content) + textOf(refusal)),
    ];
    for (const call of elementsOf(calls)) {
      yield ITEM_UNITS;
      const { at, id, name, input } = yield* this.#places.pieceOf(objectOf(call), this.#head ?? chunk, this.#take);
      events.push(...(yield* this.#blocks.called(at, { id, name }, input)));
      if (this.#blocks.fault !== null) break;
    }
    return events;
  }

  *#end(): Steps<string> {
    if (this.#head === null) return this.#broken();
    const blocks = this.#blocks.finish(isCut(this.#finish));
    if (this.#blocks.fault !== null) return this.#broken(this.#blocks.fault);
    this.#ended = true;
    const called = this.#blocks.calledAny;
    const delta = endOf(this.#finish, { called, refusal: this.#refusal });
    return yield* written([
      ...blocks,
      { type: "message_delta", delta, usage: messagesUsage(this.#report) },
      { type: "message_stop" },
    ]);
  }
}

function shortText(value: unknown): string | undefined {
  return typeof value === "string" ? cutText(value, REPEATED_MAX_CHARACTERS) : undefined;
}

function* written(events: readonly JsonObject[]): Steps<string> {
  let text = "";
  for (const event of events) {
    yield ITEM_UNITS;
    text += `event: ${String(event["type"])}\ndata: ${yield* jsonInSteps(event)}\n\n`;
  }
  return text;
}
