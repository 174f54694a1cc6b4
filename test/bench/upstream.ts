/**
 * The bench's upstream, several processes behind one port: the first part of a path selects the behaviour, so that every
 * target reaches every behaviour through the same code. It does as little as possible for a request; a run never measures
 * it, and the row of the upstream alone shows how much faster it is.
 */
import cluster from "node:cluster";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { setTimeout as pause, setImmediate as turn } from "node:timers/promises";
import { watchParent } from "../../infra/local/process/watch-parent.ts";
import { clockMs } from "./load/answer-reader.ts";

const CHUNKS = 64;
const LONG_CHUNKS = 256;
const PACE_MS = 20;
/** How long `slow` takes: long enough that requests wait for a slot. */
const SLOW_MS = 100;
/** `lasting` is a stream that is silent for so long: its request lasts, and its chunks cost next to nothing. */
const LASTING_MS = 1300;

const usage = { prompt_tokens: 200, completion_tokens: 64, total_tokens: 264 };
const ANSWER = Buffer.from(
  JSON.stringify({
    id: "chatcmpl-bench",
    object: "chat.completion",
    created: 1,
    model: "bench",
    choices: [{ index: 0, message: { role: "assistant", content: "word ".repeat(150) }, finish_reason: "stop" }],
    usage,
  }),
);
const WHOLE_HEAD = { "content-type": "application/json", "content-length": ANSWER.length };
const CHUNK = { id: "chatcmpl-bench", object: "chat.completion.chunk", created: 1, model: "bench" };
const choices = [{ index: 0, delta: { content: "word " }, finish_reason: null }];
const event = (value: object): string => `data: ${JSON.stringify(value)}\n\n`;
const PLAIN_EVENT = event({ ...CHUNK, choices });
const LAST = `${event({ ...CHUNK, choices: [], usage })}data: [DONE]\n\n`;

const named = (value: { readonly type: string; readonly [name: string]: unknown }): string =>
  `event: ${value.type}\n${event(value)}`;
const TEXT = { index: 0, delta: { type: "text_delta", text: "word " } };
const MESSAGE = { id: "msg_bench", type: "message", role: "assistant", model: "bench", content: [], stop_reason: null };
/** A stream of Anthropic's API with as many pieces of text: its first events, each of those, and its last ones. */
const MESSAGE_EVENTS = {
  first:
    named({ type: "message_start", message: { ...MESSAGE, usage: { input_tokens: 200, output_tokens: 1 } } }) +
    named({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }),
  each: named({ type: "content_block_delta", ...TEXT }),
  last:
    named({ type: "content_block_stop", index: 0 }) +
    named({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 64 } }) +
    named({ type: "message_stop" }),
};

async function messageStream(response: ServerResponse): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream" }).write(MESSAGE_EVENTS.first);
  for (let at = 0; at < CHUNKS && !response.destroyed; at += 1) {
    response.write(MESSAGE_EVENTS.each);
    await turn();
  }
  response.end(MESSAGE_EVENTS.last);
}

async function stream(response: ServerResponse, chunks: number, paceMs: number): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (let at = 0; at < chunks && !response.destroyed; at += 1) {
    response.write(paceMs === 0 ? PLAIN_EVENT : event({ at: clockMs(), ...CHUNK, choices }));
    await (paceMs === 0 ? turn() : pause(paceMs));
  }
  response.end(LAST);
}

async function answer(behaviour: string | undefined, response: ServerResponse): Promise<void> {
  if (behaviour === "paced") return await stream(response, CHUNKS, PACE_MS);
  if (behaviour === "long") return await stream(response, LONG_CHUNKS, PACE_MS);
  if (behaviour === "messages") return await messageStream(response);
  if (behaviour === "unpaced") return await stream(response, CHUNKS, 0);
  if (behaviour === "lasting") return await stream(response, 1, LASTING_MS);
  if (behaviour === "slow") await pause(SLOW_MS);
  response.writeHead(200, WHOLE_HEAD).end(ANSWER);
}

function serve(request: IncomingMessage, response: ServerResponse): void {
  const behaviour = request.url?.split("/", 2)[1];
  request.resume().once("end", () => void answer(behaviour, response));
}

if (cluster.isPrimary) {
  watchParent(() => process.exit(0));
  const workers = Number(process.argv[2] ?? "1");
  let listening = 0;
  cluster.on("listening", (_worker, { port }) => {
    listening += 1;
    if (listening === workers) process.send?.({ ready: { port } });
  });
  for (let at = 0; at < workers; at += 1) cluster.fork();
} else {
  const server = createServer({ keepAliveTimeout: 120_000, requestTimeout: 0, headersTimeout: 0 }, serve);
  server.listen(0, "127.0.0.1", 8192);
}
