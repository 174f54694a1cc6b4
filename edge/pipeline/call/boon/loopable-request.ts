/**
 * Whether the tool loop could continue the answer of a request (docs/rules/tool-loop.md#when). Used by the loop, and by boons
 * before it that need their own tool: without a loop nobody would answer its calls.
 */

import type { Steps } from "../../../../shared/steps.ts";
import { foldedName } from "../../../domain/request/client-fields.ts";
import { TOOLS_MAX } from "../../../domain/tools/merge-tools.ts";
import { isJsonObject, type JsonDocument, type JsonObject } from "../../../domain/wire/json/document.ts";
import { inTurns } from "../in-turns.ts";
import type { BoonWork } from "./boon.ts";
import { isDraftMember } from "./request-draft.ts";

/** Work for a value that is looked at, in units. */
const VALUE_UNITS = 12;

/** The inputs of the loop. */
interface LoopableRequest {
  readonly messages: readonly unknown[];
  /** The client's tools; there is room for another one. */
  readonly tools: readonly unknown[];
  /** The members that no boon changes. */
  readonly others: JsonObject;
}

/** Null: the loop stays away. */
export async function loopableRequest({
  call,
  request,
  draft,
}: Pick<BoonWork, "call" | "request" | "draft">): Promise<LoopableRequest | null> {
  const { document } = request.parsed;
  if (!request.model.supports.function_calling || draft.isLarge || !wantsOneAnswer(document)) return null;
  const legacy = (await draft.get("functions")) !== undefined || (await draft.get("function_call")) !== undefined;
  const messages = await draft.get("messages");
  const tools = (await draft.get("tools")) ?? [];
  if (legacy || (await draft.get("tool_choice")) === "none" || !Array.isArray(messages) || !Array.isArray(tools))
    return null;
  if (tools.length >= TOOLS_MAX) return null;
  const others = await inTurns(call, otherMembers(document));
  return others === null ? null : { messages, tools, others };
}

function wantsOneAnswer({ root }: JsonDocument): boolean {
  return root["n"] === undefined || root["n"] === null || root["n"] === 1;
}

/**
 * Null: the text of one is so long that the parsed document does not hold it, or one is another spelling of what guardrails
 * may have redacted, which the document holds as it came.
 */
function* otherMembers(document: JsonDocument): Steps<JsonObject | null> {
  const others = Object.entries(document.root).filter(([name]) => name !== "model" && !isDraftMember(name));
  if (others.some(([name]) => isDraftMember(foldedName(name)))) return null;
  const members = Object.fromEntries(others);
  return (yield* isWhole(document, members)) ? members : null;
}

function* isWhole(document: JsonDocument, value: unknown): Steps<boolean> {
  const open: Iterator<unknown>[] = [[value].values()];
  for (let inner = open.at(-1); inner !== undefined; inner = open.at(-1)) {
    yield VALUE_UNITS;
    const { done, value: next } = inner.next();
    if (done === true) open.pop();
    else if (typeof next === "string" && document.text(next) !== next) return false;
    else if (Array.isArray(next)) open.push((next as readonly unknown[]).values());
    else if (isJsonObject(next)) open.push(Object.values(next).values());
  }
  return true;
}
