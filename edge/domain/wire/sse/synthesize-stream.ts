/**
 * A complete chat completion as the event stream that a streaming client expects (docs/rules/boons.md#synthesised-streams).
 * Structured output uses it for its checked answer. An answer that the output guardrails hold is sent unchanged
 * (docs/rules/guardrails.md#actions).
 */
import type { Steps } from "../../../../shared/steps.ts";
import { concat } from "../bytes/byte-pieces.ts";
import { type JsonObject, jsonObjectOf } from "../json/document.ts";
import { writtenInSteps } from "../json/write-in-steps.ts";
import { eventHead } from "./event-head.ts";

const [BEGIN, END, DONE] = ["data: ", "\n\n", "data: [DONE]\n\n"].map((text) => new TextEncoder().encode(text)) as [
  Uint8Array,
  Uint8Array,
  Uint8Array,
];

/** Members of a message that have their own event. */
const PLACED = new Set(["role", "content", "reasoning_content", "reasoning", "tool_calls", "function_call"]);

/** The client's options. */
interface StreamOptions {
  /** `stream_options.include_usage`: an event with the usage before the end. */
  readonly includeUsage: boolean;
}

/**
 * The event stream of a completion: for each choice its role, reasoning, content, tool calls and finish reason, then the
 * usage if it was asked for, and `[DONE]`. Null: `completion` is not a chat completion with at least one choice.
 */
export function* synthesizeStream(
  completion: unknown,
  { includeUsage }: StreamOptions,
): Steps<Uint8Array<ArrayBuffer> | null> {
  const root = jsonObjectOf(completion);
  const given: unknown = root?.["choices"];
  if (root === null || !Array.isArray(given)) return null;
  const choices = given.flatMap((choice, position) => choiceEvents(jsonObjectOf(choice), position));
  if (choices.length === 0) return null;
  const head = { ...eventHead(root), object: "chat.completion.chunk" };
  const usage = jsonObjectOf(root["usage"]);
  const events = choices.map((choice) => ({ ...head, choices: [choice], ...(includeUsage ? { usage: null } : {}) }));
  const last = includeUsage && usage !== null ? [{ ...head, choices: [], usage }] : [];
  const parts: Uint8Array[] = [];
  for (const event of [...events, ...last]) parts.push(BEGIN, yield* writtenInSteps(event), END);
  return concat([...parts, DONE]);
}

/** The entries of `choices` in the events of one choice, in order; none if it is not a choice. */
function choiceEvents(choice: JsonObject | null, position: number): readonly JsonObject[] {
  const message = jsonObjectOf(choice?.["message"]);
  if (choice === null || message === null) return [];
  const { index = position, finish_reason: finish, logprobs } = choice;
  const delta = (members: JsonObject, more: JsonObject = {}): JsonObject => ({
    index,
    delta: members,
    finish_reason: null,
    ...more,
  });
  const said = message["content"] ?? "";
  const events = [delta(openingOf(message, said))];
  for (const name of ["reasoning_content", "reasoning"]) {
    const text = message[name] ?? "";
    if (text !== "") events.push(delta({ [name]: text }));
  }
  if (said !== "") events.push(delta({ content: said }, logprobs == null ? {} : { logprobs }));
  const calls: unknown = message["tool_calls"];
  if (Array.isArray(calls)) {
    for (const [at, call] of calls.entries()) {
      events.push(delta({ tool_calls: [{ ...jsonObjectOf(call), index: at }] }));
    }
  }
  if (message["function_call"] != null) events.push(delta({ function_call: message["function_call"] }));
  events.push(delta({}, { finish_reason: finish ?? "stop" }));
  return events;
}

/** The first delta: the role, members without an event of their own, and an empty content (null if none follows). */
function openingOf(message: JsonObject, said: unknown): JsonObject {
  const rest = Object.entries(message).filter(([name, value]) => !PLACED.has(name) && value != null);
  const content = said === "" && message["content"] !== "" ? null : "";
  return Object.fromEntries([["role", message["role"] ?? "assistant"], ["content", content], ...rest]);
}
