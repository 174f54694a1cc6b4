/**
 * A request of Anthropic's Messages as one of chat completions. Members that are not Anthropic's are passed on, because servers
 * of chat completions have more than the standard. Throws for what chat completions cannot carry.
 */
import type { Steps } from "../../../../shared/steps.ts";
import { isJsonObject, type JsonObject } from "../../wire/json/document.ts";
import { listAt, restOf, untranslatable } from "../lost-fields.ts";
import { given, ITEM_UNITS, listed, objectOf } from "../values.ts";
import { chatMessages } from "./messages.ts";

const KNOWN: ReadonlySet<string> = new Set(
  (
    "system messages tools tool_choice stop_sequences thinking output_config output_format metadata service_tier stream " +
    "stream_options"
  ).split(" "),
);
const CHOICES = { auto: "auto", any: "required", none: "none" };
const TIERS = { auto: "auto", standard_only: "default" };
/** Budgets of thinking up to which an effort is low or medium. */
const LOW_BUDGET_TOKENS = 4096;
const MEDIUM_BUDGET_TOKENS = 16_384;

export function* chatRequest(request: JsonObject): Steps<JsonObject> {
  const rest = restOf("anthropic", request, KNOWN);
  const { stream, output_config: output, tool_choice: choice, metadata } = request;
  const { effort, format } = objectOf(output);
  const tools = yield* toolsOf(request["tools"]);
  const limited = tools.length > 0 && objectOf(choice)["disable_parallel_tool_use"] === true;
  const translated = given({
    messages: yield* chatMessages(request["system"], request["messages"]),
    tools: tools.length === 0 ? null : tools,
    tool_choice: tools.length === 0 ? null : choiceOf(objectOf(choice)),
    parallel_tool_calls: limited ? false : null,
    stop: request["stop_sequences"],
    reasoning_effort: effort ?? effortOf(objectOf(request["thinking"])),
    response_format: formatOf(objectOf(format ?? request["output_format"])),
    user: objectOf(metadata)["user_id"],
    service_tier: listed(TIERS, request["service_tier"]),
    stream,
    // the usage of a stream is what Messages report at its end
    stream_options: stream === true ? { include_usage: true } : null,
  });
  return { ...given(rest), ...translated };
}

function* toolsOf(tools: unknown): Steps<readonly JsonObject[]> {
  const translated: JsonObject[] = [];
  for (const [index, tool] of listAt("anthropic", "tools", tools).entries()) {
    yield ITEM_UNITS;
    const { type, name, description, input_schema: parameters, strict } = objectOf(tool);
    if ((type ?? "custom") !== "custom") throw untranslatable("anthropic", `tools.${String(index)}.type`);
    translated.push({ type: "function", function: given({ name, description, parameters, strict }) });
  }
  return translated;
}

function choiceOf({ type, name }: JsonObject): unknown {
  return type === "tool" ? { type: "function", function: { name } } : listed(CHOICES, type);
}

function effortOf({ type, budget_tokens: budget }: JsonObject): string | null {
  if (type !== "enabled" || typeof budget !== "number") return null;
  if (budget <= LOW_BUDGET_TOKENS) return "low";
  return budget <= MEDIUM_BUDGET_TOKENS ? "medium" : "high";
}

function formatOf({ type, schema }: JsonObject): JsonObject | null {
  if (type !== "json_schema" || !isJsonObject(schema)) return null;
  return { type: "json_schema", json_schema: { name: "answer", schema, strict: true } };
}
