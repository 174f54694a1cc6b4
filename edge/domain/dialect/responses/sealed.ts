/**
 * Reasoning that Anthropic has signed or encrypted, as the `encrypted_content` of an item of reasoning, which clients send back
 * as they got it. The signed text is also in the item in plain form, where guardrails read it.
 */
import type { JsonObject } from "../../wire/json/document.ts";
import { textOf } from "../values.ts";

const SIGNED = "anthropic:signature:";
const REDACTED = "anthropic:redacted:";

export function sealOf({ type, signature, data }: JsonObject): string | null {
  if (type === "redacted_thinking") return REDACTED + textOf(data);
  return textOf(signature) === "" ? null : SIGNED + textOf(signature);
}

/** Whether it is the signature of the text beside it. */
export function isSignature(sealed: unknown): boolean {
  return textOf(sealed).startsWith(SIGNED);
}

/** The block of reasoning of this text. Null: another API has sealed it. */
export function thinkingBlockOf(sealed: unknown, text: string): JsonObject | null {
  const content = textOf(sealed);
  if (content.startsWith(REDACTED)) return { type: "redacted_thinking", data: content.slice(REDACTED.length) };
  if (!content.startsWith(SIGNED)) return null;
  return { type: "thinking", thinking: text, signature: content.slice(SIGNED.length) };
}
