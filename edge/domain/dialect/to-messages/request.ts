/** A request of chat completions as one of Anthropic's Messages. Throws for what Messages cannot carry. */
import type { Steps } from "../../../../shared/steps.ts";
import { isJsonObject, type JsonObject } from "../../wire/json/document.ts";
import { listAt, restOf, untranslatable } from "../lost-fields.ts";
import { given, ITEM_UNITS, listed, objectOf, textOf } from "../values.ts";
import { messagesOf } from "./messages.ts";

const KNOWN: ReadonlySet<string> = new Set(
  (
    "model messages tools tool_choice parallel_tool_calls max_tokens max_completion_tokens stop temperature top_p top_k " +
    "response_format reasoning_effort thinking user safety_identifier service_tier stream stream_options"
  ).split(" "),
);
/** Messages require a limit: used for a request without one. */
export const UNSTATED_MAX_TOKENS = 4096;

const CHOICES = { auto: { type: "auto" }, required: { type: "any" }, none: { type: "none" } };
const TIERS = { auto: "auto", priority: "auto", default: "standard_only", flex: "standard_only" };
const EFFORTS = { minimal: "low", low: "low", medium: "medium", high: "high", xhigh: "xhigh", max: "max" };

export function* messagesRequest(chat: JsonObject): Steps<JsonObject> {
  restOf("openai", chat, KNOWN, { strict: true });
  const { temperature, stop, reasoning_effort: effort } = chat;
  const { system, messages } = yield* messagesOf(chat["messages"]);
  const tools = yield* toolsOf(chat["tools"]);
  const userId = chat["safety_identifier"] ?? chat["user"];
  const output = given({ effort: listed(EFFORTS, effort), format: formatOf(chat["response_format"]) });
  return given({
    model: chat["model"],
    max_tokens: chat["max_completion_tokens"] ?? chat["max_tokens"] ?? UNSTATED_MAX_TOKENS,
    system: system.length === 0 ? null : system,
    messages,
    tools: tools.length === 0 ? null : tools,
    tool_choice: tools.length === 0 ? null : choiceOf(chat["tool_choice"], chat["parallel_tool_calls"]),
    stop_sequences: typeof stop === "string" ? [stop] : stop,
    temperature: typeof temperature === "number" ? Math.min(temperature, 1) : temperature,
    top_p: chat["top_p"],
    top_k: chat["top_k"],
    thinking: chat["thinking"] ?? thinkingOf(effort),
    output_config: Object.keys(output).length === 0 ? null : output,
    metadata: userId === undefined || userId === null ? null : { user_id: userId },
    service_tier: listed(TIERS, chat["service_tier"]),
    stream: chat["stream"],
  });
}

function* toolsOf(tools: unknown): Steps<readonly JsonObject[]> {
  const translated: JsonObject[] = [];
  for (const [index, tool] of listAt("openai", "tools", tools).entries()) {
    yield ITEM_UNITS;
    const { type, function: called, cache_control } = objectOf(tool);
    if (type !== "function" || !isJsonObject(called)) throw untranslatable("openai", `tools.${String(index)}`);
    const { name, description, parameters, strict } = called;
    const schema = { type: "object", ...(isJsonObject(parameters) ? parameters : { properties: {} }) };
    translated.push(given({ name, description, input_schema: schema, strict, cache_control }));
  }
  return translated;
}

function choiceOf(choice: unknown, parallel: unknown): JsonObject | null {
  const { function: called } = objectOf(choice);
  const named = isJsonObject(called) ? { type: "tool", name: called["name"] } : listed(CHOICES, choice);
  if (named === undefined && choice !== undefined && choice !== null) throw untranslatable("openai", "tool_choice");
  if (parallel !== false || named?.type === "none") return named ?? null;
  return { ...(named ?? CHOICES.auto), disable_parallel_tool_use: true };
}

/** Anthropic's models decide themselves how much they think; the effort guides them. */
function thinkingOf(effort: unknown): JsonObject | null {
  if (effort === "none") return { type: "disabled" };
  return listed(EFFORTS, effort) === undefined ? null : { type: "adaptive" };
}

function formatOf(format: unknown): JsonObject | null {
  const { type, json_schema } = objectOf(format);
  if (format === undefined || format === null || type === "text") return null;
  const { schema } = objectOf(json_schema);
  if (textOf(type) !== "json_schema" || !isJsonObject(schema)) throw untranslatable("openai", "response_format");
  return { type: "json_schema", schema };
}
