/**
 * The answers of a test upstream: one JSON document or one event stream, as its behaviour says. Each reports a usage of 11
 * and 22 tokens unless the behaviour says otherwise.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { EVENT_STREAM, plainEvents } from "./http-sink.ts";
import type { Behaviour } from "./upstream-behaviour.ts";

/** What a test upstream records of a request. */
export interface SeenRequest {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: Record<string, unknown>;
  /** Chunks of the stream written so far. */
  chunksWritten: number;
  /** The gateway closed the connection before the answer was complete. */
  cutOff: boolean;
  done: boolean;
  /** When it had arrived whole, and when its answer was completely written or its connection had ended; epoch ms. */
  readonly fromMs: number;
  untilMs: number;
}

/** What upstreams say of their limits and of the request. */
export const SAID = {
  "retry-after": "7",
  "retry-after-ms": "6500",
  "x-should-retry": "false",
  "request-id": "req_1",
  "openai-processing-ms": "12",
  "anthropic-ratelimit-requests-remaining": "3",
} as const;

function errorOf(status: string | undefined): object | null {
  return status === undefined ? null : { error: { message: "overloaded", code: Number(status) } };
}

/** The head of an answer whose body never begins. */
function begunAndReset(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "application/json" }).flushHeaders();
  setImmediate(() => response.socket?.resetAndDestroy());
}

function usageOf(behaviour: Behaviour): object {
  const [prompt_tokens, completion_tokens] = [behaviour.number("in", 11), behaviour.number("out", 22)];
  return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
}

export async function answer(behaviour: Behaviour, seen: SeenRequest, response: ServerResponse): Promise<void> {
  const { words } = behaviour;
  if (words.has("hang")) return;
  if (words.has("reset")) return void response.socket?.resetAndDestroy();
  if (words.has("nonsense")) return void response.socket?.end("these bytes are no HTTP\r\n\r\n");
  const delayMs = behaviour.number("delay", 0);
  if (delayMs > 0) await pause(delayMs);
  if (words.has("no-options") && seen.body["stream_options"] !== undefined)
    return end(seen, response, behaviour.number("refuse", 400), { error: { message: "unknown field stream_options" } });
  if (words.has("newer-limit") && seen.body["max_tokens"] !== undefined) {
    const message = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.";
    return end(seen, response, 400, { error: { message, param: "max_tokens" } });
  }
  if (words.has("says")) for (const [name, value] of Object.entries(SAID)) response.setHeader(name, value);
  const status = behaviour.number("status", 200);
  if (status !== 200) return fail(behaviour, status, seen, response);
  if (words.has("empty-reset")) return begunAndReset(response);
  const error = errorOf(behaviour.text("error"));
  if (error !== null && seen.body["stream"] !== true) return end(seen, response, 200, error);
  if (seen.body["stream"] === true) return await stream(behaviour, seen, response);
  const document = {
    id: "chatcmpl-test",
    object: "chat.completion",
    model: seen.body["model"],
    choices: [{ index: 0, message: { role: "assistant", content: content(behaviour) }, finish_reason: "stop" }],
    ...(words.has("no-usage") ? {} : { usage: usageOf(behaviour) }),
  };
  if (words.has("half")) return half(JSON.stringify(document), response);
  if (words.has("gzip")) return zipped(JSON.stringify(document), seen, response);
  end(seen, response, 200, document);
}

/** The text of an answer of `mb` megabytes; a short text without `mb`. */
function content(behaviour: Behaviour): string {
  const megabytes = behaviour.number("mb", 0);
  return megabytes === 0 ? "hello world" : "0123456789abcdef".repeat(megabytes * 65_536);
}

function fail(behaviour: Behaviour, status: number, seen: SeenRequest, response: ServerResponse): void {
  if (status >= 300 && status < 400) response.setHeader("location", "/at/elsewhere/plain/v1/chat/completions");
  const retryAfter = behaviour.text("retry-after") ?? (status === 429 ? "7" : undefined);
  if (retryAfter !== undefined) response.setHeader("retry-after", retryAfter);
  if (behaviour.words.has("endless"))
    response.writeHead(status, { "content-type": "application/json" }).write('{"detail":"');
  else end(seen, response, status, { detail: `status ${status}` });
}

/** The answer is completely written in this moment. */
function done(seen: SeenRequest): void {
  seen.done = true;
  seen.untilMs = Date.now();
}

function end(seen: SeenRequest, response: ServerResponse, status: number, body: object): void {
  done(seen);
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

function half(text: string, response: ServerResponse): void {
  response.writeHead(200, { "content-type": "application/json", "content-length": String(text.length) });
  response.write(text.slice(0, text.length / 2), () => response.socket?.resetAndDestroy());
}

function zipped(text: string, seen: SeenRequest, response: ServerResponse): void {
  done(seen);
  response.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" }).end(gzipSync(text));
}

async function stream(behaviour: Behaviour, seen: SeenRequest, response: ServerResponse): Promise<void> {
  const { words } = behaviour;
  response.writeHead(200, EVENT_STREAM);
  if (words.has("garbage")) {
    done(seen);
    return void response.end(garbage());
  }
  const paceMs = behaviour.number("pace", 0);
  const first = errorOf(behaviour.text("error"));
  if (first !== null) response.write(plainEvents(first));
  for (const [at, text] of eventsOf(behaviour, seen).entries()) {
    if (response.destroyed) return;
    if (at === 2 && words.has("cut")) return void response.socket?.resetAndDestroy();
    if (at === 2 && words.has("cut-mid"))
      return void response.write(text.slice(0, text.length / 2), () => response.socket?.resetAndDestroy());
    if (words.has("bytes")) for (const byte of Buffer.from(text)) response.write(Buffer.of(byte));
    else response.write(text);
    seen.chunksWritten += 1;
    if (at === 2 && words.has("stall")) return;
    if (at === 2 && words.has("late-error")) response.write(plainEvents(errorOf("500") ?? {}));
    if (paceMs > 0) await pause(paceMs);
  }
  done(seen);
  response.end();
}

function eventsOf(behaviour: Behaviour, seen: SeenRequest): readonly string[] {
  const event = (data: object): string =>
    plainEvents({ id: "chatcmpl-test", object: "chat.completion.chunk", ...data });
  const wantsUsage = (seen.body["stream_options"] as { include_usage?: boolean } | undefined)?.include_usage === true;
  return [
    ...Array.from({ length: behaviour.number("chunks", 4) }, (_, at) =>
      event({ choices: [{ index: 0, delta: { content: `w${at} ` }, finish_reason: null }] }),
    ),
    ...(wantsUsage && !behaviour.words.has("no-usage") ? [event({ choices: [], usage: usageOf(behaviour) })] : []),
    "data: [DONE]\n\n",
  ];
}

/** Every byte value, line ends in odd places, half a UTF-8 sequence: nothing that can be read as events. */
export function garbage(): Buffer {
  return Buffer.concat([
    Buffer.from(Array.from({ length: 256 }, (_, at) => at)),
    Buffer.from('data: {"usage":\r\rdata\n: comment\n\ndata: not json\r\n\r\n'),
    Buffer.of(0xf0, 0x9f),
  ]);
}
