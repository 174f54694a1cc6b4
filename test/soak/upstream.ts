/**
 * The soak's upstream: chat completions and Anthropic's messages of random length and pace, streamed and in one piece, with calls
 * of tools. Some are refused, and some streams break off. It records only that a request came, by its mark.
 */
import type { ServerResponse } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { chatEvents, EVENT_STREAM, namedEvents, plainEvents, startHttpSink } from "../harness/http-sink.ts";
import { messageStream } from "../harness/messages-upstream.ts";
import { MESSAGES_PATH } from "./calls.ts";

export type SoakUpstream = Awaited<ReturnType<typeof startSoakUpstream>>;

/** The answer of an API: in one piece, and as the events of its stream. */
interface Form {
  readonly refusal: object;
  readonly document: object;
  readonly events: readonly string[];
}

const INPUT_TOKENS = 20;
const ARGUMENTS = '{"city":"Oslo"}';
const TEXT = "abc";

function chatForm(words: number, calls: boolean): Form {
  const called = { index: 0, id: "call_1", type: "function", function: { name: "weather", arguments: "" } };
  const usage = { prompt_tokens: INPUT_TOKENS, completion_tokens: words, total_tokens: INPUT_TOKENS + words };
  const finish_reason = calls ? "tool_calls" : "stop";
  const choice = (delta: object, finished: string | null = null): string =>
    plainEvents({ id: "chatcmpl-1", choices: [{ index: 0, delta, finish_reason: finished }] });
  const message = { role: "assistant", content: TEXT.repeat(words) };
  const tool_calls = [{ ...called, function: { name: "weather", arguments: ARGUMENTS } }];
  return {
    refusal: { error: { message: "later" } },
    document: {
      id: "chatcmpl-1",
      choices: [{ index: 0, message: calls ? { ...message, tool_calls } : message, finish_reason }],
      usage,
    },
    events: [
      choice({ role: "assistant" }),
      ...Array.from({ length: words }, (_, at) => choice({ content: TEXT.repeat(1 + (at % 5)) })),
      ...(calls
        ? [
            choice({ tool_calls: [called] }),
            choice({ tool_calls: [{ index: 0, function: { arguments: ARGUMENTS.slice(0, 5) } }] }),
            choice({ tool_calls: [{ index: 0, function: { arguments: ARGUMENTS.slice(5) } }] }),
          ]
        : []),
      choice({}, finish_reason),
      chatEvents({ choices: [], usage }),
    ],
  };
}

function messagesForm(words: number, calls: boolean): Form {
  const text = { type: "text", text: TEXT.repeat(words) };
  const tool = { type: "tool_use", id: "toolu_1", name: "weather", input: JSON.parse(ARGUMENTS) as unknown };
  const document = {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "m",
    stop_sequence: null,
    stop_reason: calls ? "tool_use" : "end_turn",
    content: calls ? [text, tool] : [text],
    usage: { input_tokens: INPUT_TOKENS, output_tokens: words },
  };
  return {
    refusal: { type: "error", error: { type: "rate_limit_error", message: "later" } },
    document,
    events: messageStream(document).map((event) => namedEvents(event)),
  };
}

async function answer(path: string, body: string, response: ServerResponse): Promise<void> {
  const fate = Math.random();
  const words = 5 + Math.floor(60 * Math.random());
  const calls = body.includes('"tools"') && Math.random() < 0.5;
  const form = path.endsWith(MESSAGES_PATH) ? messagesForm(words, calls) : chatForm(words, calls);
  if (fate < 0.01) {
    response.writeHead(429, { "content-type": "application/json" }).end(JSON.stringify(form.refusal));
    return;
  }
  const paceMs = 10 + Math.floor(50 * Math.random());
  if (!body.includes('"stream":true')) {
    await pause(words * paceMs);
    if (!response.destroyed)
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(form.document));
    return;
  }
  response.writeHead(200, EVENT_STREAM);
  const breaksAt = fate < 0.02 ? form.events.length / 2 : Number.POSITIVE_INFINITY;
  for (const [at, event] of form.events.entries()) {
    if (response.destroyed) return;
    if (at >= breaksAt) return void response.destroy();
    response.write(event);
    await pause(paceMs);
  }
  response.end();
}

export async function startSoakUpstream() {
  const seen = new Set<string>();
  let underWay = 0;
  const sink = await startHttpSink(({ url, body }) => async (response) => {
    // nobody reads the list, which would grow with the time
    sink.asked.length = 0;
    underWay += 1;
    response.on("close", () => {
      underWay -= 1;
    });
    const mark = /soak-[0-9a-f-]{36}/.exec(body)?.[0];
    if (mark !== undefined) seen.add(mark);
    await answer(url, body, response);
  });
  return {
    url: `${sink.url}/v1`,
    seen: seen as ReadonlySet<string>,
    underWay: (): number => underWay,
    close: sink.close,
  };
}
