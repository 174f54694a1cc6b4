/**
 * A request of the Responses API as one of chat completions. Members that are not of that API are passed on, because servers of
 * chat completions have more than the standard. Throws for what chat completions cannot carry.
 */
import type { Steps } from "../../../../shared/steps.ts";
import { isJsonObject, type JsonObject } from "../../wire/json/document.ts";
import { restOf, untranslatable } from "../lost-fields.ts";
import { elementsOf, given, listed, objectOf } from "../values.ts";
import { chatMessagesOf } from "./items.ts";
import { type ClientTool, chatNameOf, chatToolsOf } from "./tools.ts";

const KNOWN: ReadonlySet<string> = new Set(
  (
    "input instructions tools tool_choice parallel_tool_calls text reasoning include stream stream_options " +
    "max_output_tokens max_completion_tokens max_tokens"
  ).split(" "),
);
const CHOICES = { auto: "auto", required: "required", none: "none" };
const LOGPROBS = "message.output_text.logprobs";

/** A chat completion to ask for. */
interface ChatCall {
  readonly request: JsonObject;
  readonly clientTools: ReadonlyMap<string, ClientTool>;
}

/** Throws for fields beside the texts that only an upstream with this API could obey. */
export function checkResponsesRequest(request: JsonObject): void {
  restOf("responses", request, KNOWN);
}

/** `signs`: the upstream's API wants its own signed reasoning back. */
export function* chatCallOf(request: JsonObject, signs: boolean): Steps<ChatCall> {
  const rest = restOf("responses", request, KNOWN);
  if (elementsOf(request["include"]).includes(LOGPROBS)) throw untranslatable("responses", "include");
  const { instructions, input, stream, tool_choice: choice } = request;
  const { tools, clientTools } = yield* chatToolsOf(request["tools"]);
  const isOffered = tools.length > 0;
  const translated = given({
    messages: yield* chatMessagesOf(instructions, input, signs),
    tools: isOffered ? tools : null,
    tool_choice: isOffered ? choiceOf(choice) : null,
    parallel_tool_calls: isOffered ? request["parallel_tool_calls"] : null,
    // one of them: the gateway writes it under one name
    max_completion_tokens: request["max_output_tokens"] ?? request["max_completion_tokens"] ?? request["max_tokens"],
    reasoning_effort: objectOf(request["reasoning"])["effort"],
    response_format: formatOf(objectOf(objectOf(request["text"])["format"])),
    stream,
  });
  return { request: { ...given(rest), ...translated }, clientTools };
}

function choiceOf(choice: unknown): unknown {
  if (choice === undefined || choice === null) return null;
  const { type, name, namespace } = objectOf(choice);
  const chosen =
    type === "function" || type === "custom"
      ? { type: "function", function: { name: chatNameOf(name, namespace) } }
      : listed(CHOICES, choice);
  if (chosen === undefined) throw untranslatable("responses", "tool_choice");
  return chosen;
}

function formatOf({ type, name, description, schema, strict }: JsonObject): JsonObject | null {
  if (type === undefined || type === "text") return null;
  if (type === "json_object") return { type };
  if (type !== "json_schema" || !isJsonObject(schema)) throw untranslatable("responses", "text.format");
  return { type, json_schema: given({ name, description, schema, strict }) };
}
