/**
 * An upstream that makes answers in the background, as OpenAI's Responses API does: each has numbered events, and a stream of them
 * can be read from any of these on, while the answer is made and after that. The test decides when an answer is made.
 */
import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import { EVENT_STREAM, jsonAnswer, namedEvents, startHttpSink } from "./http-sink.ts";
import { useStarted } from "./use-started.ts";

const USAGE = { input_tokens: 3, output_tokens: 50, total_tokens: 53 };

interface StoredEvent {
  readonly type: string;
  readonly sequence_number: number;
  readonly [name: string]: unknown;
}

/** An answer, and who waits for the rest of its stream. */
interface BackgroundAnswer {
  readonly events: readonly StoredEvent[];
  readonly document: (status: string) => object;
  readonly readers: Set<{ readonly response: ServerResponse; after: number }>;
  isMade: boolean;
}

/** The first events are there at once, the others when the answer is made. */
const AT_ONCE = 6;

/** Registers the hooks; `make(id)` completes an answer, and `seen` has the paths of all calls. */
export function useBackgroundAnswers() {
  const answers = new Map<string, BackgroundAnswer>();
  const sink = useStarted(
    async () =>
      await startHttpSink(({ method, url }) => {
        const { pathname, searchParams } = new URL(url, "http://upstream.test");
        if (method === "POST") {
          const made = `resp_${randomUUID()}`;
          const created = answerOf(made);
          answers.set(made, created);
          return jsonAnswer(created.document("queued"));
        }
        const answer = answers.get(/^\/v1\/responses\/([^/]+)$/.exec(pathname)?.[1] ?? "");
        if (answer === undefined) return jsonAnswer({ error: { message: "not found" } }, 404);
        if (searchParams.get("stream") !== "true")
          return jsonAnswer(answer.document(answer.isMade ? "completed" : "in_progress"));
        return (response) => {
          response.writeHead(200, EVENT_STREAM);
          const reader = { response, after: Number(searchParams.get("starting_after") ?? -1) };
          answer.readers.add(reader);
          response.on("close", () => answer.readers.delete(reader));
          write(answer);
        };
      }),
  );
  return {
    base: (): string => `${sink().url}/v1`,
    seen: (text: string): readonly string[] =>
      sink()
        .asked.map(({ method, url }) => `${method} ${url}`)
        .filter((path) => path.includes(text)),
    make: (id: string): void => {
      const answer = answers.get(id);
      if (answer === undefined) return;
      answer.isMade = true;
      write(answer);
    },
    /** Breaks the connections of everybody who reads the answer. */
    breakOff: (id: string): void => {
      for (const { response } of answers.get(id)?.readers ?? []) response.socket?.resetAndDestroy();
    },
  };
}

/** Everybody gets what is there and new to them. */
function write(answer: BackgroundAnswer): void {
  const there = answer.isMade ? answer.events : answer.events.slice(0, AT_ONCE);
  for (const reader of answer.readers) {
    for (const event of there.filter(({ sequence_number: at }) => at > reader.after)) {
      reader.response.write(namedEvents(event));
      reader.after = event.sequence_number;
    }
    if (answer.isMade) reader.response.end();
  }
}

function answerOf(id: string): BackgroundAnswer {
  const item = { type: "message", id: `msg_${id}`, role: "assistant" };
  const part = (text: string) => ({ type: "output_text", text, annotations: [], logprobs: [] });
  const text = "the name is blue falcon";
  const done = { ...item, status: "completed", content: [part(text)] };
  const place = { item_id: item.id, output_index: 0, content_index: 0 };
  const document = (status: string) => ({
    id,
    object: "response",
    created_at: 1,
    background: true,
    status,
    output: status === "completed" ? [done] : [],
    usage: status === "completed" ? USAGE : null,
  });
  const events = [
    { type: "response.created", response: document("queued") },
    { type: "response.in_progress", response: document("in_progress") },
    { type: "response.output_item.added", output_index: 0, item: { ...item, status: "in_progress", content: [] } },
    { type: "response.content_part.added", ...place, part: part("") },
    ...["the name is ", "blue", " falcon"].map((delta) => ({
      type: "response.output_text.delta",
      ...place,
      delta,
      logprobs: [],
    })),
    { type: "response.output_text.done", ...place, text, logprobs: [] },
    { type: "response.content_part.done", ...place, part: part(text) },
    { type: "response.output_item.done", output_index: 0, item: done },
    { type: "response.completed", response: document("completed") },
  ];
  return {
    events: events.map((event, sequence_number) => ({ ...event, sequence_number })),
    document,
    readers: new Set(),
    isMade: false,
  };
}
