/** An HTTP server of a test's own: it records every request and gives the answers that the test chooses. */
import { createServer } from "node:http";
import { listen } from "../../infra/local/http/listen.ts";

interface SinkRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

export interface SinkAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface HttpSink {
  readonly url: string;
  readonly asked: SinkRequest[];
  /** Decides every answer; null never answers, and a promise does once it is resolved. */
  answer: (asked: SinkRequest) => SinkAnswer | null | Promise<SinkAnswer>;
  close(): Promise<void>;
}

/** Starts it on a free port; until the test chooses another answer, it answers 200 `{}`. */
export async function startHttpSink(): Promise<HttpSink> {
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on("end", () => {
      const asked = { method: request.method ?? "", url: request.url ?? "", headers: request.headers, body };
      sink.asked.push(asked);
      const send = ({ status = 200, headers = {}, body: text = "{}" }: SinkAnswer): void =>
        void response.writeHead(status, headers).end(text);
      const answer = sink.answer(asked);
      if (answer instanceof Promise) void answer.then(send);
      else if (answer !== null) send(answer);
    });
  });
  const listening = await listen(server, "127.0.0.1", 0);
  const sink: HttpSink = {
    url: listening.url,
    asked: [],
    answer: () => ({}),
    close: async () => await listening.close(),
  };
  return sink;
}
