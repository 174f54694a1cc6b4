/**
 * The items of a request's input as messages of a chat completion. The output of the model in one turn (its reasoning, texts
 * and calls, each an item) is one message there. Instructions and the leading system messages also become one message, because
 * many models accept a system message only in first place.
 */
import type { Steps } from "../../../../shared/steps.ts";
import type { JsonObject } from "../../wire/json/document.ts";
import { writtenInSteps } from "../../wire/json/write-in-steps.ts";
import { listAt, partsAt, untranslatable } from "../lost-fields.ts";
import { SHOWN_BELOW, textOrParts } from "../to-chat/messages.ts";
import { given, ITEM_UNITS, listed, objectOf, textOf } from "../values.ts";
import { thinkingBlockOf } from "./sealed.ts";
import { chatNameOf, TEXT_ARGUMENT } from "./tools.ts";

const DETAILS = { auto: "auto", low: "low", high: "high" };

/** The output of the model in a turn. */
interface Turn {
  readonly texts: string[];
  readonly reasoning: string[];
  readonly thinking: JsonObject[];
  readonly calls: JsonObject[];
}

export function* chatMessagesOf(instructions: unknown, input: unknown, signs: boolean): Steps<readonly JsonObject[]> {
  if (typeof (instructions ?? "") !== "string") throw untranslatable("responses", "instructions", "use text");
  const chat = new ChatMessages();
  if (textOf(instructions) !== "") chat.told([{ type: "text", text: instructions }]);
  if (typeof input === "string") chat.add("user", [{ type: "text", text: input }]);
  else
    for (const [index, item] of listAt("responses", "input", input, "use text or a list").entries()) {
      yield ITEM_UNITS;
      yield* addItem(chat, objectOf(item), `input.${String(index)}`, signs);
    }
  return chat.finish();
}

function* addItem(chat: ChatMessages, item: JsonObject, at: string, signs: boolean): Steps<void> {
  const { type, role, content, call_id: id } = item;
  const name = chatNameOf(item["name"], item["namespace"]);
  switch (type ?? "message") {
    case "message": {
      if (role !== "user" && role !== "assistant" && role !== "system" && role !== "developer")
        throw untranslatable("responses", `${at}.role`);
      const parts = yield* partsOf(content, `${at}.content`);
      if (role === "user") chat.add(role, parts);
      else if (role === "assistant") chat.turn().texts.push(yield* textsAt(parts, `${at}.content`));
      else chat.told(parts);
      return;
    }
    case "reasoning": {
      const texts = [
        ...(yield* partsOf(item["summary"], `${at}.summary`)),
        ...(yield* partsOf(content, `${at}.content`)),
      ];
      const text = texts.map((part) => textOf(part["text"])).join("\n");
      const { reasoning, thinking } = chat.turn();
      if (text !== "") reasoning.push(text);
      const block = signs ? thinkingBlockOf(item["encrypted_content"], text) : null;
      if (block !== null) thinking.push(block);
      return;
    }
    case "function_call":
      chat.turn().calls.push({ id, type: "function", function: { name, arguments: textOf(item["arguments"]) } });
      return;
    case "custom_tool_call": {
      const written = yield* writtenInSteps({ [TEXT_ARGUMENT]: textOf(item["input"]) });
      const called = { name, arguments: new TextDecoder().decode(written) };
      chat.turn().calls.push({ id, type: "function", function: called });
      return;
    }
    case "function_call_output":
    case "custom_tool_call_output":
      chat.result(id, yield* partsOf(item["output"], `${at}.output`));
      return;
    default:
      throw untranslatable("responses", at);
  }
}

class ChatMessages {
  readonly #messages: JsonObject[] = [];
  /** The leading system messages. */
  readonly #system: JsonObject[] = [];
  #turn: Turn | null = null;
  /** Parts of tool results that are not text, until all results are there. */
  #shown: JsonObject[] = [];

  /** The model's turn, which lasts until somebody else speaks. */
  turn(): Turn {
    this.#show();
    this.#turn ??= { texts: [], reasoning: [], thinking: [], calls: [] };
    return this.#turn;
  }

  told(parts: readonly JsonObject[]): void {
    const isFirst = this.#messages.length === 0 && this.#turn === null;
    if (isFirst) for (const part of parts) this.#system.push(part);
    else this.add("system", parts);
  }

  add(role: string, parts: readonly JsonObject[]): void {
    this.#endTurn();
    this.#show();
    if (parts.length > 0) this.#messages.push({ role, content: textOrParts(parts, "\n") });
  }

  result(id: unknown, parts: readonly JsonObject[]): void {
    this.#endTurn();
    const texts = parts.map(({ type, text }) => (type === "text" ? textOf(text) : SHOWN_BELOW));
    for (const part of parts) if (part["type"] !== "text") this.#shown.push(part);
    this.#messages.push({ role: "tool", tool_call_id: id, content: texts.join("\n") });
  }

  finish(): readonly JsonObject[] {
    this.#endTurn();
    this.#show();
    const system = this.#system.length === 0 ? [] : [{ role: "system", content: textOrParts(this.#system, "\n") }];
    return [...system, ...this.#messages];
  }

  #show(): void {
    if (this.#shown.length > 0) this.#messages.push({ role: "user", content: this.#shown });
    this.#shown = [];
  }

  #endTurn(): void {
    if (this.#turn === null) return;
    const { texts, reasoning, thinking, calls } = this.#turn;
    this.#turn = null;
    const said = texts.filter((text) => text !== "").join("\n");
    if (said.length + calls.length + reasoning.length + thinking.length === 0) return;
    this.#messages.push({
      role: "assistant",
      content: said === "" ? null : said,
      ...(reasoning.length === 0 ? {} : { reasoning_content: reasoning.join("\n") }),
      ...(thinking.length === 0 ? {} : { thinking_blocks: thinking }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    });
  }
}

function* partsOf(content: unknown, at: string): Steps<readonly JsonObject[]> {
  if (typeof content === "string") return [{ type: "text", text: content }];
  const parts: JsonObject[] = [];
  for (const [index, part] of partsAt("responses", at, content).entries()) {
    yield ITEM_UNITS;
    parts.push(partOf(objectOf(part), `${at}.${String(index)}`));
  }
  return parts;
}

const TEXTS: ReadonlySet<unknown> = new Set(["input_text", "output_text", "text", "summary_text", "reasoning_text"]);

function partOf(part: JsonObject, at: string): JsonObject {
  const { type, text, refusal, image_url: url, detail, file_data, filename, input_audio } = part;
  if (TEXTS.has(type)) return { type: "text", text: textOf(text) };
  if (type === "refusal") return { type: "text", text: textOf(refusal) };
  if (type === "input_image" && typeof url === "string")
    return { type: "image_url", image_url: given({ url, detail: listed(DETAILS, detail) }) };
  if (type === "input_file" && typeof file_data === "string")
    return { type: "file", file: given({ filename, file_data }) };
  if (type === "input_audio") return { type, input_audio };
  throw untranslatable("responses", at);
}

/** The output of the model can only be text. */
function* textsAt(parts: readonly JsonObject[], at: string): Steps<string> {
  const texts: string[] = [];
  for (const [index, { type, text }] of parts.entries()) {
    yield ITEM_UNITS;
    if (type !== "text") throw untranslatable("responses", `${at}.${String(index)}`);
    texts.push(textOf(text));
  }
  return texts.join("");
}
