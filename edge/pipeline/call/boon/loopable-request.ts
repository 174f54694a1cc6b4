/**
 * Whether the tool loop could continue the answer of a request (docs/rules/tool-loop.md#when). Asked by the loop, and by
 * boons before it that need a tool of their own: without a loop nobody would answer its calls.
 */

import { foldedName } from "../../../domain/request/client-fields.ts";
import { TOOLS_MAX } from "../../../domain/tools/merge-tools.ts";
import { isJsonObject, type JsonDocument, type JsonObject } from "../../../domain/wire/json/document.ts";
import type { BoonWork } from "./boon.ts";
import { isDraftMember } from "./request-draft.ts";

/** What the loop works with. */
interface LoopableRequest {
  readonly messages: readonly unknown[];
  /** The client's tools; there is room for another one. */
  readonly tools: readonly unknown[];
  /** The members that no boon changes. */
  readonly others: JsonObject;
}

/** Null: the loop stays away. */
export function loopableRequest({ request, draft }: Pick<BoonWork, "request" | "draft">): LoopableRequest | null {
  const { document } = request.parsed;
  if (!request.model.supports.function_calling || draft.isLarge || !wantsOneAnswer(document)) return null;
  const legacy = draft.get("functions") !== undefined || draft.get("function_call") !== undefined;
  const messages = draft.get("messages");
  const tools = draft.get("tools") ?? [];
  if (legacy || draft.get("tool_choice") === "none" || !Array.isArray(messages) || !Array.isArray(tools)) return null;
  if (tools.length >= TOOLS_MAX) return null;
  const others = otherMembers(document);
  return others === null ? null : { messages, tools, others };
}

function wantsOneAnswer({ root }: JsonDocument): boolean {
  return root["n"] === undefined || root["n"] === null || root["n"] === 1;
}

/**
 * Null: the text of one is so long that the parsed document does not hold it, or one is another spelling of what guardrails
 * may have redacted, which the document holds as it came.
 */
function otherMembers(document: JsonDocument): JsonObject | null {
  const others = Object.entries(document.root).filter(([name]) => name !== "model" && !isDraftMember(name));
  if (others.some(([name]) => isDraftMember(foldedName(name)))) return null;
  return others.every(([, value]) => isWhole(document, value)) ? Object.fromEntries(others) : null;
}

function isWhole(document: JsonDocument, value: unknown): boolean {
  const waiting: unknown[] = [value];
  for (let next = waiting.pop(); next !== undefined || waiting.length > 0; next = waiting.pop()) {
    if (typeof next === "string" && document.text(next) !== next) return false;
    if (Array.isArray(next)) for (const one of next as readonly unknown[]) waiting.push(one);
    else if (isJsonObject(next)) for (const one of Object.values(next)) waiting.push(one);
  }
  return true;
}
