/**
 * The fields of a request that the other dialect cannot carry (docs/rules/dialects.md#what-is-lost, which a test compares with
 * this table). A refused field is a 400 that names it; a dropped one changes nothing that the target could do.
 */
import { GatewayError } from "../../../shared/errors.ts";
import type { JsonObject } from "../wire/json/document.ts";
import { printable } from "../wire/text/printable.ts";

/** The most that an error shows of a name that a client made up; the table has no longer ones. */
const NAME_MAX = 64;
/** No honest object has more members, and more of them are long work. */
const MEMBERS_MAX = 1_024;

/** The API of a model's upstreams. */
export type Dialect = "openai" | "anthropic";
/** The API of a client: chat completions, Messages or Responses. */
type ClientApi = Dialect | "responses";

/**
 * Fields with the same treatment: the treatment, the fix for refused ones or the reason for dropped ones, and their names; `[]`
 * means the elements of a list.
 */
type Loss = readonly [outcome: "refused" | "dropped", why: string, fields: string];

/** By the API of the client. */
export const LOST_FIELDS: Readonly<Record<ClientApi, readonly Loss[]>> = {
  openai: [
    ["refused", "ask for one choice", "n"],
    ["refused", "leave it out", "logprobs top_logprobs logit_bias web_search_options moderation verbosity"],
    ["refused", "use text", "audio modalities messages[].audio"],
    ["refused", "use tools", "functions function_call messages[].function_call"],
    ["refused", "use auto, required, none or a named function", "tool_choice"],
    ["refused", "use json_schema with a schema", "response_format"],
    ["refused", "define a function", "tools[]"],
    ["refused", "use system, developer, user, assistant or tool", "messages[].role"],
    ["refused", "use text, image_url or file", "messages[].content[]"],
    ["refused", "use an http or data URL", "messages[].content[].image_url"],
    ["refused", "send a PDF as file_data", "messages[].content[].file"],
    ["refused", "call a function with a JSON object", "messages[].tool_calls[]"],
    [
      "dropped",
      "ignored",
      "frequency_penalty presence_penalty seed metadata prediction store messages[].name " +
        "messages[].content[].image_url.detail",
    ],
    ["dropped", "a hint", "prompt_cache_key prompt_cache_options prompt_cache_retention"],
    ["dropped", "not signed", "messages[].reasoning_content messages[].reasoning"],
    ["dropped", "of answers", "messages[].annotations messages[].parsed"],
  ],
  anthropic: [
    ["refused", "ask for one choice", "n"],
    ["refused", "leave it out", "container inference_geo messages[].content[].citations"],
    ["refused", "define tools with an input_schema", "mcp_servers tools[].type tools[].function tools[].parameters"],
    ["refused", "use auto, any, tool or none", "tool_choice"],
    ["refused", "use json_schema with a schema", "output_config.format output_format"],
    ["refused", "use user, assistant or system", "messages[].role"],
    ["refused", "use text, image, document, tool_use or tool_result", "messages[].content[]"],
    [
      "refused",
      "use tool_use and tool_result",
      "messages[].tool_calls messages[].function_call messages[].tool_call_id",
    ],
    ["refused", "send base64, text or an image's URL", "messages[].content[].source"],
    [
      "dropped",
      "a hint",
      "cache_control context_management diagnostics speed thinking.display messages[].content[].cache_control " +
        "messages[].content[].context tools[].allowed_callers tools[].cache_control tools[].defer_loading " +
        "tools[].eager_input_streaming tools[].input_examples",
    ],
    ["dropped", "but for user_id", "metadata"],
    ["dropped", "Anthropic's own", "messages[].content[].signature messages[].content[].data"],
  ],
  responses: [
    ["refused", "send all items of the conversation in input", "previous_response_id conversation"],
    ["refused", "wait for the answer, which is not stored", "background"],
    ["refused", "send instructions and input", "prompt"],
    ["refused", "ask for one answer", "n"],
    ["refused", "leave it out", "top_logprobs truncation"],
    ["refused", "leave out message.output_text.logprobs", "include"],
    ["refused", "use text", "instructions"],
    ["refused", "use function, custom, namespace or web_search, with a name", "tools[] tools[].tools[]"],
    ["refused", "use auto, required, none or a named tool", "tool_choice"],
    ["refused", "use text, json_object or json_schema with a schema", "text.format"],
    ["refused", "use message, reasoning, function_call, custom_tool_call and their outputs", "input[]"],
    ["refused", "use user, assistant, system or developer", "input[].role"],
    ["refused", "use text, input_image with a URL, input_file with file_data or input_audio", "input[].content[]"],
    ["refused", "use text, input_image with a URL or input_file with file_data", "input[].output[]"],
    ["refused", "use text", "input[].summary[]"],
    ["dropped", "not stored", "store"],
    ["dropped", "for tools of a server", "max_tool_calls"],
    [
      "dropped",
      "a hint",
      "metadata prompt_cache_key prompt_cache_options prompt_cache_retention context_management client_metadata reasoning.summary " +
        "reasoning.generate_summary text.verbosity stream_options",
    ],
    ["dropped", "another API's own", "input[].encrypted_content"],
  ],
};

/** The 400 for a place in a request, which names it and what to change. */
export function untranslatable(
  dialect: ClientApi,
  at: string,
  fix = lossOf(dialect, at)?.[1] ?? "the model's API has no such field",
): GatewayError {
  return new GatewayError("untranslatable_field", {
    param: at,
    complaint: `${at} cannot be translated for this model: ${fix}`,
  });
}

/** The elements of a list in a request; null counts as an empty list. Throws for any other value, because it would be lost. */
export function listAt(dialect: ClientApi, at: string, value: unknown, fix = "use a list"): readonly unknown[] {
  if (Array.isArray(value)) return value;
  if (value === undefined || value === null) return [];
  throw untranslatable(dialect, at, fix);
}

/** As above, for content: it may be text, which has no elements. */
export function partsAt(dialect: ClientApi, at: string, content: unknown): readonly unknown[] {
  return typeof content === "string" ? [] : listAt(dialect, at, content, "use text or a list");
}

/**
 * The members of `body` that are neither translated (`known`) nor in the table. Throws for a refused one that asks for
 * something, or more than {@link MEMBERS_MAX} members; with `strict`, for any such member. `at`: the place of the body with a dot, or "".
 */
export function restOf(
  dialect: ClientApi,
  body: JsonObject,
  known: ReadonlySet<string>,
  { at = "", strict = false } = {},
): JsonObject {
  const rest: Record<string, unknown> = {};
  if (Object.keys(body).length > MEMBERS_MAX)
    throw untranslatable(dialect, at.slice(0, -1) || "body", `leave out all but ${MEMBERS_MAX} members`);
  // the numbers of the gateway, not those in a name of the client
  const place = at.replaceAll(/\.\d+/g, "[]");
  for (const [name, value] of Object.entries(body)) {
    if (known.has(name)) continue;
    const loss = name.length > NAME_MAX ? undefined : LOSSES[dialect].get(place + name);
    const outcome = loss?.[0] ?? (strict ? "refused" : null);
    if (outcome === "refused" && !asksNothing(name, value))
      throw untranslatable(dialect, at + printable(name, NAME_MAX));
    if (outcome === null) rest[name] = value;
  }
  return rest;
}

const LOSSES = {
  openai: byField(LOST_FIELDS.openai),
  anthropic: byField(LOST_FIELDS.anthropic),
  responses: byField(LOST_FIELDS.responses),
};

function byField(losses: readonly Loss[]): ReadonlyMap<string, Loss> {
  return new Map(losses.flatMap((loss) => loss[2].split(" ").map((field) => [field, loss])));
}

function lossOf(dialect: ClientApi, at: string): Loss | undefined {
  return LOSSES[dialect].get(at.replaceAll(/\.\d+/g, "[]"));
}

function asksNothing(name: string, value: unknown): boolean {
  if (name === "n" && value === 1) return true;
  if (name === "truncation" && value === "disabled") return true;
  if (name === "modalities" && Array.isArray(value)) return value.every((one) => one === "text");
  if (Array.isArray(value)) return value.length === 0;
  if (typeof value === "object" && value !== null) return Object.keys(value).length === 0;
  return value === null || value === false || value === 0 || value === "";
}
