/** A message of Anthropic's as an answer of chat completions. */
import { GatewayError } from "../../../../shared/errors.ts";
import type { Steps } from "../../../../shared/steps.ts";
import type { JsonObject } from "../../wire/json/document.ts";
import { jsonInSteps, type TakeBytes } from "../../wire/json/write-in-steps.ts";
import { headText } from "../../wire/sse/event-head.ts";
import { countOf, given, ITEM_UNITS, listed, objectOf, textOf } from "../values.ts";

const REASONS = {
  end_turn: "stop",
  stop_sequence: "stop",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  tool_use: "tool_calls",
  refusal: "content_filter",
};
const TIERS = { standard: "default", priority: "priority" };

/** Throws `upstream_failed` if it is not a message. */
export function* chatAnswer(message: JsonObject, createdSecs: number, take?: TakeBytes): Steps<JsonObject> {
  const { content, stop_reason, stop_details, usage } = message;
  if (!Array.isArray(content)) throw new GatewayError("upstream_failed", { cause: "the answer has no content" });
  const [texts, reasoning, thinking, calls]: [string[], string[], JsonObject[], JsonObject[]] = [[], [], [], []];
  for (const one of content as readonly unknown[]) {
    yield ITEM_UNITS;
    const block = objectOf(one);
    const { type, text, id, name, input } = block;
    if (type === "text") texts.push(textOf(text));
    else if (type === "thinking" || type === "redacted_thinking") {
      reasoning.push(textOf(block["thinking"]));
      thinking.push(block);
    } else if (type === "tool_use") {
      const written = yield* jsonInSteps(input ?? {}, take);
      calls.push({ id, type: "function", function: { name, arguments: written } });
    }
  }
  const reason = { index: 0, finish_reason: finishReason(stop_reason), logprobs: null };
  const answer = {
    role: "assistant",
    content: texts.length === 0 ? null : texts.join(""),
    refusal: refusalOf(stop_details),
    ...(reasoning.join("") === "" ? {} : { reasoning_content: reasoning.join("") }),
    ...(thinking.length === 0 ? {} : { thinking_blocks: thinking }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
  return {
    ...chunkHead(message, { object: "chat.completion", createdSecs }),
    choices: [{ ...reason, message: answer }],
    ...given({ usage: chatUsage(objectOf(usage)), service_tier: tierOf(usage) }),
  };
}

/** The members of an answer or a chunk before its choices. */
export function chunkHead(
  { id, model }: JsonObject,
  { object, createdSecs }: { readonly object: string; readonly createdSecs: number },
): JsonObject {
  return { id: headText(id), object, created: createdSecs, model: headText(model) };
}

export function finishReason(stopReason: unknown): string {
  return listed(REASONS, stopReason) ?? "stop";
}

export function refusalOf(stopDetails: unknown): string | null {
  return textOf(objectOf(stopDetails)["explanation"]) || null;
}

export function tierOf(usage: unknown): string | undefined {
  return listed(TIERS, objectOf(usage)["service_tier"]);
}

/** Chat completions count cached tokens within the prompt. Null: the numbers cannot be. */
export function chatUsage(usage: JsonObject): JsonObject | null {
  const { output_tokens, cache_read_input_tokens, cache_creation_input_tokens, output_tokens_details } = usage;
  const [read, written] = [countOf(cache_read_input_tokens), countOf(cache_creation_input_tokens)];
  const prompt = countOf((countOf(usage["input_tokens"]) ?? Number.NaN) + (read ?? 0) + (written ?? 0));
  const completion = countOf(output_tokens);
  const total = countOf((prompt ?? Number.NaN) + (completion ?? Number.NaN));
  if (total === undefined) return null;
  const reasoning = countOf(objectOf(output_tokens_details)["thinking_tokens"]);
  const cached = given({ cached_tokens: read, cache_write_tokens: written });
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: total,
    ...(read === undefined && written === undefined ? {} : { prompt_tokens_details: cached }),
    ...(reasoning === undefined ? {} : { completion_tokens_details: { reasoning_tokens: reasoning } }),
  };
}
