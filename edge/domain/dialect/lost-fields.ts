/**
 * The fields of a request that the other dialect cannot carry (docs/rules/dialects.md#what-is-lost, which a test compares with
 * this table). A refused field is a 400 that names it; a dropped one changes nothing that the target could do.
 */
import { GatewayError } from "../../../shared/errors.ts";
import type { JsonObject } from "../wire/json/document.ts";
import { listed } from "./values.ts";

export type Dialect = "openai" | "anthropic";

/** What happens to a field, and the fix of a refused one or the reason of a dropped one. */
type Loss = readonly [outcome: "refused" | "dropped", why: string];

/** By the dialect of the client; `[]` stands for the elements of a list. */
export const LOST_FIELDS = {
  openai: {
    n: ["refused", "ask for one choice"],
    logprobs: ["refused", "leave it out"],
    top_logprobs: ["refused", "leave it out"],
    logit_bias: ["refused", "leave it out"],
    audio: ["refused", "ask for text"],
    modalities: ["refused", "ask for text"],
    functions: ["refused", "use tools"],
    function_call: ["refused", "use tool_choice"],
    web_search_options: ["refused", "leave it out"],
    moderation: ["refused", "leave it out"],
    verbosity: ["refused", "ask for it in the prompt"],
    frequency_penalty: ["dropped", "ignored"],
    presence_penalty: ["dropped", "ignored"],
    seed: ["dropped", "ignored"],
    metadata: ["dropped", "ignored"],
    prediction: ["dropped", "ignored"],
    store: ["dropped", "ignored"],
    prompt_cache_key: ["dropped", "hint"],
    prompt_cache_options: ["dropped", "hint"],
    prompt_cache_retention: ["dropped", "hint"],
    tool_choice: ["refused", "use auto, required, none or a named function"],
    response_format: ["refused", "use json_schema with a schema"],
    "tools[]": ["refused", "define a function"],
    "messages[].role": ["refused", "use system, developer, user, assistant or tool"],
    "messages[].content[]": ["refused", "use text, image_url or file"],
    "messages[].content[].image_url": ["refused", "use an http or data URL"],
    "messages[].content[].image_url.detail": ["dropped", "hint"],
    "messages[].content[].file": ["refused", "send a PDF as file_data"],
    "messages[].tool_calls[]": ["refused", "call a function"],
    "messages[].tool_calls[].function.arguments": ["refused", "write a JSON object"],
    "messages[].name": ["dropped", "ignored"],
    "messages[].audio": ["refused", "send text"],
    "messages[].function_call": ["refused", "use tool_calls"],
    "messages[].reasoning_content": ["dropped", "unsigned"],
    "messages[].reasoning": ["dropped", "unsigned"],
    "messages[].annotations": ["dropped", "answer only"],
    "messages[].parsed": ["dropped", "answer only"],
  },
  anthropic: {
    container: ["refused", "leave it out"],
    mcp_servers: ["refused", "define tools"],
    inference_geo: ["refused", "leave it out"],
    n: ["refused", "ask for one choice"],
    cache_control: ["dropped", "hint"],
    context_management: ["dropped", "hint"],
    diagnostics: ["dropped", "hint"],
    speed: ["dropped", "hint"],
    "thinking.display": ["dropped", "hint"],
    "tools[].type": ["refused", "define the tool with an input_schema"],
    "tools[].cache_control": ["dropped", "hint"],
    "tools[].defer_loading": ["dropped", "hint"],
    "tools[].eager_input_streaming": ["dropped", "hint"],
    "tools[].input_examples": ["dropped", "hint"],
    "tools[].allowed_callers": ["dropped", "hint"],
    "messages[].role": ["refused", "use user, assistant or system"],
    "messages[].content[]": ["refused", "use text, image, document, tool_use or tool_result"],
    "messages[].content[].source": ["refused", "send it as base64, an image's URL or text"],
    "messages[].content[].citations": ["refused", "leave them out"],
    "messages[].content[].cache_control": ["dropped", "hint"],
    "messages[].content[].context": ["dropped", "hint"],
    "messages[].content[].signature": ["dropped", "Anthropic's own"],
    "messages[].content[].data": ["dropped", "Anthropic's own"],
  },
} as const satisfies Readonly<Record<Dialect, Readonly<Record<string, Loss>>>>;

/** The refusal of a field of the table, at its place in the request. */
export function cannotCarry<D extends Dialect>(dialect: D, field: keyof (typeof LOST_FIELDS)[D] & string, at: string) {
  const losses: Readonly<Record<string, Loss>> = LOST_FIELDS[dialect];
  return untranslatable(at, losses[field]?.[1] ?? "");
}

/** A 400 that names the field and what to change. */
function untranslatable(field: string, fix: string): GatewayError {
  return new GatewayError("untranslatable_field", {
    param: field,
    complaint: `${field} cannot be translated for this model: ${fix}`,
  });
}

/**
 * The members of `body` that are neither translated (`known`) nor in the table. Throws for a refused one that asks for
 * something. `list` is the list whose element `body` is, `at` its place there.
 */
export function restOf(
  dialect: Dialect,
  body: JsonObject,
  known: ReadonlySet<string>,
  { list = "", at = "" } = {},
): JsonObject {
  const losses: Readonly<Record<string, Loss>> = LOST_FIELDS[dialect];
  const rest: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(body)) {
    if (known.has(name)) continue;
    const loss = listed(losses, list + name);
    if (loss === undefined) rest[name] = value;
    else if (loss[0] === "refused" && !asksNothing(name, value)) throw untranslatable(at + name, loss[1]);
  }
  return rest;
}

/** Messages refuse what they do not know: throws for a member that is left over. */
export function refuseRest(rest: JsonObject, at = ""): void {
  for (const [name, value] of Object.entries(rest))
    if (!asksNothing(name, value)) throw untranslatable(at + name, "Anthropic's Messages have no such field");
}

function asksNothing(name: string, value: unknown): boolean {
  if (name === "n" && value === 1) return true;
  if (name === "modalities" && Array.isArray(value)) return value.every((one) => one === "text");
  if (typeof value === "object" && value !== null) return Object.keys(value).length === 0;
  return value === null || value === false || value === 0 || value === "";
}
