/** Events that start a part of an answer with text in it, which later deltas continue (docs/rules/guardrails.md#split-texts). */
import type { Steps } from "../../../shared/steps.ts";
import { isJsonObject, type JsonObject } from "../wire/json/document.ts";
import { headText } from "../wire/sse/event-head.ts";

/** Work for a part, in units. */
const PART_UNITS = 32;

/** Of the Responses API and the Realtime API: by the type of a part, the member with its text and the type of the deltas. */
const PARTS: Readonly<Record<string, readonly [member: string, delta: string]>> = {
  output_text: ["text", "response.output_text.delta"],
  refusal: ["refusal", "response.refusal.delta"],
  reasoning_text: ["text", "response.reasoning_text.delta"],
  summary_text: ["text", "response.reasoning_summary_text.delta"],
  // of the Realtime API
  text: ["text", "response.output_text.delta"],
  audio: ["transcript", "response.output_audio_transcript.delta"],
  output_audio: ["transcript", "response.output_audio_transcript.delta"],
};
/** The members of an item besides its parts. */
const ITEM_TEXTS = {
  arguments: "response.function_call_arguments.delta",
  input: "response.custom_tool_call_input.delta",
};

/**
 * The same as an event that starts without text, and the deltas with its texts; null: it starts no part, or starts it without
 * text.
 */
export function* startedTexts(event: unknown): Steps<readonly JsonObject[] | null> {
  if (!isJsonObject(event)) return null;
  const { type, content_block: block, part, item } = event;
  const deltas: JsonObject[] = [];
  let start: JsonObject = event;
  if (type === "content_block_start" && isJsonObject(block)) {
    start = { ...event, content_block: withoutText(block) };
    for (const name of ["text", "thinking"])
      if (block["type"] === name && isText(block[name]))
        deltas.push({
          type: "content_block_delta",
          index: numberOf(event["index"]),
          delta: { type: `${name}_delta`, [name]: block[name] },
        });
  } else if (type === "response.content_part.added" || type === "response.reasoning_summary_part.added") {
    start = { ...event, part: taken(part, placeOf(event), deltas) };
  } else if (type === "response.output_item.added" && isJsonObject(item)) {
    const place = placeOf({ item_id: item["id"], ...event });
    const parts: Record<string, unknown> = {};
    for (const [name, index] of [
      ["content", "content_index"],
      ["summary", "summary_index"],
    ] as const) {
      const list = item[name];
      if (!Array.isArray(list)) continue;
      const without: unknown[] = [];
      for (const [at, one] of (list as readonly unknown[]).entries()) {
        yield PART_UNITS;
        without.push(taken(one, { ...place, [index]: at }, deltas));
      }
      parts[name] = without;
    }
    for (const [name, delta] of Object.entries(ITEM_TEXTS))
      if (isText(item[name])) {
        deltas.push({ type: delta, ...place, delta: item[name] });
        parts[name] = "";
      }
    start = { ...event, item: { ...item, ...parts } };
  }
  return deltas.length === 0 ? null : [start, ...deltas];
}

/** The part without its text; `deltas` receives the event of the text. */
function taken(part: unknown, place: JsonObject, deltas: JsonObject[]): unknown {
  if (!isJsonObject(part) || typeof part["type"] !== "string" || !Object.hasOwn(PARTS, part["type"])) return part;
  const [member, delta] = PARTS[part["type"]] as readonly [string, string];
  if (!isText(part[member])) return part;
  deltas.push({ type: delta, ...place, delta: part[member] });
  return { ...part, [member]: "" };
}

function withoutText(block: JsonObject): JsonObject {
  const { type } = block;
  return (type === "text" || type === "thinking") && isText(block[type]) ? { ...block, [type]: "" } : block;
}

/** The members of an event of the Responses API that say which part it is about: short ones, because each delta repeats them. */
function placeOf({ item_id: id, ...event }: JsonObject): JsonObject {
  const numbers = ["sequence_number", "output_index", "content_index", "summary_index"].map(
    (name) => [name, numberOf(event[name])] as const,
  );
  const members = [["item_id", headText(id)] as const, ...numbers];
  return Object.fromEntries(members.filter(([, value]) => value !== undefined));
}

function numberOf(value: unknown): number | undefined {
  return Number.isSafeInteger(value) ? Number(value) : undefined;
}

function isText(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}
