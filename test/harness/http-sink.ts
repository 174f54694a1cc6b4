/** An HTTP server of a test's own: it records every request and gives the answers that the test chooses. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { listen } from "../../infra/local/http/listen.ts";

export interface SinkRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer<ArrayBuffer>;
  /** The bytes as text. */
  readonly body: string;
  /** When it had arrived whole, by `performance.now()`. */
  readonly atMs: number;
}

export interface SinkAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The answer does not end after its body. */
  readonly open?: boolean;
}

/** Null never answers, a function writes the answer itself. */
type Given = SinkAnswer | null | ((response: ServerResponse) => unknown);

export interface HttpSink {
  readonly url: string;
  readonly asked: SinkRequest[];
  answer: (asked: SinkRequest) => Given | Promise<Given>;
  readonly close: () => Promise<void>;
}

/** Starts it on a free port; without an answer it answers 200 `{}`. */
export async function startHttpSink(answer: HttpSink["answer"] = () => ({})): Promise<HttpSink> {
  const server = createServer((request, response) => {
    const receive = async (): Promise<void> => {
      const bytes = (await buffer(request)) as Buffer<ArrayBuffer>;
      const { method = "", url = "", headers } = request;
      const asked = { method, url, headers, bytes, body: new TextDecoder().decode(bytes), atMs: performance.now() };
      sink.asked.push(asked);
      const given = await sink.answer(asked);
      if (typeof given === "function") return void (await given(response));
      if (given === null) return;
      response.writeHead(given.status ?? 200, given.headers);
      if (given.open === true) response.write(given.body ?? "{}");
      else response.end(given.body ?? "{}");
    };
    receive().catch(() => response.destroy());
  });
  const listening = await listen(server, "127.0.0.1", 0);
  const sink: HttpSink = { url: listening.url, asked: [], answer, close: async () => await listening.close() };
  return sink;
}

export function jsonAnswer(body: unknown, status = 200): SinkAnswer {
  return { status, headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
}

export const EVENT_STREAM = { "content-type": "text/event-stream" } as const;

export function eventStream(body: string): SinkAnswer {
  return { headers: EVENT_STREAM, body };
}

/** Events without names, as chat has them. */
export function plainEvents(...events: readonly object[]): string {
  return events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
}

/** The same, and the end of the stream. */
export function chatEvents(...events: readonly object[]): string {
  return `${plainEvents(...events)}data: [DONE]\n\n`;
}

/** Events with names, as messages and responses have them. */
export function namedEvents(...events: readonly { readonly [name: string]: unknown; readonly type: string }[]): string {
  return events.map((event) => `event: ${event.type}\n${plainEvents(event)}`).join("");
}
