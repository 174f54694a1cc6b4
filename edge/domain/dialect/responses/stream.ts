/**
 * The stream of a chat completion as the events of the Responses API: the end only after `[DONE]`, so that a stream which breaks
 * never looks complete.
 */
import type { Steps } from "../../../../shared/steps.ts";
import { isJsonObject, type JsonObject } from "../../wire/json/document.ts";
import { parsedInSteps } from "../../wire/json/parse-in-steps.ts";
import { jsonInSteps, type TakeBytes } from "../../wire/json/write-in-steps.ts";
import { headText } from "../../wire/sse/event-head.ts";
import { chatError, statusOfEvent } from "../error-types.ts";
import { isBegun, reasoningOf, reportOf, textsOf } from "../to-messages/answer.ts";
import { CallPlaces } from "../to-messages/call-places.ts";
import { CHARACTER_BYTES, elementsOf, ITEM_UNITS, objectOf, textOf } from "../values.ts";
import { endStatusOf, outputOf, type ResponsesAsked, responseOf } from "./answer.ts";
import type { OutputItems } from "./output-items.ts";
import { sealOf } from "./sealed.ts";

export class ResponsesStream {
  isBroken = false;
  readonly #asked: ResponsesAsked;
  readonly #take: TakeBytes;
  readonly #places = new CallPlaces();
  /** The id and the model of the answer. */
  #head: JsonObject = {};
  #output: OutputItems | null = null;
  /** Members of later chunks that count for the whole answer. */
  #report: JsonObject = {};
  #reason: unknown = null;
  #ended = false;
  #sequence = 0;

  constructor(asked: ResponsesAsked, take: TakeBytes = () => undefined) {
    this.#asked = asked;
    this.#take = take;
  }

  /** Parts of the answer that its last event needs. */
  get keptBytes(): number {
    return (this.#output?.keptCharacters ?? 0) * CHARACTER_BYTES;
  }

  *event(name: string | null, data: string): Steps<string> {
    if (this.#ended) return "";
    if (data === "[DONE]") return yield* this.#end();
    const chunk = yield* parsedInSteps(data);
    if (!isJsonObject(chunk)) return this.#broken();
    const { error, choices, object } = chunk;
    if (name === "error" || error || object === "error") return yield* this.#line(this.#failed(chunk));
    if (!Array.isArray(choices)) return "";
    this.#report = { ...this.#report, ...reportOf(chunk) };
    if (this.#output === null && !isBegun(chunk)) return "";
    const output = this.#output ?? outputOf(chunk, this.#asked);
    const begun = this.#output === null ? yield* this.#written(this.#begin(chunk)) : "";
    this.#output = output;
    const choice = elementsOf(choices).find((one) => (objectOf(one)["index"] ?? 0) === 0);
    const events = yield* this.#choice(output, objectOf(choice));
    if (output.isTooLarge) return this.#broken();
    return begun + (yield* this.#written(events));
  }

  end(): string {
    return this.#ended ? "" : this.#broken();
  }

  /** The relay ends a broken stream with an error in the form of its route. */
  #broken(): string {
    this.isBroken = true;
    this.#ended = true;
    return "";
  }

  #failed(chunk: JsonObject): JsonObject {
    this.#ended = true;
    const told = chatError(statusOfEvent(chunk), chunk)["error"] as JsonObject;
    const { code } = objectOf(chunk["error"]);
    const error = typeof code === "string" ? { ...told, code } : told;
    return { ...error, type: "error", error };
  }

  #begin({ id, model }: JsonObject): readonly JsonObject[] {
    this.#head = { id: headText(id), model: headText(model) };
    const response = responseOf(this.#head, this.#asked, null);
    return ["created", "in_progress"].map((name) => ({ type: `response.${name}`, response }));
  }

  *#choice(output: OutputItems, { delta, finish_reason: reason }: JsonObject): Steps<readonly JsonObject[]> {
    if (reason !== undefined && reason !== null) this.#reason = headText(reason);
    const { content, refusal, tool_calls: calls, thinking_blocks: blocks } = objectOf(delta);
    const events: JsonObject[] = [...output.said("reasoning", reasoningOf(objectOf(delta)))];
    for (const block of elementsOf(blocks)) {
      yield ITEM_UNITS;
      if (output.isTooLarge) return events;
      const seal = sealOf(objectOf(block));
      if (seal !== null) events.push(...output.sealed(seal));
    }
    events.push(...output.said("text", textsOf(content)), ...output.said("refusal", textOf(refusal)));
    for (const call of elementsOf(calls)) {
      yield ITEM_UNITS;
      if (output.isTooLarge) return events;
      const { at, id, name, input } = yield* this.#places.pieceOf(objectOf(call), this.#head, this.#take);
      events.push(...output.called(at, { id, name }, input));
    }
    events.push(...output.newInputs());
    return events;
  }

  *#end(): Steps<string> {
    const output = this.#output;
    if (output === null) return this.#broken();
    this.#ended = true;
    const status = endStatusOf(this.#reason);
    const events = yield* output.finish(status);
    const ended = { output: output.items, reason: this.#reason, report: this.#report };
    const response = responseOf(this.#head, this.#asked, ended);
    return yield* this.#written([...events, { type: `response.${status}`, response }]);
  }

  *#written(events: readonly JsonObject[]): Steps<string> {
    let text = "";
    for (const event of events) {
      yield ITEM_UNITS;
      text += yield* this.#line(event);
    }
    return text;
  }

  *#line(event: JsonObject): Steps<string> {
    const numbered = { ...event, sequence_number: this.#sequence };
    this.#sequence += 1;
    const line = `event: ${String(event["type"])}\ndata: ${yield* jsonInSteps(numbered)}\n\n`;
    // before the next one is written: at the end each text is written several times
    this.#take(line.length);
    return line;
  }
}
