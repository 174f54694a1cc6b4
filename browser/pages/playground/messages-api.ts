/**
 * Anthropic's messages for the playground, whose own form is that of chat completions: its requests and its answers. What they do
 * not know (penalties, a seed) is not shown. Pure; upstreams are not trusted.
 */
import { fieldsOf, textOf } from "../../data/untyped.ts";
import { type Answer, withChunk } from "./answer.ts";

/** By the path below `/v1/` that is called. */
export type Api = "chat/completions" | "messages";

type Body = Readonly<Record<string, unknown>>;

/** Messages require a limit. */
const MAX_TOKENS = 4096;
const MEMBERS = ["model", "temperature", "top_p", "stream"] as const;
const CHOICES: Body = { auto: { type: "auto" }, none: { type: "none" }, required: { type: "any" } };

/** The body of a request of the playground in this API. */
export function bodyFor(api: Api, body: Body): Body {
  if (api !== "messages") return body;
  const { max_tokens, stop, tools, tool_choice, response_format } = body;
  const { system, messages } = turnsOf(listOf(body["messages"]));
  const { schema } = fieldsOf(fieldsOf(response_format)["json_schema"]);
  const members: Body = {
    ...Object.fromEntries(MEMBERS.map((name) => [name, body[name]])),
    max_tokens: max_tokens ?? MAX_TOKENS,
    system,
    messages,
    stop_sequences: stop,
    tools: tools === undefined ? undefined : listOf(tools).map(toolOf),
    tool_choice: choiceOf(tool_choice),
    output_config: schema === undefined ? undefined : { format: { type: "json_schema", schema } },
  };
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

function turnsOf(chat: readonly Body[]): { readonly system: unknown; readonly messages: readonly object[] } {
  let system: unknown;
  const messages: { readonly role: string; readonly content: object[] }[] = [];
  for (const { role, content, tool_calls, tool_call_id } of chat) {
    if (role === "system") {
      system = content;
      continue;
    }
    const own = role === "assistant" ? "assistant" : "user";
    const blocks =
      role === "tool"
        ? [{ type: "tool_result", tool_use_id: tool_call_id, content }]
        : [...blocksOf(content), ...listOf(tool_calls).map(callOf)];
    const last = messages.at(-1);
    // the results of calls, and what is said after them, are one turn
    if (last?.role === own) last.content.push(...blocks);
    else messages.push({ role: own, content: blocks });
  }
  return { system, messages };
}

function blocksOf(content: unknown): readonly object[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  return listOf(content).map((part) => {
    const [head = "", data] = (textOf(fieldsOf(part["image_url"])["url"]) ?? "").split(";base64,");
    if (part["type"] !== "image_url") return part;
    return { type: "image", source: { type: "base64", media_type: head.slice("data:".length), data } };
  });
}

function callOf({ id, function: called }: Body): object {
  const { name, arguments: args } = fieldsOf(called);
  return { type: "tool_use", id, name, input: argumentsOf(textOf(args) ?? "") };
}

/** What the model asked for, as far as it is an object, as the API requires. */
function argumentsOf(text: string): Body {
  try {
    return fieldsOf(JSON.parse(text));
  } catch {
    return {};
  }
}

function toolOf({ function: tool }: Body): object {
  const { parameters, ...own } = fieldsOf(tool);
  return { ...own, input_schema: { type: "object", ...fieldsOf(parameters) } };
}

function choiceOf(choice: unknown): unknown {
  if (typeof choice === "string") return CHOICES[choice];
  const { name } = fieldsOf(fieldsOf(choice)["function"]);
  return name === undefined ? undefined : { type: "tool", name };
}

function listOf(value: unknown): readonly Body[] {
  return Array.isArray(value) ? value.map(fieldsOf) : [];
}

/** The answer with one event of a stream of messages, or with a whole message. */
export function withMessagesEvent(answer: Answer, event: unknown): Answer {
  const { type, content, content_block, delta, stop_reason } = fieldsOf(event);
  if (type === "message") return withStop(listOf(content).reduce(withBlock, answer), stop_reason);
  if (type === "content_block_start") return withBlock(answer, fieldsOf(content_block));
  const { text, thinking, partial_json, stop_reason: stopped } = fieldsOf(delta);
  // a call is written whole before the next one starts
  const called = { index: answer.toolCalls.length - 1, function: { arguments: partial_json } };
  return withStop(
    said(answer, {
      content: text,
      reasoning: thinking,
      ...(partial_json === undefined ? {} : { tool_calls: [called] }),
    }),
    stopped,
  );
}

function withBlock(answer: Answer, { type, text, thinking, id, name, input }: Body): Answer {
  if (type !== "tool_use") return said(answer, { content: text, reasoning: thinking });
  // in a stream the input comes after this, as JSON
  const args = Object.keys(fieldsOf(input)).length === 0 ? "" : JSON.stringify(input);
  return said(answer, { tool_calls: [{ index: answer.toolCalls.length, id, function: { name, arguments: args } }] });
}

function said(answer: Answer, delta: object): Answer {
  return withChunk(answer, { choices: [{ delta }] });
}

function withStop(answer: Answer, reason: unknown): Answer {
  return withChunk(answer, { choices: [{ delta: {}, finish_reason: reason }] });
}
