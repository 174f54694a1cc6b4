/**
 * A request of Anthropic's Messages as one of chat completions. Members that are not Anthropic's are passed on, because servers
 * of chat completions have more than the standard. Throws for what chat completions cannot carry.
 */
import type { Steps } from "../../../../shared/steps.ts";
import { isJsonObject, type JsonObject } from "../../wire/json/document.ts";
import type { TakeBytes } from "../../wire/json/write-in-steps.ts";
import { listAt, restOf, untranslatable } from "../lost-fields.ts";
import { given, ITEM_UNITS, listed, objectOf } from "../values.ts";
import { chatMessages } from "./messages.ts";

const KNOWN: ReadonlySet<string> = new Set(
  (
    "system messages tools tool_choice max_tokens max_completion_tokens stop_sequences thinking output_config output_format " +
    "metadata service_tier stream stream_options"
  ).split(" "),
);
const TOOL_KNOWN: ReadonlySet<string> = new Set(["type", "name", "description", "input_schema", "strict"]);
const CHOICES = { auto: "auto", any: "required", none: "none" };
const TIERS = { auto: "auto", standard_only: "default" };
/** Budgets of thinking up to which an effort is low or medium. */
const LOW_BUDGET_TOKENS = 4096;
const MEDIUM_BUDGET_TOKENS = 16_384;

export function* chatRequest(request: JsonObject, take?: TakeBytes): Steps<JsonObject> {
  const rest = restOf("anthropic", request, KNOWN);
  const { stream, output_config: output, tool_choice: choice, metadata } = request;
  const { effort, format } = objectOf(output);
  const tools = yield* toolsOf(request["tools"]);
  const limited = tools.length > 0 && objectOf(choice)["disable_parallel_tool_use"] === true;
  const translated = given({
    messages: yield* chatMessages(request["system"], request["messages"], take),
    tools: tools.length === 0 ? null : tools,
    tool_choice: tools.length === 0 ? null : choiceOf(choice),
    parallel_tool_calls: limited ? false : null,
    max_completion_tokens: request["max_completion_tokens"] ?? request["max_tokens"],
    stop: request["stop_sequences"],
    reasoning_effort: effort ?? effortOf(objectOf(request["thinking"])),
    response_format: formatOf(format, "output_config.format") ?? formatOf(request["output_format"], "output_format"),
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
    const own = objectOf(tool);
    const { type, name, description, input_schema: parameters, strict } = own;
    const at = `tools.${String(index)}.`;
    if ((type ?? "custom") !== "custom") throw untranslatable("anthropic", `${at}type`);
    restOf("anthropic", own, TOOL_KNOWN, { at });
    translated.push({ type: "function", function: given({ name, description, parameters, strict }) });
  }
  return translated;
}

function choiceOf(choice: unknown): unknown {
  const { type, name } = objectOf(choice);
  const translated = type === "tool" ? { type: "function", function: { name } } : listed(CHOICES, type);
  if (translated === undefined && choice !== undefined && choice !== null)
    throw untranslatable("anthropic", "tool_choice");
  return translated;
}

function effortOf({ type, budget_tokens: budget }: JsonObject): string | null {
  if (type !== "enabled" || typeof budget !== "number") return null;
  if (budget <= LOW_BUDGET_TOKENS) return "low";
  return budget <= MEDIUM_BUDGET_TOKENS ? "medium" : "high";
}

function formatOf(format: unknown, at: string): JsonObject | null {
  if (format === undefined || format === null) return null;
  const { type, schema } = objectOf(format);
  if (type !== "json_schema" || !isJsonObject(schema)) throw untranslatable("anthropic", at);
  return { type: "json_schema", json_schema: { name: "answer", schema, strict: true } };
}
