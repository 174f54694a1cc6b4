/**
 * An upstream of Anthropic's Messages that keeps to the published grammar of its events, and refuses what the API refuses: roles
 * other than user and assistant, no `max_tokens`, a result of no call. Its behaviour is in the name of the model, as words of
 * upstream-behaviour.ts, and: `tools=<n>` (so many turns that call the first tool), `early` (a stream without its end), `thinks`,
 * `id=<n>` (an id of so many characters).
 */

import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { EVENT_STREAM, namedEvents, startHttpSink } from "./http-sink.ts";
import { type Behaviour, behaviourOf } from "./upstream-behaviour.ts";

interface Block {
  readonly type: string;
  readonly [name: string]: unknown;
}

interface MessagesBody {
  readonly model: string;
  readonly max_tokens?: unknown;
  readonly stream?: boolean;
  readonly system?: unknown;
  readonly messages: readonly { readonly role: string; readonly content: string | readonly Block[] }[];
  readonly tools?: readonly { readonly name: string }[];
}

interface SeenMessage {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: MessagesBody;
  /** The connection was closed before the answer was complete. */
  cutOff: boolean;
}

/** Of every answer: 11 tokens were new, 5 came from a cache and 3 went into it. */
export const MESSAGES_USAGE = {
  input_tokens: 11,
  cache_read_input_tokens: 5,
  cache_creation_input_tokens: 3,
  output_tokens: 22,
};

export async function startMessagesUpstream() {
  const seen: SeenMessage[] = [];
  const sink = await startHttpSink(({ url: path, headers, body: text }) => async (response) => {
    const body = (text === "" ? {} : JSON.parse(text)) as MessagesBody;
    const call: SeenMessage = { path, headers, body, cutOff: false };
    seen.push(call);
    response.on("close", () => {
      call.cutOff = !response.writableFinished;
    });
    await answer(call, response);
  });
  return {
    url: `${sink.url}/v1`,
    /** The calls whose body has this text, in order. */
    seen: (text: string): readonly SeenMessage[] => seen.filter(({ body }) => JSON.stringify(body).includes(text)),
    close: sink.close,
  };
}

async function answer({ path, headers, body }: SeenMessage, response: ServerResponse): Promise<void> {
  const refuse = (status: number, type: string, message: string): void =>
    void response
      .writeHead(status, { "content-type": "application/json", "request-id": "req_fake" })
      .end(JSON.stringify({ type: "error", error: { type, message }, request_id: "req_fake" }));
  if (path !== "/v1/messages") return refuse(404, "not_found_error", `no ${path}`);
  if (headers["anthropic-version"] === undefined) return refuse(400, "invalid_request_error", "anthropic-version");
  if (headers["x-api-key"] !== "upstream-key") return refuse(401, "authentication_error", "invalid x-api-key");
  const fault = faultOf(body);
  if (fault !== null) return refuse(400, "invalid_request_error", fault);
  const behaviour = behaviourOf(body.model);
  const status = behaviour.number("status", 200);
  if (status === 529) return refuse(529, "overloaded_error", "Overloaded");
  if (status !== 200) return refuse(status, behaviour.text("type") ?? "api_error", "prompt is too long: 9 tokens");
  const blocks = blocksOf(behaviour, body);
  const isCall = blocks.at(-1)?.type === "tool_use";
  const message = {
    id: "msg_fake".padEnd(behaviour.number("id", 0), "x"),
    type: "message",
    role: "assistant",
    model: "claude-fake",
    stop_reason: isCall ? "tool_use" : "end_turn",
    stop_sequence: null,
    content: blocks,
    usage: MESSAGES_USAGE,
  };
  if (body.stream === true) return await streamed(behaviour, message, response);
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(message));
}

/** What the API refuses a request for; null: nothing. */
function faultOf({ max_tokens, messages }: MessagesBody): string | null {
  if (typeof max_tokens !== "number") return "max_tokens: Field required";
  let called = new Set<unknown>();
  for (const { role, content } of messages) {
    if (role !== "user" && role !== "assistant") return `messages: unexpected role ${role}`;
    const blocks = typeof content === "string" ? [] : content;
    const results = blocks.filter(({ type }) => type === "tool_result").map(({ tool_use_id: id }) => id);
    if (results.some((id) => !called.has(id)) || called.size !== results.length)
      return "messages: each tool_use block must have one tool_result in the next message";
    called = new Set(blocks.filter(({ type }) => type === "tool_use").map(({ id }) => id));
  }
  return null;
}

function blocksOf(behaviour: Behaviour, { messages, tools }: MessagesBody): readonly Block[] {
  const turns = messages.filter(({ role }) => role === "assistant").length;
  const thinking = { type: "thinking", thinking: "let me see", signature: "c2ln" };
  const before = behaviour.words.has("thinks") ? [thinking] : [];
  const tool = tools?.[0];
  if (tool !== undefined && turns < behaviour.number("tools", 0))
    return [
      ...before,
      { type: "text", text: `turn ${turns}` },
      { type: "tool_use", id: `toolu_${turns}`, name: tool.name, input: { turn: turns, city: "Oslo" } },
    ];
  const text = behaviour.text("says")?.replaceAll("_", " ");
  return [...before, { type: "text", text: text ?? (turns === 0 ? "hello world" : `done after ${turns}`) }];
}

async function streamed(behaviour: Behaviour, message: WholeMessage, response: ServerResponse): Promise<void> {
  response.writeHead(200, EVENT_STREAM);
  for (const [at, event] of messageStream(message, behaviour.number("chunks", 0)).entries()) {
    if (response.destroyed) return;
    if (at === 4 && behaviour.words.has("cut")) return void response.socket?.resetAndDestroy();
    if (at === 4 && behaviour.words.has("late-error"))
      response.write(namedEvents({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }));
    if (event.type === "message_delta" && behaviour.words.has("early")) return void response.end();
    response.write(namedEvents(event));
    const paceMs = behaviour.number("pace", 0);
    if (paceMs > 0) await pause(paceMs);
  }
  response.end();
}

interface WholeMessage {
  readonly stop_reason: string;
  readonly content: readonly Block[];
  readonly usage: object & { readonly output_tokens: number };
}

/** The events of a message, its texts in pieces of three characters, the last one with so many pieces `more`. */
export function messageStream({ content, usage, ...message }: WholeMessage, more = 0): readonly Block[] {
  const begun = { ...message, stop_reason: null, content: [], usage: { ...usage, output_tokens: 1 } };
  const { stop_reason } = message;
  const { output_tokens } = usage;
  return [
    { type: "message_start", message: begun },
    { type: "ping" },
    ...content.flatMap((block, index) => [
      { type: "content_block_start", index, content_block: { ...block, ...EMPTY[block.type] } },
      ...deltasOf(block, more).map((delta) => ({ type: "content_block_delta", index, delta })),
      { type: "content_block_stop", index },
    ]),
    { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: { output_tokens } },
    { type: "message_stop" },
  ];
}

/** What blocks begin with. */
const EMPTY: Readonly<Record<string, object>> = {
  text: { text: "" },
  thinking: { thinking: "", signature: "" },
  tool_use: { input: {} },
};

function deltasOf(block: Block, more: number): readonly Block[] {
  const parts = (text: unknown): readonly string[] => String(text).match(/.{1,3}/gs) ?? [];
  if (block.type === "tool_use")
    return parts(JSON.stringify(block["input"])).map((partial_json) => ({ type: "input_json_delta", partial_json }));
  if (block.type === "thinking")
    return [
      ...parts(block["thinking"]).map((thinking) => ({ type: "thinking_delta", thinking })),
      { type: "signature_delta", signature: block["signature"] },
    ];
  const texts = [...parts(block["text"]), ...Array.from({ length: more }, (_, at) => `w${at} `)];
  return texts.map((text) => ({ type: "text_delta", text }));
}
