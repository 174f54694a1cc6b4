/**
 * Translated streams as the official clients read them (docs/rules/dialects.md#streams): the client's document is the one that
 * the same answer has without a stream, and a stream that breaks is an error for it.
 */
import Anthropic from "@anthropic-ai/sdk";
import fc from "fast-check";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { atOnce } from "../../../shared/steps.ts";
import type { JsonObject } from "../wire/json/document.ts";
import type { StreamTranslation } from "./contract.ts";
import { chatAnswer } from "./to-chat/answer.ts";
import { ChatStream } from "./to-chat/stream.ts";
import { messagesAnswer } from "./to-messages/answer.ts";
import { MessagesStream } from "./to-messages/stream.ts";

const RUNS = { numRuns: 60 };

interface AnyAnswer {
  readonly thinking: string;
  readonly text: string;
  readonly calls: readonly { readonly name: string; readonly input: JsonObject }[];
  readonly isCut: boolean;
  readonly usage: { readonly input: number; readonly cached: number; readonly output: number };
  /** Where texts are cut, and which call gets the next piece. */
  readonly chances: readonly number[];
}

const words = fc.string({ unit: "grapheme", maxLength: 12 });
const anyAnswer: fc.Arbitrary<AnyAnswer> = fc.record({
  thinking: words,
  text: words,
  calls: fc.array(
    fc.record({
      name: fc.constantFrom("f", "look_up"),
      input: fc.dictionary(
        words.filter((name) => name !== "__proto__"),
        fc.oneof(words, fc.integer(), fc.array(fc.boolean())),
      ),
    }),
    { maxLength: 3 },
  ),
  isCut: fc.boolean(),
  usage: fc.record({ input: fc.nat(1000), cached: fc.nat(1000), output: fc.nat(1000) }),
  chances: fc.array(fc.nat(1000), { minLength: 1, maxLength: 40 }),
});

/** A source of numbers below a bound. */
function dice(chances: readonly number[]): (bound: number) => number {
  let at = 0;
  return (bound) => {
    at += 1;
    return (chances[at % chances.length] ?? 0) % bound;
  };
}

/** A text in one to three pieces. */
function cut(text: string, roll: (bound: number) => number): string[] {
  const [a, b] = [roll(text.length + 1), roll(text.length + 1)].toSorted((one, other) => one - other);
  return [text.slice(0, a), text.slice(a, b), text.slice(b)].filter((piece) => piece !== "");
}

/** The data of a chat completion's stream, its calls interleaved. */
function chunksOf({ thinking, text, calls, isCut, usage, chances }: AnyAnswer): string[] {
  const roll = dice(chances);
  const deltas: object[] = [{ role: "assistant", content: "" }];
  for (const piece of cut(thinking, roll)) deltas.push({ reasoning_content: piece });
  for (const piece of cut(text, roll)) deltas.push({ content: piece });
  const waiting = calls.map(({ name, input }, index) => [
    { index, id: `c${String(index)}`, type: "function", function: { name, arguments: "" } },
    ...cut(JSON.stringify(input), roll).map((piece) => ({ index, function: { arguments: piece } })),
  ]);
  // calls start in order, and any that has started can have the next piece
  for (let started = 0; waiting.some(({ length }) => length > 0); ) {
    const open = waiting.slice(0, started + 1).filter(({ length }) => length > 0);
    const next = open[roll(open.length)];
    if (next === waiting[started]) started += 1;
    if (next !== undefined) deltas.push({ tool_calls: [next.shift()] });
  }
  const reason = isCut ? "length" : calls.length > 0 ? "tool_calls" : "stop";
  const frame = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 5, model: "gpt" };
  const chunks = deltas.map((delta) => ({ ...frame, choices: [{ index: 0, delta, finish_reason: null }] }));
  const last = { ...frame, choices: [{ index: 0, delta: {}, finish_reason: reason }] };
  const report = { ...frame, choices: [], usage: chatUsageOf(usage) };
  return [...[...chunks, last, report].map((chunk) => JSON.stringify(chunk)), "[DONE]"];
}

function chatUsageOf({ input, cached, output }: AnyAnswer["usage"]): JsonObject {
  return {
    prompt_tokens: input + cached,
    completion_tokens: output,
    total_tokens: input + cached + output,
    prompt_tokens_details: { cached_tokens: cached },
  };
}

/** The same answer without a stream. */
function completionOf({ thinking, text, calls, isCut, usage }: AnyAnswer): JsonObject {
  const tool_calls = calls.map(({ name, input }, index) => ({
    id: `c${String(index)}`,
    type: "function",
    function: { name, arguments: JSON.stringify(input) },
  }));
  const message = { role: "assistant", content: text, reasoning_content: thinking, tool_calls };
  const finish_reason = isCut ? "length" : calls.length > 0 ? "tool_calls" : "stop";
  return {
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 5,
    model: "gpt",
    choices: [{ index: 0, message, finish_reason }],
    usage: chatUsageOf(usage),
  };
}

function messageOf({ thinking, text, calls, isCut, usage }: AnyAnswer): JsonObject {
  return {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "claude",
    content: [
      ...(thinking === "" ? [] : [{ type: "thinking", thinking, signature: "s1" }]),
      ...(text === "" ? [] : [{ type: "text", text }]),
      ...calls.map(({ name, input }, index) => ({ type: "tool_use", id: `t${String(index)}`, name, input })),
    ],
    stop_reason: isCut ? "max_tokens" : calls.length > 0 ? "tool_use" : "end_turn",
    stop_sequence: null,
    usage: { input_tokens: usage.input, cache_read_input_tokens: usage.cached, output_tokens: usage.output },
  };
}

/** The data of a message's stream. */
function eventsOf(answer: AnyAnswer): string[] {
  const roll = dice(answer.chances);
  const { content, stop_reason, usage, ...head } = messageOf(answer);
  const started = { ...head, content: [], stop_reason: null, usage: { ...(usage as JsonObject), output_tokens: 1 } };
  const blocks = (content as JsonObject[]).flatMap((block, index) => {
    const { start, deltas } = blockEvents(block, roll);
    return [
      { type: "content_block_start", index, content_block: start },
      ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
      { type: "content_block_stop", index },
    ];
  });
  const events = [
    { type: "message_start", message: started },
    { type: "ping" },
    ...blocks,
    {
      type: "message_delta",
      delta: { stop_reason, stop_sequence: null },
      usage: { output_tokens: answer.usage.output },
    },
    { type: "message_stop" },
  ];
  return events.map((event) => JSON.stringify(event));
}

function blockEvents(block: JsonObject, roll: (bound: number) => number) {
  if (block["type"] === "text") {
    const deltas = cut(String(block["text"]), roll).map((text) => ({ type: "text_delta", text }));
    return { start: { type: "text", text: "" }, deltas };
  }
  if (block["type"] === "thinking") {
    const deltas = cut(String(block["thinking"]), roll).map((thinking) => ({ type: "thinking_delta", thinking }));
    const signed = { type: "signature_delta", signature: block["signature"] };
    return { start: { type: "thinking", thinking: "", signature: "" }, deltas: [...deltas, signed] };
  }
  const written = JSON.stringify(block["input"]);
  // Anthropic sends no input at all for a tool without parameters
  const pieces = written === "{}" ? [""] : cut(written, roll);
  return {
    start: { ...block, input: {} },
    deltas: pieces.map((partial_json) => ({ type: "input_json_delta", partial_json })),
  };
}

/** The client's result for these events, and the end of the body. */
function translated(stream: StreamTranslation, events: readonly string[]): string {
  return events.map((data) => atOnce(stream.event(null, data))).join("") + stream.end();
}

/** The data of a stream that calls a tool as vLLM does: name and arguments apart. */
function calling(pieces: readonly string[], reason: string): string[] {
  const deltas = [
    { role: "assistant", content: "" },
    { content: null, tool_calls: [{ id: "t0", type: "function", index: 0, function: { name: "look" } }] },
    ...pieces.map((input) => ({ content: null, tool_calls: [{ index: 0, function: { arguments: input } }] })),
  ];
  const choices = [
    ...deltas.map((delta) => ({ index: 0, delta, finish_reason: null })),
    { index: 0, delta: {}, finish_reason: reason, stop_reason: null },
  ];
  return [...choices.map((choice) => JSON.stringify({ id: "chatcmpl-1", choices: [choice] })), "[DONE]"];
}

const answering = (text: string) => () =>
  Promise.resolve(new Response(text, { headers: { "content-type": "text/event-stream" } }));

async function readByAnthropic(text: string): Promise<unknown> {
  const client = new Anthropic({ apiKey: "k", maxRetries: 0, fetch: answering(text) });
  const { id, type, role, model, content, stop_reason, stop_sequence, usage } = await client.messages
    .stream({ model: "m", max_tokens: 1, messages: [{ role: "user", content: "a" }] })
    .finalMessage();
  return { id, type, role, model, content, stop_reason, stop_sequence, usage };
}

async function readByOpenAi(text: string): Promise<JsonObject> {
  const client = new OpenAI({ apiKey: "k", maxRetries: 0, fetch: answering(text) });
  const read = await client.chat.completions
    .stream({ model: "m", messages: [{ role: "user", content: "a" }] })
    .finalChatCompletion();
  return JSON.parse(JSON.stringify(read)) as JsonObject;
}

/** The parts of a completion that a stream has too; OpenAI's own clients do not know reasoning. */
function readable(completion: JsonObject): object {
  const { id, model, created, choices, usage } = completion;
  const [choice] = choices as { readonly finish_reason: unknown; readonly message: JsonObject }[];
  const { content, tool_calls } = choice?.message ?? {};
  const calls = ((tool_calls ?? []) as { id: unknown; function: JsonObject }[]).map(
    ({ id: callId, function: called }) => ({
      callId,
      name: called["name"],
      input: JSON.parse(String(called["arguments"])) as unknown,
    }),
  );
  return { id, model, created, finish: choice?.finish_reason, content: content ?? "", calls, usage };
}

describe("a chat completion's stream, read by Anthropic's client", () => {
  it("is the document of the same answer without a stream, however it is cut and interleaved", async () => {
    await fc.assert(
      fc.asyncProperty(anyAnswer, async (answer) => {
        const read = await readByAnthropic(translated(new MessagesStream(), chunksOf(answer)));
        const whole = atOnce(messagesAnswer(completionOf(answer)));
        expect(JSON.parse(JSON.stringify(read))).toMatchObject(whole);
      }),
      RUNS,
    );
  });

  it("has calls whose arguments begin with white space, or are nothing else", async () => {
    const piece = (index: number, args: string, head: object = {}) => ({
      index,
      ...head,
      function: { arguments: args },
    });
    const called = (index: number, args: string) => piece(index, args, { id: `t${index}`, type: "function" });
    const deltas = [
      called(0, "\n"),
      piece(0, " \n"),
      piece(0, ' {"a": '),
      piece(0, " 1}"),
      called(1, " "),
      piece(1, "\n"),
    ];
    const chunks = deltas.map((call) => ({ choices: [{ index: 0, delta: { tool_calls: [call] } }] }));
    const end = { choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] };
    const events = [...[...chunks, end].map((chunk) => JSON.stringify(chunk)), "[DONE]"];
    expect(await readByAnthropic(translated(new MessagesStream(), events))).toMatchObject({
      content: [
        { type: "tool_use", id: "t0", input: { a: 1 } },
        { type: "tool_use", id: "t1", input: {} },
      ],
    });
  });

  // what vLLM sends under `tool_choice: "required"` for a tool that is not strict, whose model has written a text
  it.each([
    ["a text", ['"', "a", '"'], "tool_calls"],
    ["a text that is cut", ['"', "a"], "length"],
    ["an object that is cut without a reason", ['{"a":', "1"], "tool_calls"],
    ["an object with a raw line end in a text", ['{"a":"', "\n", '"}'], "tool_calls"],
    ["two objects", ['{"a":1}', '{"a":2}'], "tool_calls"],
  ])("names arguments that are %s", async (_, pieces, reason) => {
    await expect(readByAnthropic(translated(new MessagesStream(), calling(pieces, reason)))).rejects.toThrow(
      "upstream stream interrupted: the arguments of a tool call are not a JSON object",
    );
  });

  it("has what came of arguments that the limit has cut", async () => {
    const read = await readByAnthropic(translated(new MessagesStream(), calling(['{"a":1,', '"b":"c'], "length")));
    expect(read).toMatchObject({ content: [{ type: "tool_use", input: { a: 1 } }], stop_reason: "max_tokens" });
  });

  it("is an error wherever the stream breaks off", async () => {
    await fc.assert(
      fc.asyncProperty(anyAnswer, fc.nat(100), async (answer, at) => {
        const chunks = chunksOf(answer);
        const text = translated(new MessagesStream(), chunks.slice(0, at % chunks.length));
        await expect(readByAnthropic(text)).rejects.toThrow("upstream stream interrupted");
      }),
      RUNS,
    );
  });
});

describe("a message's stream, read by OpenAI's client", () => {
  const stream = () => new ChatStream({ createdSecs: 5, usageAsked: true });

  it("is the document of the same answer without a stream, however it is cut", async () => {
    await fc.assert(
      fc.asyncProperty(anyAnswer, async (answer) => {
        const read = await readByOpenAi(translated(stream(), eventsOf(answer)));
        expect(readable(read)).toEqual(readable(atOnce(chatAnswer(messageOf(answer), 5))));
      }),
      RUNS,
    );
  });

  it("is an error wherever the stream breaks off", async () => {
    await fc.assert(
      fc.asyncProperty(anyAnswer, fc.nat(100), async (answer, at) => {
        const events = eventsOf(answer);
        const text = translated(stream(), events.slice(0, at % events.length));
        await expect(readByOpenAi(text)).rejects.toThrow("upstream stream interrupted");
      }),
      RUNS,
    );
  });
});

describe("a message's stream with very many names of counts", () => {
  it("costs no more with each report", () => {
    const stream = new ChatStream({ createdSecs: 5, usageAsked: true });
    const costs = Array.from({ length: 1500 }, (_, event) => {
      const members = Object.fromEntries(["a", "b", "c", "d", "e"].map((name) => [`${name}${String(event)}`, 1]));
      const data = JSON.stringify({ type: "message_delta", delta: members, usage: members });
      const before = process.cpuUsage().user;
      atOnce(stream.event(null, data));
      return process.cpuUsage().user - before;
    });
    const [first = 0, last = 0] = [costs.slice(0, 100), costs.slice(-100)].map((some) =>
      some.reduce((total, one) => total + one),
    );
    expect(last).toBeLessThan(4 * first + 20_000);
  });
});
