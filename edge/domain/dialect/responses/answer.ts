/** An answer of chat completions as one of the Responses API. */
import { GatewayError } from "../../../../shared/errors.ts";
import type { Steps } from "../../../../shared/steps.ts";
import { isJsonObject, type JsonObject } from "../../wire/json/document.ts";
import type { TakeBytes } from "../../wire/json/write-in-steps.ts";
import { headText } from "../../wire/sse/event-head.ts";
import { callIdOf, reasoningOf, textsOf } from "../to-messages/answer.ts";
import { argumentsOf } from "../to-messages/call-places.ts";
import { countOf, elementsOf, given, ITEM_UNITS, listed, objectOf, textOf } from "../values.ts";
import { OutputItems } from "./output-items.ts";
import { sealOf } from "./sealed.ts";
import type { ClientTool } from "./tools.ts";

/** The parts of an answer that come from its request. */
export interface ResponsesAsked {
  readonly settings: JsonObject;
  readonly clientTools: ReadonlyMap<string, ClientTool>;
  readonly createdSecs: number;
}

/** The members of a request that its answer repeats: those that are small. */
export function settingsOf(request: JsonObject): JsonObject {
  const { temperature, top_p, max_output_tokens, parallel_tool_calls, tool_choice, reasoning, text } = request;
  const { effort } = objectOf(reasoning);
  return {
    instructions: null,
    max_output_tokens: countOf(max_output_tokens) ?? null,
    metadata: null,
    parallel_tool_calls: parallel_tool_calls !== false,
    previous_response_id: null,
    reasoning: { effort: headText(effort) ?? null, summary: null },
    store: false,
    temperature: typeof temperature === "number" ? temperature : 1,
    text: { format: { type: listed(FORMATS, objectOf(objectOf(text)["format"])["type"]) ?? "text" } },
    tool_choice: listed(CHOICES, tool_choice) ?? "auto",
    tools: [],
    top_p: typeof top_p === "number" ? top_p : 1,
    truncation: "disabled",
  };
}

const CHOICES = { auto: "auto", required: "required", none: "none" };
const FORMATS = { text: "text", json_object: "json_object", json_schema: "json_schema" };
const INCOMPLETE = { length: "max_output_tokens", content_filter: "content_filter" };

/** Throws `upstream_failed` if it is not a completion. */
export function* responsesAnswer(completion: JsonObject, asked: ResponsesAsked, take?: TakeBytes): Steps<JsonObject> {
  const choice = elementsOf(completion["choices"]).find((one) => (objectOf(one)["index"] ?? 0) === 0);
  if (!isJsonObject(choice)) throw new GatewayError("upstream_failed", { cause: "the answer has no choice" });
  const message = objectOf(choice["message"]);
  const output = outputOf(completion, asked);
  const blocks = elementsOf(message["thinking_blocks"]);
  for (const one of blocks) {
    yield ITEM_UNITS;
    if (output.isTooLarge) throw tooLarge();
    const block = objectOf(one);
    output.said("reasoning", textOf(block["thinking"]));
    const seal = sealOf(block);
    if (seal !== null) output.sealed(seal);
  }
  if (blocks.length === 0) output.said("reasoning", reasoningOf(message));
  output.said("text", textsOf(message["content"]));
  output.said("refusal", textOf(message["refusal"]));
  for (const [index, call] of elementsOf(message["tool_calls"]).entries()) {
    yield ITEM_UNITS;
    if (output.isTooLarge) throw tooLarge();
    const { id, function: called } = objectOf(call);
    const { name, arguments: input } = objectOf(called);
    const head = { id: textOf(id) || callIdOf(completion, index), name: textOf(name) };
    output.called(index, head, (yield* argumentsOf(input, take)) || "{}");
  }
  const { finish_reason: reason } = choice;
  yield* output.finish(endStatusOf(reason));
  if (output.isTooLarge) throw tooLarge();
  return responseOf(completion, asked, { output: output.items, reason, report: completion });
}

function tooLarge(): GatewayError {
  return new GatewayError("upstream_failed", { cause: "the answer is too large to be translated" });
}

/** `head`: the completion, or its first chunk. */
export function outputOf({ id }: JsonObject, { clientTools }: ResponsesAsked): OutputItems {
  return new OutputItems(headText(id) ?? "", clientTools);
}

export function endStatusOf(reason: unknown): "completed" | "incomplete" {
  return listed(INCOMPLETE, reason) === undefined ? "completed" : "incomplete";
}

/** The answer so far; `ended` null: it has only started. */
export function responseOf(
  { id, model }: JsonObject,
  { settings, createdSecs }: ResponsesAsked,
  ended: { readonly output: readonly JsonObject[]; readonly reason: unknown; readonly report: JsonObject } | null,
): JsonObject {
  const incomplete = listed(INCOMPLETE, ended?.reason);
  const { usage, service_tier: tier } = ended?.report ?? {};
  return {
    id: `resp_${headText(id) ?? ""}`,
    object: "response",
    created_at: createdSecs,
    status: ended === null ? "in_progress" : endStatusOf(ended.reason),
    background: false,
    error: null,
    incomplete_details: incomplete === undefined ? null : { reason: incomplete },
    model: headText(model),
    ...settings,
    ...given({ service_tier: headText(tier) }),
    output: ended?.output ?? [],
    usage: isJsonObject(usage) ? responsesUsage(usage) : null,
  };
}

/** Numbers that cannot be are 0, because clients need all of them. */
function responsesUsage(usage: JsonObject): JsonObject {
  const { prompt_tokens, completion_tokens, prompt_tokens_details, completion_tokens_details } = usage;
  const [input, output] = [countOf(prompt_tokens) ?? 0, countOf(completion_tokens) ?? 0];
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: countOf(objectOf(prompt_tokens_details)["cached_tokens"]) ?? 0 },
    output_tokens: output,
    output_tokens_details: {
      reasoning_tokens: countOf(objectOf(completion_tokens_details)["reasoning_tokens"]) ?? 0,
    },
    total_tokens: input + output,
  };
}
