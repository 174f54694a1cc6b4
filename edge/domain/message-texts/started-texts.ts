/** Blocks of Anthropic's messages that start with text, which later deltas continue (docs/rules/guardrails.md#split-texts). */
import { objectOf, textOf } from "../dialect/values.ts";
import type { JsonObject } from "../wire/json/document.ts";

/** The same as an event that starts without text, and the delta with its text; null: it starts no block with text. */
export function startedTexts(value: unknown): readonly [start: JsonObject, delta: JsonObject] | null {
  const event = objectOf(value);
  const { type, index, content_block } = event;
  const block = objectOf(content_block);
  const { type: name } = block;
  if (type !== "content_block_start" || (name !== "text" && name !== "thinking")) return null;
  const text = textOf(block[name]);
  if (text === "") return null;
  const delta = { type: `${name}_delta`, [name]: text };
  return [
    { ...event, content_block: { ...block, [name]: "" } },
    { type: "content_block_delta", index, delta },
  ];
}
