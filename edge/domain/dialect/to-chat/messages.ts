/**
 * Anthropic's messages as those of a chat completion. Results of tools become separate messages, right after the calls; their
 * images follow in the user's message, because messages of tools have text only. Text alone is one string, which every server
 * reads.
 */
import type { Steps } from "../../../../shared/steps.ts";
import type { JsonObject } from "../../wire/json/document.ts";
import { jsonInSteps, type TakeBytes } from "../../wire/json/write-in-steps.ts";
import { listAt, partsAt, restOf, untranslatable } from "../lost-fields.ts";
import { elementsOf, ITEM_UNITS, objectOf, textOf } from "../values.ts";

export const SHOWN_BELOW = "[shown in the next message]";
const KNOWN: ReadonlySet<string> = new Set(["role", "content"]);

/** What one turn of Anthropic's becomes. */
interface Turn {
  readonly parts: JsonObject[];
  readonly results: JsonObject[];
  readonly calls: JsonObject[];
  readonly thinking: string[];
}

export function* chatMessages(system: unknown, turns: unknown, take?: TakeBytes): Steps<readonly JsonObject[]> {
  const messages: JsonObject[] = [];
  const instructions = textOrParts(yield* partsOf(system, "system"), "\n");
  if (instructions.length > 0) messages.push({ role: "system", content: instructions });
  for (const [index, one] of listAt("anthropic", "messages", turns).entries()) {
    yield ITEM_UNITS;
    const message = objectOf(one);
    const { role, content } = message;
    const at = `messages.${String(index)}`;
    restOf("anthropic", message, KNOWN, { at: `${at}.` });
    if (role !== "user" && role !== "assistant" && role !== "system") throw untranslatable("anthropic", `${at}.role`);
    const { parts, results, calls, thinking } = yield* turnOf(content, `${at}.content`, take);
    for (const result of results) messages.push(result);
    const said = textOrParts(parts, role === "assistant" ? "" : "\n");
    if (role === "assistant") {
      if (said.length + calls.length + thinking.length === 0) continue;
      messages.push({
        role,
        content: said.length > 0 ? said : null,
        ...(thinking.length > 0 ? { reasoning_content: thinking.join("") } : {}),
        ...(calls.length > 0 ? { tool_calls: calls } : {}),
      });
    } else if (said.length > 0) messages.push({ role, content: said });
  }
  return messages;
}

function* turnOf(content: unknown, at: string, take?: TakeBytes): Steps<Turn> {
  const turn: Turn = { parts: [], results: [], calls: [], thinking: [] };
  if (typeof content === "string") turn.parts.push({ type: "text", text: content });
  for (const [index, one] of partsAt("anthropic", at, content).entries()) {
    yield ITEM_UNITS;
    const block = objectOf(one);
    const place = `${at}.${String(index)}`;
    if (block["type"] === "tool_use") turn.calls.push(yield* callOf(block, take));
    else if (block["type"] === "tool_result") turn.results.push(yield* resultOf(block, place, turn.parts));
    else if (block["type"] === "thinking") turn.thinking.push(textOf(block["thinking"]));
    else if (block["type"] !== "redacted_thinking")
      for (const part of yield* partOf(block, place)) turn.parts.push(part);
  }
  return turn;
}

function* callOf({ id, name, input }: JsonObject, take?: TakeBytes): Steps<JsonObject> {
  const written = yield* jsonInSteps(input ?? {}, take);
  return { id, type: "function", function: { name, arguments: written } };
}

/** `shown` receives the parts that are not text. */
function* resultOf(result: JsonObject, at: string, shown: JsonObject[]): Steps<JsonObject> {
  const { tool_use_id, content, is_error } = result;
  const texts: string[] = [];
  for (const part of yield* partsOf(content, `${at}.content`)) {
    if (part["type"] !== "text") shown.push(part);
    texts.push(part["type"] === "text" ? textOf(part["text"]) : SHOWN_BELOW);
  }
  const text = texts.join("\n");
  return { role: "tool", tool_call_id: tool_use_id, content: is_error === true ? `Error: ${text}` : text };
}

function* partsOf(content: unknown, at: string): Steps<readonly JsonObject[]> {
  if (typeof content === "string") return [{ type: "text", text: content }];
  const parts: JsonObject[] = [];
  for (const [index, block] of partsAt("anthropic", at, content).entries()) {
    yield ITEM_UNITS;
    for (const part of yield* partOf(objectOf(block), `${at}.${String(index)}`)) parts.push(part);
  }
  return parts;
}

/** The parts of a block; it has several only if it is a document of texts and images. */
function* partOf(block: JsonObject, at: string): Steps<readonly JsonObject[]> {
  const { type, text, source, title, citations } = block;
  const { type: kind, media_type, data, url, content } = objectOf(source);
  if (type === "text") return [{ type, text: textOf(text) }];
  const inline = `data:${textOf(media_type)};base64,${kind === "base64" ? textOf(data) : ""}`;
  if (type === "image" && (kind === "url" || kind === "base64"))
    return [{ type: "image_url", image_url: { url: kind === "url" ? url : inline } }];
  if (type !== "document") throw untranslatable("anthropic", type === "image" ? `${at}.source` : at);
  if (objectOf(citations)["enabled"] === true) throw untranslatable("anthropic", `${at}.citations`);
  if (kind === "base64") return [{ type: "file", file: { filename: title ?? "document.pdf", file_data: inline } }];
  if (kind === "text") return [{ type: "text", text: textOf(data) }];
  // a document within a document would be a depth without bound
  if (kind !== "content" || elementsOf(content).some((inner) => objectOf(inner)["type"] === "document"))
    throw untranslatable("anthropic", `${at}.source`);
  return yield* partsOf(content, `${at}.source.content`);
}

/** Text alone as one string; else the parts, without empty texts. */
export function textOrParts(parts: readonly JsonObject[], between: string): string | readonly JsonObject[] {
  if (parts.every(({ type }) => type === "text")) return parts.map(({ text }) => text).join(between);
  return parts.filter(({ text }) => text !== "");
}
