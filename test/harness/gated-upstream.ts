/** An upstream whose answers wait until a test releases them. */
import { jsonAnswer, startHttpSink } from "./http-sink.ts";

export interface GatedUpstream {
  readonly url: string;
  /** When it received each request whose body contains this text, by `performance.now()`. */
  seen(text: string): readonly number[];
  /** Answers every request that waits; from now on each request is answered at once. */
  release(): void;
  close(): Promise<void>;
}

const ANSWER = jsonAnswer({
  id: "gated",
  object: "chat.completion",
  choices: [{ index: 0, message: { role: "assistant", content: "at last" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 13, completion_tokens: 20, total_tokens: 33 },
});

export async function startGatedUpstream(): Promise<GatedUpstream> {
  const released = Promise.withResolvers<void>();
  const sink = await startHttpSink(async () => await released.promise.then(() => ANSWER));
  return {
    url: `${sink.url}/v1`,
    seen: (text) => sink.asked.filter(({ body }) => body.includes(text)).map(({ atMs }) => atMs),
    release: released.resolve,
    close: sink.close,
  };
}
