/** When a request moves to another model, and to which one (docs/rules/models.md#fallback-models). */
import type { FALLBACK_REASONS } from "../../../shared/fields/model-fields.ts";
import { isJsonObject, type JsonObject } from "../wire/json/document.ts";

export type FallbackReason = (typeof FALLBACK_REASONS)[number];

/** A model that may be tried, and after what. */
export interface Fallback {
  readonly name: string;
  readonly on: readonly string[];
}

/** `context_length_exceeded` is OpenAI's code; other servers say it in text or with their own code. */
const TOO_LONG = /context_length_exceeded|exceed_context_size|context length|prompt is too long/i;

/** Whether the document of a 400 says that the request does not fit into the context of the model. */
export function isContextTooLong(document: unknown): boolean {
  const { error = document }: JsonObject = isJsonObject(document) ? document : {};
  const { code, type, message }: JsonObject = isJsonObject(error) ? error : {};
  return [code, type, message].some((said) => typeof said === "string" && TOO_LONG.test(said));
}
