/** An upstream whose answers wait until a test releases them. */
import { createServer, type ServerResponse } from "node:http";
import { listen } from "../../infra/local/http/listen.ts";

export interface GatedUpstream {
  readonly url: string;
  /** When it received each request whose body contains this text, by `performance.now()`. */
  seen(text: string): readonly number[];
  /** Answers every request that waits; from now on each request is answered at once. */
  release(): void;
  close(): Promise<void>;
}

const ANSWER = JSON.stringify({
  id: "gated",
  object: "chat.completion",
  choices: [{ index: 0, message: { role: "assistant", content: "at last" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 13, completion_tokens: 20, total_tokens: 33 },
});

/** Starts it on a free loopback port. */
export async function startGatedUpstream(): Promise<GatedUpstream> {
  const seen: { readonly body: string; readonly atMs: number }[] = [];
  const waiting = new Set<ServerResponse>();
  let isOpen = false;
  const answer = (response: ServerResponse): void =>
    void response.writeHead(200, { "content-type": "application/json" }).end(ANSWER);
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      seen.push({ body: Buffer.concat(chunks).toString("utf8"), atMs: performance.now() });
      if (isOpen) answer(response);
      else waiting.add(response);
      response.once("close", () => waiting.delete(response));
    });
  });
  const listening = await listen(server, "127.0.0.1", 0);
  return {
    url: `${listening.url}/v1`,
    seen: (text) => seen.filter(({ body }) => body.includes(text)).map(({ atMs }) => atMs),
    release: () => {
      isOpen = true;
      for (const response of waiting) answer(response);
    },
    close: async () => await listening.close(),
  };
}
