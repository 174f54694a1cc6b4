/**
 * The answer to each route of an upstream, in the shapes of the services that clients know. Every answer that reports
 * tokens reports 11 in and 22 out.
 */
import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { namedEvents, plainEvents } from "./http-sink.ts";

/** A file in a form, as it arrived. */
export interface SeenFile {
  readonly name: string;
  readonly type: string;
  readonly size: number;
  readonly sha256: string;
}

/** What an upstream records of a call: enough to check that it arrived whole, whatever its body was. */
export interface SeenCall {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly size: number;
  readonly sha256: string;
  /** Of JSON bodies; null for others. */
  readonly json: Readonly<Record<string, unknown>> | null;
  /** Text fields of forms. */
  readonly fields: Readonly<Record<string, string>>;
  readonly files: Readonly<Record<string, SeenFile>>;
}

/** The audio that `speech` answers: bytes of every value, more than one chunk. */
export const SPOKEN = Uint8Array.from({ length: 200_000 }, (_, at) => (at * 31) % 256);

const IMAGE = Buffer.from("an image").toString("base64");
const CHAT_USAGE = { prompt_tokens: 11, completion_tokens: 22, total_tokens: 33 };
const USAGE = { input_tokens: 11, output_tokens: 22, total_tokens: 33 };

export async function answerRoute(call: SeenCall, response: ServerResponse): Promise<void> {
  const path = decodeURI(new URL(call.path, "http://upstream").pathname);
  const send = (body: object): void =>
    void response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
  const streams = call.json?.["stream"] === true;
  const model = call.json?.["model"] ?? call.fields["model"];
  if (call.method === "GET") return send({ id: "of-upstream", object: "model", asked: path });
  switch (path) {
    case "/v1/chat/completions":
      return streams ? await events(response, chatEvents(call)) : send(chatAnswer(call, model));
    case "/v1/completions":
      return streams
        ? await events(response, completionEvents(call))
        : send({ id: "cmpl-1", object: "text_completion", model, choices: [textChoice("hello")], usage: CHAT_USAGE });
    case "/v1/responses":
      return streams ? await events(response, responseEvents()) : send(responseOf("completed"));
    case "/v1/embeddings": {
      const inputs = Array.isArray(call.json?.["input"]) ? (call.json["input"] as unknown[]) : [call.json?.["input"]];
      const data = inputs.map((_, index) => ({ object: "embedding", index, embedding: embedding(call) }));
      return send({ object: "list", data, model, usage: { prompt_tokens: 11, total_tokens: 11 } });
    }
    case "/v1/audio/transcriptions":
    case "/v1/audio/translations":
      if (call.fields["response_format"] === "text")
        return void response.writeHead(200, { "content-type": "text/plain; charset=utf-8" }).end("hello world\n");
      return send({ text: "hello world", usage: { type: "tokens", ...USAGE } });
    case "/v1/audio/speech":
      response.writeHead(200, { "content-type": "audio/mpeg" });
      for (let at = 0; at < SPOKEN.length; at += 50_000) response.write(SPOKEN.subarray(at, at + 50_000));
      return void response.end();
    case "/v1/images/generations":
    case "/v1/images/edits":
    case "/v1/images/variations": {
      const count = Number(call.json?.["n"] ?? call.fields["n"] ?? 1);
      return send({ created: 1, data: Array.from({ length: count }, () => ({ b64_json: IMAGE })) });
    }
    case "/v1/messages":
      return streams ? await events(response, messageEvents(), 0) : send(messageOf("hello", USAGE));
    case "/v1/rerank":
      return send({ results: [{ index: 0, relevance_score: 0.9 }], meta: { tokens: { input_tokens: 11 } } });
    case "/v1/moderations":
      return send({ id: "modr-1", model, results: [{ flagged: false }] });
    default:
      response.writeHead(404, { "content-type": "application/json" }).end(JSON.stringify({ detail: "no such route" }));
  }
}

/** Writes events, each at once, with a turn of the event loop between them. */
async function events(response: ServerResponse, list: readonly string[], paceMs = 1): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
  for (const text of list) {
    response.write(text);
    if (paceMs > 0) await pause(paceMs);
  }
  response.end();
}

function wantsUsage(call: SeenCall): boolean {
  return (call.json?.["stream_options"] as { include_usage?: boolean } | undefined)?.include_usage === true;
}

function textChoice(text: string, finish: string | null = "stop"): object {
  return { index: 0, text, logprobs: null, finish_reason: finish };
}

/** Calls the first tool when there is one. A request with a JSON schema gets an answer of its own. */
function chatAnswer(call: SeenCall, model: unknown): object {
  const tool = toolOf(call);
  const format = call.json?.["response_format"] as { type?: string } | undefined;
  const content = format?.type?.startsWith("json") === true ? '{"city":"Oslo","degrees":7}' : "hello world";
  const message =
    tool === null
      ? { role: "assistant", content }
      : { role: "assistant", content: null, tool_calls: [{ id: "call_1", type: "function", function: tool }] };
  const choice = { index: 0, message, finish_reason: tool === null ? "stop" : "tool_calls" };
  return { id: "chatcmpl-1", object: "chat.completion", created: 1, model, choices: [choice], usage: CHAT_USAGE };
}

function toolOf(call: SeenCall): { readonly name: string; readonly arguments: string } | null {
  const tools = call.json?.["tools"] as { function: { name: string } }[] | undefined;
  const messages = call.json?.["messages"] as { role: string }[] | undefined;
  const answered = messages?.some((message) => message.role === "tool") === true;
  return tools?.[0] === undefined || answered ? null : { name: tools[0].function.name, arguments: '{"city":"Oslo"}' };
}

function chatEvents(call: SeenCall): readonly string[] {
  const tool = toolOf(call);
  const chunk = (delta: object, finish: string | null = null): string =>
    plainEvents({
      id: "chatcmpl-1",
      object: "chat.completion.chunk",
      created: 1,
      model: "m",
      choices: [{ index: 0, delta, finish_reason: finish }],
    });
  const words =
    tool === null
      ? ["hello", " ", "world"].map((content) => chunk({ content }))
      : [chunk({ tool_calls: [{ index: 0, id: "call_1", type: "function", function: tool }] })];
  const usage = plainEvents({ id: "chatcmpl-1", object: "chat.completion.chunk", choices: [], usage: CHAT_USAGE });
  return [
    chunk({ role: "assistant" }),
    ...words,
    chunk({}, tool === null ? "stop" : "tool_calls"),
    ...(wantsUsage(call) ? [usage] : []),
    "data: [DONE]\n\n",
  ];
}

function completionEvents(call: SeenCall): readonly string[] {
  const chunk = (choices: readonly object[], more: object = {}): string =>
    plainEvents({ id: "cmpl-1", object: "text_completion", choices, ...more });
  return [
    ...["hel", "lo"].map((text) => chunk([textChoice(text, null)])),
    ...(wantsUsage(call) ? [chunk([], { usage: CHAT_USAGE })] : []),
    "data: [DONE]\n\n",
  ];
}

function responseOf(status: "in_progress" | "completed"): object {
  const content = [{ type: "output_text", text: "hello world", annotations: [] }];
  const output = [{ type: "message", id: "msg_1", role: "assistant", status: "completed", content }];
  const done = status === "completed";
  return { id: "resp_1", object: "response", status, output: done ? output : [], usage: done ? USAGE : null };
}

function responseEvents(): readonly string[] {
  const place = { item_id: "msg_1", output_index: 0, content_index: 0 };
  return [
    namedEvents({ type: "response.created", response: responseOf("in_progress"), sequence_number: 0 }),
    ...["hello", " ", "world"].map((delta, at) =>
      namedEvents({ type: "response.output_text.delta", ...place, delta, sequence_number: at + 1 }),
    ),
    namedEvents({ type: "response.completed", response: responseOf("completed"), sequence_number: 4 }),
  ];
}

function messageOf(text: string, usage: object): object {
  const content = text === "" ? [] : [{ type: "text", text }];
  return {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "m",
    content,
    stop_reason: text === "" ? null : "end_turn",
    stop_sequence: null,
    usage,
  };
}

/** Input tokens are in the first event, output tokens in the last but one, with far more than 16 KiB between them. */
function messageEvents(): readonly string[] {
  const delta = (text: string): string =>
    namedEvents({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } });
  return [
    namedEvents({ type: "message_start", message: messageOf("", { input_tokens: 11, output_tokens: 1 }) }),
    namedEvents({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }),
    ...Array.from({ length: 40 }, () => delta("x".repeat(1000))),
    namedEvents({ type: "content_block_stop", index: 0 }),
    namedEvents({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 22 } }),
    namedEvents({ type: "message_stop" }),
  ];
}

/** Floats, or their bytes in base64 when the client requests that. */
function embedding(call: SeenCall): unknown {
  const floats = [0.5, -0.25, 1];
  return call.json?.["encoding_format"] === "base64"
    ? Buffer.from(new Float32Array(floats).buffer).toString("base64")
    : floats;
}
