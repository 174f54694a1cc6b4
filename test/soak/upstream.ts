/**
 * The soak's upstream: streams of random length and pace, some of which break off or are refused. It records only that a
 * request came, by the word `soak-...` in its body.
 */
import { createServer, type ServerResponse } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { listen } from "../../infra/local/http/listen.ts";

export type SoakUpstream = Awaited<ReturnType<typeof startSoakUpstream>>;

const event = (delta: object): string => `data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`;

async function answer(response: ServerResponse): Promise<void> {
  const fate = Math.random();
  if (fate < 0.01) {
    response.writeHead(429, { "content-type": "application/json" }).end('{"error":{"message":"later"}}');
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  const chunks = 5 + Math.floor(60 * Math.random());
  const breaksAt = fate < 0.02 ? Math.floor(chunks / 2) : Number.POSITIVE_INFINITY;
  const paceMs = 10 + Math.floor(50 * Math.random());
  for (let at = 0; at < chunks && !response.destroyed; at += 1) {
    if (at >= breaksAt) {
      response.destroy();
      return;
    }
    response.write(event({ content: "word ".repeat(1 + (at % 5)) }));
    await pause(paceMs);
  }
  const usage = { prompt_tokens: 20, completion_tokens: chunks, total_tokens: 20 + chunks };
  response.end(`data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`);
}

export async function startSoakUpstream() {
  const seen = new Set<string>();
  let underWay = 0;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    underWay += 1;
    response.on("close", () => {
      underWay -= 1;
    });
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const mark = /soak-[0-9a-f-]{36}/.exec(Buffer.concat(chunks).toString("utf8"))?.[0];
      if (mark !== undefined) seen.add(mark);
      void answer(response);
    });
  });
  const listening = await listen(server, "127.0.0.1", 0);
  return {
    url: `${listening.url}/v1`,
    seen: seen as ReadonlySet<string>,
    underWay: (): number => underWay,
    close: async (): Promise<void> => await listening.close(),
  };
}
