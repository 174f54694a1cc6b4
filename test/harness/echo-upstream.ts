/**
 * An upstream of the responses route that repeats `text` and `tools` of the request in its answer, as the API does, and
 * then stops before the usage. A client gets only what was sent before.
 */
import { type HttpSink, jsonAnswer, type SinkAnswer, startHttpSink } from "./http-sink.ts";

/** The last text that it writes. */
export const LAST_ECHO = '"truncation":"disabled",';
const WORDS = 20;

export const startEchoUpstream = async (): Promise<HttpSink> =>
  await startHttpSink(({ body }) => answer(JSON.parse(body) as Record<string, unknown>));

function answer({ text, tools, stream }: Readonly<Record<string, unknown>>): SinkAnswer {
  const content = [{ type: "output_text", text: "word ".repeat(WORDS) }];
  const head = { id: "resp_1", object: "response", output: [{ type: "message", role: "assistant", content }] };
  const whole = `${JSON.stringify({ ...head, status: "completed", text, tools }).slice(0, -1)},${LAST_ECHO}`;
  if (stream !== true) return { ...jsonAnswer({}), body: whole, open: true };
  const event = (data: object): string => `data: ${JSON.stringify(data)}\n\n`;
  const begun = { id: "resp_1", object: "response", status: "in_progress", output: [], text, tools, usage: null };
  const body = [
    event({ type: "response.created", response: begun }),
    event({ type: "response.output_text.delta", delta: "word " }).repeat(WORDS),
    `data: {"type":"response.completed","response":${whole}`,
  ].join("");
  return { headers: { "content-type": "text/event-stream" }, body, open: true };
}
