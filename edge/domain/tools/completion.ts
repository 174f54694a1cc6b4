/**
 * A chat completion that is not streamed, as a turn of a tool loop, and the completion that the client gets at the end
 * (docs/rules/tool-loop.md#answers).
 */
import { isJsonObject, type JsonObject } from "../wire/json/document.ts";
import { type FinishedTurn, finalFinishReason } from "./turn.ts";

/** A chat completion. */
export interface Completion {
  readonly root: JsonObject;
  readonly turn: FinishedTurn;
}

/** The completion of this value; null: it has no message, and there is nothing that a loop could do. */
export function readCompletion(root: unknown): Completion | null {
  if (!isJsonObject(root) || !Array.isArray(root["choices"])) return null;
  const [choice] = root["choices"] as readonly unknown[];
  if (!isJsonObject(choice) || !isJsonObject(choice["message"])) return null;
  const { tool_calls: calls, ...message } = choice["message"];
  const toolCalls = Array.isArray(calls) ? (calls as readonly unknown[]).filter(isJsonObject) : [];
  return { root, turn: { message, toolCalls, finishReason: choice["finish_reason"] } };
}

/**
 * The client's completion: the last one, under the id, model and time of the first one, with the sum of the usage and
 * with these tool calls.
 */
export function finalCompletion(
  first: Completion,
  last: Completion,
  { toolCalls, usage }: { readonly toolCalls: readonly JsonObject[]; readonly usage: JsonObject | null },
): JsonObject {
  const { usage: _, ...root } = last.root;
  const [choice, ...others] = root["choices"] as readonly JsonObject[];
  const message = { ...last.turn.message, ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }) };
  const finished = { ...choice, message, finish_reason: finalFinishReason(last.turn, { toolCalls }) };
  return {
    ...root,
    ...headOf(first.root),
    choices: [finished, ...others],
    ...(usage === null ? {} : { usage }),
  };
}

/** The members by which a client recognises the answer; those of the first turn stay through all turns. */
export function headOf(root: JsonObject): JsonObject {
  return Object.fromEntries(["id", "created", "model"].flatMap((name) => (name in root ? [[name, root[name]]] : [])));
}
