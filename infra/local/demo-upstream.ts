/**
 * A small OpenAI-compatible server to try the gateway with: it answers every chat with a short text, word by word when the
 * client asks for a stream, and counts one word as one token. Loopback only; it checks no keys and keeps nothing.
 */
import { randomUUID } from "node:crypto";
import http from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { readBody, TooLarge } from "./http/http-body.ts";
import { type Listening, listen } from "./http/listen.ts";

/** The server's address and speed. Port 0 takes a free port. */
interface DemoUpstreamOptions {
  readonly port?: number;
  /** The pause between words. */
  readonly wordMs?: number;
}

const MODEL = "demo";
const WORD_MS = 40;
const MAX_BODY_BYTES = 32 * 1024 * 1024;

const chat = z.object({
  model: z.string().optional(),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
  messages: z.array(z.object({ role: z.string(), content: z.unknown() })).min(1),
});

const wordsOf = (text: string) => text.match(/\S+\s*/g) ?? [];

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  const parts = z.array(z.object({ text: z.string() })).safeParse(content);
  return parts.success ? parts.data.map((part) => part.text).join(" ") : "";
}

function reply(asked: string): string {
  const echo = wordsOf(asked).slice(0, 12).join("").trim();
  return `You said: "${echo}". This is the demo upstream of the gateway; every word of this answer is a token, and the request has left one usage row.`;
}

const json = (response: http.ServerResponse, status: number, body: unknown) =>
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));

async function stream(response: http.ServerResponse, events: Iterable<unknown>, wordMs: number): Promise<void> {
  const left = new AbortController();
  response.once("close", () => left.abort());
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  for (const event of events) {
    response.write(`data: ${JSON.stringify(event)}\n\n`);
    await delay(wordMs, undefined, { signal: left.signal });
  }
  response.end("data: [DONE]\n\n");
}

async function complete(request: http.IncomingMessage, response: http.ServerResponse, wordMs: number): Promise<void> {
  const parsed = chat.safeParse(JSON.parse((await readBody(request, MAX_BODY_BYTES)).toString("utf8")));
  if (!parsed.success) {
    json(response, 400, { error: { message: "messages: a non-empty array is needed", type: "invalid_request_error" } });
    return;
  }
  const { model = MODEL, messages } = parsed.data;
  const words = wordsOf(reply(textOf(messages.at(-1)?.content)));
  const promptTokens = messages.reduce((sum, message) => sum + wordsOf(textOf(message.content)).length, 0);
  const usage = {
    prompt_tokens: promptTokens,
    completion_tokens: words.length,
    total_tokens: promptTokens + words.length,
  };
  const base = { id: `chatcmpl-${randomUUID()}`, created: Math.floor(Date.now() / 1000), model };
  if (!parsed.data.stream) {
    const message = { role: "assistant", content: words.join("") };
    json(response, 200, {
      ...base,
      object: "chat.completion",
      choices: [{ index: 0, message, finish_reason: "stop" }],
      usage,
    });
    return;
  }
  const includeUsage = parsed.data.stream_options?.include_usage === true;
  const chunk = (delta: object, finish_reason: string | null) => ({
    ...base,
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta, finish_reason }],
    ...(includeUsage ? { usage: null } : {}),
  });
  const events = [
    ...words.map((content, index) => chunk(index === 0 ? { role: "assistant", content } : { content }, null)),
    chunk({}, "stop"),
    ...(includeUsage ? [{ ...base, object: "chat.completion.chunk", choices: [], usage }] : []),
  ];
  await stream(response, events, wordMs);
}

/** Starts the server on 127.0.0.1; its API base is `{url}/v1`. */
export async function startDemoUpstream(options: DemoUpstreamOptions = {}): Promise<Listening> {
  const server = http.createServer((request, response) => {
    const path = request.url?.split("?")[0];
    if (request.method === "GET" && path === "/v1/models") {
      json(response, 200, { object: "list", data: [{ id: MODEL, object: "model", created: 0, owned_by: "demo" }] });
    } else if (request.method === "POST" && path === "/v1/chat/completions") {
      complete(request, response, options.wordMs ?? WORD_MS).catch((error: unknown) => {
        if (response.headersSent || response.destroyed) response.destroy();
        else
          json(response, error instanceof TooLarge ? 413 : 400, {
            error: { message: "the body is not JSON", type: "invalid_request_error" },
          });
      });
    } else {
      json(response, 404, { error: { message: "unknown endpoint", type: "invalid_request_error" } });
    }
  });
  return listen(server, "127.0.0.1", options.port ?? 0);
}
