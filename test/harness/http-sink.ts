/** An HTTP server of a test's own: it records every request and gives the answers that the test chooses. */
import { createServer, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { listen } from "../../infra/local/http/listen.ts";

interface SinkRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
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

export interface HttpSink {
  readonly url: string;
  readonly asked: SinkRequest[];
  /** Decides every answer; null never answers, and a promise does once it is resolved. A function writes the answer itself. */
  answer: (
    asked: SinkRequest,
  ) => SinkAnswer | null | Promise<SinkAnswer | null> | ((response: ServerResponse) => unknown);
  readonly close: () => Promise<void>;
}

/** Starts it on a free port; without an answer it answers 200 `{}`. */
export async function startHttpSink(answer: HttpSink["answer"] = () => ({})): Promise<HttpSink> {
  const server = createServer((request, response) => {
    const receive = async (): Promise<void> => {
      const body = await text(request);
      const { method = "", url = "", headers } = request;
      const asked = { method, url, headers, body, atMs: performance.now() };
      sink.asked.push(asked);
      const given = await sink.answer(asked);
      if (typeof given === "function") return void given(response);
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

/** An answer in JSON. */
export function jsonAnswer(body: unknown, status = 200): SinkAnswer {
  return { status, headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
}
