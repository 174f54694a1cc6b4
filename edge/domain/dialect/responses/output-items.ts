/**
 * The items of an answer of the Responses API, and their events. Texts and reasoning are open one at a time; calls of tools
 * stay open to the end, because their pieces may interleave.
 */
import type { Steps } from "../../../../shared/steps.ts";
import type { JsonObject } from "../../wire/json/document.ts";
import { parsedInSteps } from "../../wire/json/parse-in-steps.ts";
import { ID_MAX_CHARACTERS } from "../to-messages/answer.ts";
import { ITEM_UNITS, objectOf } from "../values.ts";
import { type ClientTool, TEXT_ARGUMENT } from "./tools.ts";

/** Most items of an answer, and characters of their texts, names and ids: the last event repeats them. */
const ITEMS_MAX = 512;
const TEXT_MAX_CHARACTERS = 4 * 1024 * 1024;

type SaidKind = "reasoning" | "text" | "refusal";

interface Item {
  /** Of a call it is known with its whole name. */
  kind: SaidKind | "function" | "custom";
  readonly callId: string;
  /** That of the function. */
  name: string;
  text: string;
  /** Its place in the output, once it is open. */
  index: number | null;
  /** The item when it is complete. */
  done: JsonObject | null;
}

export class OutputItems {
  readonly #id: string;
  readonly #clientTools: ReadonlyMap<string, ClientTool>;
  readonly #opened: Item[] = [];
  readonly #calls = new Map<number, Item>();
  /** The arguments of calls received so far that no event has carried yet. */
  readonly #newInputs = new Map<Item, string>();
  #said: Item | null = null;
  #characters = 0;

  /** `id`: the answer's, from which the ids of the items are made. */
  constructor(id: string, clientTools: ReadonlyMap<string, ClientTool>) {
    // every event has the id of its item
    this.#id = id.slice(-ID_MAX_CHARACTERS);
    this.#clientTools = clientTools;
  }

  /** More came than is kept. */
  get isTooLarge(): boolean {
    return this.#characters > TEXT_MAX_CHARACTERS || this.#opened.length + this.#calls.size > ITEMS_MAX;
  }

  get keptCharacters(): number {
    return this.#characters;
  }

  /** The items that are over. */
  get items(): readonly JsonObject[] {
    return this.#opened.flatMap(({ done }) => (done === null ? [] : [done]));
  }

  /** Adds reasoning, text or a refusal. */
  said(kind: SaidKind, text: string): readonly JsonObject[] {
    if (text === "") return [];
    const events: JsonObject[] = [];
    if (this.#said?.kind !== kind) {
      events.push(...this.#endSaid("completed"));
      this.#said = itemOf(kind);
      events.push(...this.#open(this.#said));
    }
    const item = this.#said as Item;
    this.#keep(item, text);
    return [...events, { ...this.#place(item), ...PARTS[kind].delta(text) }];
  }

  /** Ends the open reasoning, or one without a text, with the data that its server wants back. */
  sealed(seal: string): readonly JsonObject[] {
    const events: JsonObject[] = [];
    if (this.#said?.kind !== "reasoning") {
      events.push(...this.#endSaid("completed"));
      this.#said = itemOf("reasoning");
      events.push(...this.#open(this.#said));
    }
    this.#characters += seal.length;
    return [...events, ...this.#endSaid("completed", seal)];
  }

  /** Adds to a call: its id and name with its first piece, or pieces of its name. {@link newInputs} has its arguments. */
  called(
    at: number,
    { id, name }: { readonly id: string; readonly name: string },
    input: string,
  ): readonly JsonObject[] {
    const events: JsonObject[] = [];
    let item = this.#calls.get(at);
    if (item === undefined) {
      events.push(...this.#endSaid("completed"));
      item = { ...itemOf("function"), callId: id, name };
      this.#calls.set(at, item);
      this.#characters += id.length + name.length;
    } else if (item.index === null && name !== "" && name !== item.name) {
      item.name += name;
      this.#characters += name.length;
    }
    if (input === "") return events;
    // only with its arguments its name is known to be whole
    if (item.index === null) events.push(...this.#openCall(item));
    this.#keep(item, input);
    // the input of a text tool is known when its arguments are whole
    if (item.kind !== "custom") this.#newInputs.set(item, (this.#newInputs.get(item) ?? "") + input);
    return events;
  }

  /** One event for each call with new arguments, however many pieces have come. */
  newInputs(): readonly JsonObject[] {
    const events = [...this.#newInputs].map(([item, delta]) => this.#argumentsDelta(item, delta));
    this.#newInputs.clear();
    return events;
  }

  /** Ends everything that is open. */
  *finish(status: "completed" | "incomplete"): Steps<readonly JsonObject[]> {
    const events: JsonObject[] = [...this.#endSaid(status)];
    for (const call of this.#calls.values()) {
      yield ITEM_UNITS;
      if (call.index === null) {
        events.push(...this.#openCall(call));
        // clients parse the arguments, so none must be an object too
        call.text = "{}";
        if (call.kind === "function") events.push(this.#argumentsDelta(call, call.text));
      }
      events.push(...(yield* this.#endCall(call, status)));
    }
    this.#calls.clear();
    return events;
  }

  #openCall(call: Item): readonly JsonObject[] {
    call.kind = this.#clientTools.get(call.name)?.takesText === true ? "custom" : "function";
    return this.#open(call);
  }

  #keep(item: Item, text: string): void {
    item.text += text;
    this.#characters += text.length;
  }

  #open(item: Item): readonly JsonObject[] {
    item.index = this.#opened.length;
    this.#opened.push(item);
    const added = {
      type: "response.output_item.added",
      output_index: item.index,
      item: this.#itemOf(item, "in_progress"),
    };
    if (item.kind === "function" || item.kind === "custom") return [added];
    return [added, { ...this.#place(item), ...PARTS[item.kind].added }];
  }

  #endSaid(status: string, seal: string | null = null): readonly JsonObject[] {
    const item = this.#said;
    this.#said = null;
    if (item === null || item.kind === "function" || item.kind === "custom") return [];
    const place = this.#place(item);
    const done = PARTS[item.kind].done(item.text).map((event) => ({ ...place, ...event }));
    return [
      ...done,
      this.#end(item, { ...this.#itemOf(item, status), ...(seal === null ? {} : { encrypted_content: seal }) }),
    ];
  }

  *#endCall(item: Item, status: string): Steps<readonly JsonObject[]> {
    const place = this.#place(item);
    if (item.kind === "function") {
      const { text } = item;
      const { name } = this.#toolOf(item);
      const done = { ...place, type: "response.function_call_arguments.done", name, arguments: text };
      return [done, this.#end(item, this.#itemOf(item, status))];
    }
    const input = objectOf(yield* parsedInSteps(item.text))[TEXT_ARGUMENT];
    if (typeof input === "string") item.text = input;
    const type = "response.custom_tool_call_input";
    return [
      { ...place, type: `${type}.delta`, delta: item.text },
      { ...place, type: `${type}.done`, input: item.text },
      this.#end(item, this.#itemOf(item, status)),
    ];
  }

  #end(item: Item, done: JsonObject): JsonObject {
    item.done = done;
    return { type: "response.output_item.done", output_index: item.index, item: done };
  }

  /** The names of a called tool, as its client gave them. */
  #toolOf({ name: called }: Item): { readonly name: string; readonly namespace?: string } {
    const { name, namespace } = this.#clientTools.get(called) ?? { name: called, namespace: null };
    return namespace === null ? { name } : { name, namespace };
  }

  #argumentsDelta(item: Item, delta: string): JsonObject {
    return { ...this.#place(item), type: "response.function_call_arguments.delta", delta };
  }

  #place(item: Item): JsonObject {
    return { item_id: this.#idOf(item), output_index: item.index };
  }

  #idOf({ kind, index }: Item): string {
    return `${PREFIXES[kind]}_${this.#id}_${String(index)}`;
  }

  #itemOf(item: Item, status: string): JsonObject {
    const { kind, text, callId } = item;
    const isDone = status !== "in_progress";
    const id = this.#idOf(item);
    const call = { id, call_id: callId, ...this.#toolOf(item) };
    if (kind === "function") return { type: "function_call", ...call, arguments: isDone ? text : "", status };
    if (kind === "custom") return { type: "custom_tool_call", ...call, input: isDone ? text : "", status };
    const parts = isDone && text !== "" ? [PARTS[kind].part(text)] : [];
    if (kind === "reasoning") return { type: "reasoning", id, summary: parts };
    return { type: "message", id, role: "assistant", status, content: parts };
  }
}

const PREFIXES = { reasoning: "rs", text: "msg", refusal: "msg", function: "fc", custom: "ctc" };

function itemOf(kind: Item["kind"]): Item {
  return { kind, callId: "", name: "", text: "", index: null, done: null };
}

/** The events of a part of an item. */
interface PartEvents {
  readonly part: (text: string) => JsonObject;
  readonly added: JsonObject;
  readonly delta: (text: string) => JsonObject;
  readonly done: (text: string) => readonly JsonObject[];
}

function partEvents(
  names: { readonly part: string; readonly text: string },
  place: JsonObject,
  part: (text: string) => JsonObject,
  more: JsonObject = {},
): PartEvents {
  const { part: ofPart, text: ofText } = names;
  return {
    part,
    added: { ...place, type: `response.${ofPart}.added`, part: part("") },
    delta: (delta) => ({ ...place, type: `response.${ofText}.delta`, delta, ...more }),
    done: (text) => [
      { ...place, type: `response.${ofText}.done`, [ofText === "refusal" ? "refusal" : "text"]: text, ...more },
      { ...place, type: `response.${ofPart}.done`, part: part(text) },
    ],
  };
}

const IN_CONTENT = { content_index: 0 };
const NO_LOGPROBS = { logprobs: [] };
const PARTS: Readonly<Record<SaidKind, PartEvents>> = {
  reasoning: partEvents(
    { part: "reasoning_summary_part", text: "reasoning_summary_text" },
    { summary_index: 0 },
    (text) => ({ type: "summary_text", text }),
  ),
  text: partEvents(
    { part: "content_part", text: "output_text" },
    IN_CONTENT,
    (text) => ({ type: "output_text", text, annotations: [], ...NO_LOGPROBS }),
    NO_LOGPROBS,
  ),
  refusal: partEvents({ part: "content_part", text: "refusal" }, IN_CONTENT, (refusal) => ({
    type: "refusal",
    refusal,
  })),
};
