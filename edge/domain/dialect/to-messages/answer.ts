/** An answer of chat completions as a message of Anthropic's. */
import { GatewayError } from "../../../../shared/errors.ts";
import type { Steps } from "../../../../shared/steps.ts";
import { REASONING_NAMES } from "../../tools/turn.ts";
import { isJsonObject, type JsonObject } from "../../wire/json/document.ts";
import { parsedInSteps } from "../../wire/json/parse-in-steps.ts";
import { headText } from "../../wire/sse/event-head.ts";
import { countOf, elementsOf, given, ITEM_UNITS, listed, objectOf, textOf } from "../values.ts";

const REASONS = {
  stop: "end_turn",
  length: "max_tokens",
  tool_calls: "tool_use",
  function_call: "tool_use",
  content_filter: "refusal",
};
const CUT = { length: true, content_filter: true };
/** Messages cannot have any other arguments. */
export const NO_OBJECT = "the arguments of a tool call are not a JSON object";
/** Most calls of an answer. */
export const MESSAGE_CALLS_MAX = 256;
/** Of the answer's id the end, which differs. */
export const ID_MAX_CHARACTERS = 64;
const TIERS = { default: "standard", priority: "priority" };

/** Throws `upstream_failed` if it is not a completion. */
export function* messagesAnswer(completion: JsonObject): Steps<JsonObject> {
  const choice = elementsOf(completion["choices"]).find((one) => (objectOf(one)["index"] ?? 0) === 0);
  if (!isJsonObject(choice)) throw new GatewayError("upstream_failed", { cause: "the answer has no choice" });
  const message = objectOf(choice["message"]);
  const [thinking, text, refusal] = [reasoningOf(message), textsOf(message["content"]), textOf(message["refusal"])];
  const content: JsonObject[] = [];
  if (thinking !== "") content.push({ type: "thinking", thinking, signature: "" });
  if (text + refusal !== "") content.push({ type: "text", text: text + refusal });
  const calls = elementsOf(message["tool_calls"]);
  if (calls.length > MESSAGE_CALLS_MAX)
    throw new GatewayError("upstream_failed", { cause: "the answer has too many calls" });
  for (const [index, call] of calls.entries()) {
    yield ITEM_UNITS;
    const { id, function: called } = objectOf(call);
    const { name, arguments: written } = objectOf(called);
    const read = typeof written === "string" ? yield* parsedInSteps(written.trim() || "{}") : (written ?? {});
    const input = isJsonObject(read) ? read : isCut(choice) ? {} : null;
    if (input === null) throw new GatewayError("upstream_failed", { complaint: NO_OBJECT, cause: NO_OBJECT });
    content.push({ type: "tool_use", id: id ?? callIdOf(completion, index), name, input });
  }
  const called = content.at(-1)?.["type"] === "tool_use";
  return {
    ...messageHead(completion),
    content,
    ...endOf(choice, { called, refusal }),
    usage: messagesUsage(completion),
  };
}

/** The model was stopped in its answer: the arguments of a call may be incomplete. */
export function isCut({ finish_reason: reason }: JsonObject): boolean {
  return listed(CUT, reason) ?? false;
}

/** The members of a message before its content. */
export function messageHead({ id, model }: JsonObject): JsonObject {
  return { id: headText(id), type: "message", role: "assistant", model: headText(model) };
}

/** Whether a chunk belongs to the answer: some servers first report on the prompt, without an id. */
export function isBegun({ id, choices }: JsonObject): boolean {
  return textOf(id) !== "" || elementsOf(choices).length > 0;
}

/** Facts of a chunk about the whole answer that the answer's end needs: they are kept until then. */
export function reportOf({ usage, service_tier }: JsonObject): JsonObject {
  return given({ usage: isJsonObject(usage) ? countsOf(usage) : null, service_tier: headText(service_tier) });
}

function countsOf({ prompt_tokens, completion_tokens, ...details }: JsonObject): JsonObject {
  const { cached_tokens, cache_write_tokens } = objectOf(details["prompt_tokens_details"]);
  const { reasoning_tokens } = objectOf(details["completion_tokens_details"]);
  return {
    prompt_tokens: countOf(prompt_tokens),
    completion_tokens: countOf(completion_tokens),
    prompt_tokens_details: { cached_tokens: countOf(cached_tokens), cache_write_tokens: countOf(cache_write_tokens) },
    completion_tokens_details: { reasoning_tokens: countOf(reasoning_tokens) },
  };
}

/** The text of a message or delta in which servers write reasoning. */
export function reasoningOf(message: JsonObject): string {
  return REASONING_NAMES.map((name) => textOf(message[name])).find((text) => text !== "") ?? "";
}

export function callIdOf({ id }: JsonObject, index: number): string {
  return `${(headText(id) ?? "").slice(-ID_MAX_CHARACTERS)}_${String(index)}`;
}

/** How the answer ended. Some servers say `stop` for calls, or `tool_calls` without one, and name the stop sequence in `stop_reason`. */
export function endOf(
  { finish_reason: reason, stop_reason: sequence }: JsonObject,
  { called, refusal }: { readonly called: boolean; readonly refusal: string },
): JsonObject {
  if (reason === "stop" && called) return { stop_reason: "tool_use", stop_sequence: null };
  if (listed(REASONS, reason) === "tool_use" && !called) return { stop_reason: "end_turn", stop_sequence: null };
  if (reason === "stop" && typeof sequence === "string")
    return { stop_reason: "stop_sequence", stop_sequence: sequence };
  const refused = refusal !== "" || reason === "content_filter";
  return {
    stop_reason: refused ? "refusal" : (listed(REASONS, reason) ?? "end_turn"),
    stop_sequence: null,
    ...(refused ? { stop_details: { type: "refusal", category: null, explanation: refusal || null } } : {}),
  };
}

/** Anthropic counts cached tokens apart from the input. Implausible numbers are left out. */
export function messagesUsage({ usage, service_tier: tier }: JsonObject): JsonObject {
  const { prompt_tokens, completion_tokens, prompt_tokens_details, completion_tokens_details } = objectOf(usage);
  const { cached_tokens, cache_write_tokens } = objectOf(prompt_tokens_details);
  const [prompt, read, written] = [countOf(prompt_tokens), countOf(cached_tokens), countOf(cache_write_tokens)];
  const thinking = countOf(objectOf(completion_tokens_details)["reasoning_tokens"]);
  const apart = (read ?? 0) + (written ?? 0);
  const isWhole = prompt !== undefined && apart <= prompt;
  return given({
    input_tokens: isWhole ? prompt - apart : prompt,
    cache_read_input_tokens: isWhole ? read : null,
    cache_creation_input_tokens: isWhole ? written : null,
    output_tokens: countOf(completion_tokens),
    output_tokens_details: thinking === undefined ? null : { thinking_tokens: thinking },
    service_tier: listed(TIERS, tier),
  });
}

export function textsOf(content: unknown): string {
  return (
    textOf(content) +
    elementsOf(content)
      .map((part) => textOf(objectOf(part)["text"]))
      .join("")
  );
}
