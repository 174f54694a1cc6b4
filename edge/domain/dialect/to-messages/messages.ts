/**
 * The messages of a chat completion as Anthropic's: system messages go to the front, and the results of tools into the turn of
 * the user that follows them.
 */
import type { Steps } from "../../../../shared/steps.ts";
import { isJsonObject, type JsonObject } from "../../wire/json/document.ts";
import { parsedInSteps } from "../../wire/json/parse-in-steps.ts";
import { listAt, partsAt, restOf, untranslatable } from "../lost-fields.ts";
import { dataUrl, elementsOf, given, ITEM_UNITS, objectOf, textOf } from "../values.ts";

const KNOWN: ReadonlySet<string> = new Set(
  "role content tool_calls tool_call_id thinking_blocks cache_control".split(" "),
);
/** Only a model refuses. */
const KNOWN_OF_MODEL: ReadonlySet<string> = new Set([...KNOWN, "refusal"]);
/** The longest id of a call. */
const ID_MAX_CHARACTERS = 256;

interface MessagesTurns {
  readonly system: readonly JsonObject[];
  readonly messages: readonly JsonObject[];
}

export function* messagesOf(given: unknown): Steps<MessagesTurns> {
  const system: JsonObject[] = [];
  const messages: JsonObject[] = [];
  /** The turn that collects results of tools, as long as it is the last one. */
  let results: JsonObject[] | null = null;
  for (const [index, one] of listAt("openai", "messages", given).entries()) {
    yield ITEM_UNITS;
    const at = `messages.${String(index)}.`;
    const message = objectOf(one);
    const { role } = message;
    restOf("openai", message, role === "assistant" ? KNOWN_OF_MODEL : KNOWN, { at, strict: true });
    const blocks = yield* blocksOf(message, at);
    if (role === "system" || role === "developer") for (const block of blocks) system.push(block);
    else if (role === "tool") {
      if (results === null) {
        results = [];
        messages.push({ role: "user", content: results });
      }
      results.push({
        type: "tool_result",
        tool_use_id: callId(message["tool_call_id"], `${at}tool_call_id`),
        content: blocks,
      });
    } else if (role === "assistant") {
      const content = [...thinkingOf(message), ...blocks, ...(yield* callsOf(message, at))];
      if (content.length > 0) messages.push({ role, content });
      results = null;
    } else if (role === "user") {
      if (results !== null) for (const block of blocks) results.push(block);
      else if (blocks.length > 0) messages.push({ role, content: blocks });
      results = null;
    } else throw untranslatable("openai", `${at}role`);
  }
  return { system, messages };
}

/** Empty texts are left out: Messages refuse them. */
function* blocksOf({ content, refusal, cache_control }: JsonObject, at: string): Steps<JsonObject[]> {
  const blocks: JsonObject[] = [];
  for (const text of [content, refusal].map(textOf))
    if (text !== "") blocks.push(given({ type: "text", text, cache_control }));
  for (const [index, part] of partsAt("openai", `${at}content`, content).entries()) {
    yield ITEM_UNITS;
    const block = blockOf(objectOf(part), `${at}content.${String(index)}`);
    if (block["text"] !== "") blocks.push(block);
  }
  return blocks;
}

function blockOf(part: JsonObject, at: string): JsonObject {
  const { type, text, refusal, image_url: image, file, cache_control } = part;
  if (type === "text" || type === "refusal")
    return given({ type: "text", text: textOf(text ?? refusal), cache_control });
  if (type === "image_url") {
    const source = imageSource(textOf(isJsonObject(image) ? image["url"] : image));
    if (source === null) throw untranslatable("openai", `${at}.image_url`);
    return given({ type: "image", source, cache_control });
  }
  if (type === "file") {
    const { file_data: data, filename: title } = objectOf(file);
    const inline = dataUrl(textOf(data));
    if (inline?.mediaType !== "application/pdf") throw untranslatable("openai", `${at}.file`);
    const source = { type: "base64", media_type: inline.mediaType, data: inline.data };
    return given({ type: "document", source, title, cache_control });
  }
  throw untranslatable("openai", at);
}

function imageSource(url: string): JsonObject | null {
  const inline = dataUrl(url);
  if (inline !== null) return { type: "base64", media_type: inline.mediaType, data: inline.data };
  return /^https?:/i.test(url) ? { type: "url", url } : null;
}

/** Thinking without Anthropic's own signature would be refused. */
function thinkingOf({ thinking_blocks: blocks }: JsonObject): readonly unknown[] {
  return elementsOf(blocks).filter((block) => {
    const { signature, data } = objectOf(block);
    return textOf(signature ?? data) !== "";
  });
}

function* callsOf({ tool_calls: calls }: JsonObject, at: string): Steps<JsonObject[]> {
  const blocks: JsonObject[] = [];
  for (const [index, call] of listAt("openai", `${at}tool_calls`, calls).entries()) {
    yield ITEM_UNITS;
    const { id, function: called } = objectOf(call);
    const place = `${at}tool_calls.${String(index)}`;
    const { name, arguments: written } = objectOf(called);
    const input = typeof written === "string" && written !== "" ? yield* parsedInSteps(written) : written || {};
    if (!isJsonObject(called) || !isJsonObject(input)) throw untranslatable("openai", place);
    blocks.push({ type: "tool_use", id: callId(id, `${place}.id`), name, input });
  }
  return blocks;
}

/** Anthropic allows fewer characters than others use. */
function callId(id: unknown, at: string): string {
  const text = textOf(id);
  if (text.length > ID_MAX_CHARACTERS)
    throw untranslatable("openai", at, `use at most ${ID_MAX_CHARACTERS} characters`);
  return text.replaceAll(/[^\w-]/g, "_");
}
