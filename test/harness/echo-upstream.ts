/**
 * An upstream of the responses route that repeats `text` and `tools` of the request in its answer, as the API does, and
 * then stops before the usage. A client gets only what was sent before.
 */
import type { ServerResponse } from "node:http";
import { useServer } from "./use-server.ts";

interface EchoUpstream {
  /** Base to register as api_base. */
  readonly url: string;
  /** The last text that it writes. */
  readonly lastText: string;
}

const LAST = '"truncation":"disabled",';
const WORDS = 20;

/** Registers the hooks; the upstream is there once tests run. */
export function useEchoUpstream(): EchoUpstream {
  const origin = useServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => answer(JSON.parse(Buffer.concat(chunks).toString("utf8")), response));
  });
  return {
    lastText: LAST,
    get url() {
      return `${origin()}/v1`;
    },
  };
}

function answer(body: Readonly<Record<string, unknown>>, response: ServerResponse): void {
  const { text, tools } = body;
  const content = [{ type: "output_text", text: "word ".repeat(WORDS) }];
  const head = { id: "resp_1", object: "response", output: [{ type: "message", role: "assistant", content }] };
  const whole = `${JSON.stringify({ ...head, status: "completed", text, tools }).slice(0, -1)},${LAST}`;
  if (body["stream"] !== true) {
    response.writeHead(200, { "content-type": "application/json" }).write(whole);
    return;
  }
  const event = (data: object): string => `data: ${JSON.stringify(data)}\n\n`;
  const begun = { id: "resp_1", object: "response", status: "in_progress", output: [], text, tools, usage: null };
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(event({ type: "response.created", response: begun }));
  for (let word = 0; word < WORDS; word += 1)
    response.write(event({ type: "response.output_text.delta", delta: "word " }));
  response.write(`data: {"type":"response.completed","response":${whole}`);
}
