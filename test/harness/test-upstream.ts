/**
 * An OpenAI-compatible upstream under a test's control. How it behaves is written in the model name that the gateway
 * sends upstream: words joined by `,`, for example `chunks=20,pace=5`. It records every request that it sees.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface SeenRequest {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: Record<string, unknown>;
  /** Chunks of the stream written so far. */
  chunksWritten: number;
  /** The gateway let go before the answer was complete. */
  cutOff: boolean;
  done: boolean;
}

export interface TestUpstream {
  readonly url: string;
  /** Requests whose messages mention this text, in order. */
  seen(text: string): readonly SeenRequest[];
  /** Most requests under way at once among those that mention this text. */
  peak(text: string): number;
  close(): Promise<void>;
}

interface Behaviour {
  readonly chunks: number;
  readonly paceMs: number;
  readonly status: number;
  readonly delayMs: number;
  readonly words: ReadonlySet<string>;
}

/** Starts it on a free loopback port. */
export async function startTestUpstream(): Promise<TestUpstream> {
  const requests: { readonly text: string; readonly seen: SeenRequest }[] = [];
  const peaks = new Map<string, { now: number; peak: number }>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const text = Buffer.concat(chunks).toString("utf8");
      const body = JSON.parse(text || "{}") as Record<string, unknown>;
      const seen: SeenRequest = {
        path: request.url ?? "",
        headers: request.headers,
        body,
        chunksWritten: 0,
        cutOff: false,
        done: false,
      };
      requests.push({ text, seen });
      const mark = /mark-[0-9a-z-]+/.exec(text)?.[0] ?? "";
      const load = peaks.get(mark) ?? { now: 0, peak: 0 };
      peaks.set(mark, load);
      load.now += 1;
      load.peak = Math.max(load.peak, load.now);
      response.on("close", () => {
        load.now -= 1;
        if (!seen.done) seen.cutOff = true;
      });
      void answer(behaviourOf(String(body["model"])), seen, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    seen: (text) => requests.filter((entry) => entry.text.includes(text)).map((entry) => entry.seen),
    peak: (text) => peaks.get(text)?.peak ?? 0,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

function behaviourOf(model: string): Behaviour {
  const words = model.split(",");
  const number = (name: string, fallback: number): number =>
    Number(words.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1) ?? fallback);
  return {
    chunks: number("chunks", 4),
    paceMs: number("pace", 0),
    status: number("status", 200),
    delayMs: number("delay", 0),
    words: new Set(words),
  };
}

async function answer(behaviour: Behaviour, seen: SeenRequest, response: ServerResponse): Promise<void> {
  const { words } = behaviour;
  if (words.has("hang")) return;
  if (words.has("reset")) return void response.socket?.resetAndDestroy();
  if (behaviour.delayMs > 0) await pause(behaviour.delayMs);
  if (words.has("no-options") && seen.body["stream_options"] !== undefined)
    return end(seen, response, 400, { error: { message: "unknown field stream_options" } });
  if (behaviour.status !== 200) {
    if (behaviour.status === 302) response.setHeader("location", "http://127.0.0.1:9/elsewhere");
    if (behaviour.status === 429) response.setHeader("retry-after", "7");
    return end(seen, response, behaviour.status, { detail: `status ${behaviour.status}` });
  }
  if (seen.body["stream"] === true) return await stream(behaviour, seen, response);
  end(seen, response, 200, {
    id: "chatcmpl-test",
    object: "chat.completion",
    model: seen.body["model"],
    choices: [{ index: 0, message: { role: "assistant", content: "hello world" }, finish_reason: "stop" }],
    ...(words.has("no-usage") ? {} : { usage: { prompt_tokens: 11, completion_tokens: 22, total_tokens: 33 } }),
  });
}

function end(seen: SeenRequest, response: ServerResponse, status: number, body: object): void {
  seen.done = true;
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

async function stream(behaviour: Behaviour, seen: SeenRequest, response: ServerResponse): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const event = (data: object): string =>
    `data: ${JSON.stringify({ id: "chatcmpl-test", object: "chat.completion.chunk", ...data })}\n\n`;
  const events = Array.from({ length: behaviour.chunks }, (_, at) =>
    event({ choices: [{ index: 0, delta: { content: `w${at} ` }, finish_reason: null }] }),
  );
  const wantsUsage = (seen.body["stream_options"] as { include_usage?: boolean } | undefined)?.include_usage === true;
  if (wantsUsage && !behaviour.words.has("no-usage"))
    events.push(event({ choices: [], usage: { prompt_tokens: 11, completion_tokens: 22, total_tokens: 33 } }));
  events.push("data: [DONE]\n\n");
  for (const [at, text] of events.entries()) {
    if (response.destroyed) return;
    if (behaviour.words.has("cut") && at === 2) return void response.socket?.resetAndDestroy();
    if (behaviour.words.has("bytes")) for (const byte of Buffer.from(text)) response.write(Buffer.of(byte));
    else response.write(text);
    seen.chunksWritten += 1;
    if (behaviour.words.has("stall") && at === 2) return;
    if (behaviour.paceMs > 0) await pause(behaviour.paceMs);
  }
  seen.done = true;
  response.end();
}

async function pause(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
}
