/**
 * The soak's upstream: chat completions and Anthropic's messages of random length and pace, streamed and in one piece, with calls
 * of tools. Some are refused, and some streams break off. It records only that a request came, by its mark.
 */
import type { ServerResponse } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { EVENT_STREAM, namedEvents, plainEvents, startHttpSink } from "../harness/http-sink.ts";
import { MESSAGES_PATH } from "./calls.ts";

export type SoakUpstream = Awaited<ReturnType<typeof startSoakUpstream>>;

/** The answer of an API: in one piece, and as the events of its stream before, with and after each of its words. */
interface Form {
  readonly refusal: object;
  readonly document: object;
  readonly head: readonly string[];
  readonly word: (at: number) => string;
  readonly end: readonly string[];
}

const INPUT_TOKENS = 20;
const ARGUMENTS = '{"city":"Oslo"}';
const TEXT = "word ";

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
    head: [choice({ role: "assistant" })],
    word: (at) => choice({ content: TEXT.repeat(1 + (at % 5)) }),
    end: [
      ...(calls
        ? [
            choice({ tool_calls: [called] }),
            choice({ tool_calls: [{ index: 0, function: { arguments: ARGUMENTS.slice(0, 5) } }] }),
            choice({ tool_calls: [{ index: 0, function: { arguments: ARGUMENTS.slice(5) } }] }),
          ]
        : []),
      choice({}, finish_reason),
      plainEvents({ choices: [], usage }),
      "data: [DONE]\n\n",
    ],
  };
}

function messagesForm(words: number, calls: boolean): Form {
  const usage = { input_tokens: INPUT_TOKENS, output_tokens: words };
  const stop_reason = calls ? "tool_use" : "end_turn";
  const message = { id: "msg_1", type: "message", role: "assistant", model: "m", stop_sequence: null };
  const tool = { type: "tool_use", id: "toolu_1", name: "weather" };
  const start = (index: number, content_block: object): string =>
    namedEvents({ type: "content_block_start", index, content_block });
  const delta = (index: number, of: object): string => namedEvents({ type: "content_block_delta", index, delta: of });
  const stop = (index: number): string => namedEvents({ type: "content_block_stop", index });
  const text = { type: "text", text: TEXT.repeat(words) };
  const begun = { ...message, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } };
  return {
    refusal: { type: "error", error: { type: "rate_limit_error", message: "later" } },
    document: {
      ...message,
      content: calls ? [text, { ...tool, input: JSON.parse(ARGUMENTS) as unknown }] : [text],
      stop_reason,
      usage,
    },
    head: [namedEvents({ type: "message_start", message: begun }), start(0, { type: "text", text: "" })],
    word: (at) => delta(0, { type: "text_delta", text: TEXT.repeat(1 + (at % 5)) }),
    end: [
      stop(0),
      ...(calls
        ? [
            start(1, { ...tool, input: {} }),
            delta(1, { type: "input_json_delta", partial_json: ARGUMENTS.slice(0, 5) }),
            delta(1, { type: "input_json_delta", partial_json: ARGUMENTS.slice(5) }),
            stop(1),
          ]
        : []),
      namedEvents({ type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage }),
      namedEvents({ type: "message_stop" }),
    ],
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
  for (const event of form.head) response.write(event);
  const breaksAt = fate < 0.02 ? Math.floor(words / 2) : Number.POSITIVE_INFINITY;
  for (let at = 0; at < words && !response.destroyed; at += 1) {
    if (at >= breaksAt) {
      response.destroy();
      return;
    }
    response.write(form.word(at));
    await pause(paceMs);
  }
  for (const event of form.end) response.write(event);
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
