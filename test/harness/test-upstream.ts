/**
 * An OpenAI-compatible upstream that a test controls. Its behaviour is written in the address at which it is called ({@link
 * startTestUpstream}), otherwise in the model name that the gateway sends upstream (upstream-behaviour.ts). It records every
 * request.
 */
import { startHttpSink } from "./http-sink.ts";
import { answer, type SeenRequest } from "./upstream-answers.ts";
import { behaviourNow, behaviourOf } from "./upstream-behaviour.ts";

export type TestUpstream = Awaited<ReturnType<typeof startTestUpstream>>;

/** `/at/<name>/<behaviour>` before the path that a client requests. */
const ADDRESS = /^\/at\/([^/]+)\/([^/]+)/;

export async function startTestUpstream() {
  const requests: { readonly text: string; readonly name: string; readonly seen: SeenRequest }[] = [];
  const loads = new Map<string, { readonly now: Set<SeenRequest>; peak: number }>();
  const sink = await startHttpSink(({ url: path, headers, body: text }) => async (response) => {
    const body = text.trimStart().startsWith("{") ? (JSON.parse(text) as Record<string, unknown>) : {};
    const [, name = "", words = String(body["model"])] = ADDRESS.exec(path) ?? [];
    const times = { fromMs: Date.now(), untilMs: Number.POSITIVE_INFINITY };
    const seen: SeenRequest = { path, headers, body, chunksWritten: 0, cutOff: false, done: false, ...times };
    const mark = /mark-[0-9a-z-]+/.exec(text)?.[0] ?? "";
    const earlier = requests.filter((entry) => entry.name === name && entry.text.includes(mark)).length;
    requests.push({ text, name, seen });
    const load = loads.get(mark) ?? { now: new Set(), peak: 0 };
    loads.set(mark, load);
    // An answer that is completely written is over, though its connection reports it later.
    for (const other of load.now) if (other.done) load.now.delete(other);
    load.now.add(seen);
    load.peak = Math.max(load.peak, load.now.size);
    response.on("close", () => {
      load.now.delete(seen);
      if (seen.done) return;
      seen.cutOff = true;
      seen.untilMs = Date.now();
    });
    await answer(behaviourNow(behaviourOf(words), earlier), seen, response);
  });
  const origin = sink.url;
  return {
    url: `${origin}/v1`,
    /** A separate address with a behaviour of its own. */
    at: (name: string, behaviour: string): string => `${origin}/at/${name}/${behaviour}/v1`,
    /** Requests whose messages contain this text, in order. */
    seen: (text: string): readonly SeenRequest[] =>
      requests.filter((entry) => entry.text.includes(text)).map((entry) => entry.seen),
    /** How many of them arrived at each address of `at`, by the address's name. */
    attempts: (text: string): Readonly<Record<string, number>> => {
      const counts: Record<string, number> = {};
      for (const entry of requests) if (entry.text.includes(text)) counts[entry.name] = (counts[entry.name] ?? 0) + 1;
      return counts;
    },
    /** The most requests with this text that ran at the same time. */
    peak: (text: string): number => loads.get(text)?.peak ?? 0,
    close: sink.close,
  };
}
