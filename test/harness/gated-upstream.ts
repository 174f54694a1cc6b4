/** An upstream whose answers wait until a test releases them. */
import { jsonAnswer, startHttpSink } from "./http-sink.ts";

export type GatedUpstream = Awaited<ReturnType<typeof startGatedUpstream>>;

const ANSWER = jsonAnswer({
  id: "gated",
  object: "chat.completion",
  choices: [{ index: 0, message: { role: "assistant", content: "at last" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 13, completion_tokens: 20, total_tokens: 33 },
});

export async function startGatedUpstream() {
  const released = Promise.withResolvers<void>();
  const sink = await startHttpSink(async () => await released.promise.then(() => ANSWER));
  return {
    url: `${sink.url}/v1`,
    /** When it received each request whose body contains this text, by `performance.now()`. */
    seen: (text: string): readonly number[] =>
      sink.asked.filter(({ body }) => body.includes(text)).map(({ atMs }) => atMs),
    /** Answers every request that waits; from now on each request is answered at once. */
    release: (): void => released.resolve(),
    close: sink.close,
  };
}
