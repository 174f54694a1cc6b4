/**
 * The request to the classifier model and what its answer means (docs/rules/auto-router.md#classifier). An answer is untrusted:
 * it can only choose tags of the vocabulary.
 */
import type { JsonObject } from "../../wire/json/document.ts";
import { cutText } from "../../wire/text/printable.ts";

/** Of the user's first text, this much is classified, in UTF-16 units. */
const TEXT_MAX = 2000;
/** Of an answer, this much is read, in UTF-16 units: it was asked for a few words. */
const ANSWER_MAX = 4000;
const OUTPUT_MAX_TOKENS = 32;
const TAGS_MAX = 3;

/** The text to classify: the start of the user's first text that is not blank; null if there is none. */
export function classifiedText(userTexts: readonly string[]): string | null {
  const first = userTexts.find((text) => text.trim() !== "");
  return first === undefined ? null : cutText(first, TEXT_MAX);
}

/** The body of the chat completion that asks for the tags of a text; it names no model. */
export function classifierBody(vocabulary: readonly string[], text: string): JsonObject {
  const task =
    "Choose one to three tags from this list that best describe the request. " +
    `Answer with a JSON array of strings only. Tags: ${vocabulary.join(", ")}`;
  return {
    messages: [
      { role: "system", content: task },
      { role: "user", content: text },
    ],
    max_tokens: OUTPUT_MAX_TOKENS,
    temperature: 0,
  };
}

/**
 * The tags that the answer names, in any case and in any text, at most three, in the order in which they appear; of two at the
 * same place the longer one comes first. Null: the answer is not the answer of a chat model.
 */
export function answeredTags(answer: unknown, vocabulary: readonly string[]): readonly string[] | null {
  const content = contentOf(answer);
  if (content === null) return null;
  const text = content.slice(0, ANSWER_MAX).toLowerCase();
  return vocabulary
    .map((tag) => ({ tag, at: tag === "" ? -1 : text.indexOf(tag.toLowerCase()) }))
    .filter(({ at }) => at !== -1)
    .sort((a, b) => a.at - b.at || b.tag.length - a.tag.length)
    .slice(0, TAGS_MAX)
    .map(({ tag }) => tag);
}

/** The text of the first choice; null if there is none. */
function contentOf(answer: unknown): string | null {
  const choices = memberOf(answer, "choices");
  const content = memberOf(memberOf(Array.isArray(choices) ? choices[0] : undefined, "message"), "content");
  return typeof content === "string" ? content : null;
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? (value as JsonObject)[name]
    : undefined;
}
