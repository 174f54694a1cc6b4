import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AMOUNT_MAX } from "../../../shared/money/amount.ts";
import type { AnswerProgress } from "./answer-progress.ts";
import { NO_PARTS } from "./reported-counts.ts";
import { StreamScan } from "./stream-scan.ts";

const encoder = new TextEncoder();

/** The progress of a stream that arrives in pieces cut at the given places. */
function tallyOf(text: string, cuts: readonly number[] = []): AnswerProgress {
  const bytes = encoder.encode(text);
  const places = [...new Set(cuts.map((cut) => cut % (bytes.byteLength + 1)))].sort((a, b) => a - b);
  const scan = new StreamScan();
  let from = 0;
  for (const to of [...places, bytes.byteLength]) {
    scan.push(bytes.subarray(from, to));
    from = to;
  }
  return scan.progress();
}

const event = (data: unknown): string => `data: ${JSON.stringify(data)}\n\n`;
const chat = (delta: object, more: object = {}): string => event({ choices: [{ index: 0, delta, ...more }] });
const seen = (text: string): readonly [events: number, characters: number] => {
  const { events, characters } = tallyOf(text);
  return [events, characters];
};

describe("the content of an event", () => {
  it.each<[string, string, number, number]>([
    ["chat text", chat({ content: "hello" }), 1, 5],
    ["a role alone", chat({ role: "assistant", content: "" }), 0, 0],
    ["a null", chat({ content: null }), 0, 0],
    ["chat reasoning", chat({ reasoning: "why" }), 1, 3],
    ["reasoning under both of its names", chat({ reasoning: "why", reasoning_content: "why" }), 1, 3],
    ["reasoning with its details", chat({ reasoning: "why", reasoning_details: [{ text: "why" }] }), 1, 3],
    [
      "reasoning in its details alone",
      chat({ reasoning_details: [{ text: "why" }, { summary: "so", data: "AAAA" }] }),
      1,
      5,
    ],
    [
      "text whose name has escapes",
      `${String.raw`data: {"ch\u006fices":[{"delta":{"c\u006Fntent":"hello"}}]}`}\n\n`,
      1,
      5,
    ],
    [
      "a name with other escapes",
      `${String.raw`data: {"choices":[{"delta":{"con\tent":"a","content\udc00":"b"}}]}`}\n\n`,
      0,
      0,
    ],
    ["a refusal", chat({ refusal: "no" }), 1, 2],
    ["arguments", chat({ tool_calls: [{ index: 0, function: { name: "look", arguments: '{"a":' } }] }), 1, 5],
    ["arguments of old", chat({ function_call: { arguments: "{}" } }), 1, 2],
    ["what is said in sound", chat({ audio: { data: "AAAAAAAA", transcript: "hi" } }), 1, 2],
    ["text with its likelihoods", chat({ content: "a" }, { logprobs: { content: [{ token: "a", text: "b" }] } }), 1, 1],
    ["every choice", event({ choices: [{ delta: { content: "ab" } }, { delta: { content: "c" } }] }), 1, 3],
    ["a completion", event({ choices: [{ text: "word", index: 0 }] }), 1, 4],
    ["text of a response", event({ type: "response.output_text.delta", delta: "word" }), 1, 4],
    ["the same, its type last", event({ delta: "word", type: "response.output_text.delta" }), 1, 4],
    ["sound of a response", event({ delta: "AAAAAAAAAAAA", type: "response.audio.delta" }), 1, 0],
    ["the text of a response once more", event({ type: "response.output_text.done", text: "word" }), 0, 0],
    ["a whole response", event({ type: "response.completed", response: { output: [{ text: "word" }] } }), 0, 0],
    ["text of a message", event({ type: "content_block_delta", delta: { type: "text_delta", text: "word" } }), 1, 4],
    ["the text with which a message's part begins", event({ content_block: { type: "text", text: "word" } }), 1, 4],
    ["its thinking", event({ content_block: { type: "thinking", thinking: "hmm", signature: "AAAA" } }), 1, 3],
    ["thinking of a message", event({ delta: { type: "thinking_delta", thinking: "hm" } }), 1, 2],
    ["input of a message's tool", event({ delta: { type: "input_json_delta", partial_json: '{"' } }), 1, 2],
    ["the end", "data: [DONE]\n\n", 0, 0],
  ])("is counted: %s", (_, text, events, characters) => {
    expect(seen(text)).toEqual([events, characters]);
  });

  it("is counted in code points, however it is written", { tags: ["check"] }, () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.array(fc.nat()), fc.boolean(), (content, cuts, escaped) => {
        const json = JSON.stringify(content.toWellFormed());
        const written = escaped ? json.replace(/[^ -~]/g, (unit) => `\\u${hex(unit)}`) : json;
        const text = `data: {"choices":[{"delta":{"content":${written}}}]}\n\n`;
        const points = [...content.toWellFormed()].length;
        expect(tallyOf(text, cuts)).toMatchObject({ events: points > 0 ? 1 : 0, characters: points });
      }),
    );
  });
});

const hex = (unit: string): string => unit.charCodeAt(0).toString(16).padStart(4, "0");

const STREAM = [
  ": a comment\n\n",
  chat({ role: "assistant", content: "" }),
  chat({ content: 'He said "{ü😀}"\n' }).replace(/\n\n$/, "\r\n\r\n"),
  'event: x\nid: 7\ndata:{"choices":\ndata: [{"delta":\r\ndata:   {"content":"two lines"}}]}\r\n\r\n',
  'data: {"choices":[{"delta":{"content":"old Mac"}}]}\r\r',
  chat({ content: "x".repeat(3000) }),
  event({ choices: [], usage: { prompt_tokens: 11, completion_tokens: 22, total_tokens: 33 } }),
  "data: [DONE]\n\n",
].join("");

describe("a stream", () => {
  const whole: AnswerProgress = {
    events: 4,
    characters: 15 + 9 + 7 + 3000,
    itemCharacters: 0,
    inputTokens: 11,
    outputTokens: 22,
    totalTokens: 33,
    parts: NO_PARTS,
    outputReported: true,
    upToDate: true,
    ended: true,
    known: true,
  };

  it("is read the same with any line ending, comments or split data, cut at every byte", () => {
    const bytes = encoder.encode(STREAM);
    const [first, last] = [bytes.indexOf(0x78), bytes.lastIndexOf(0x78)];
    for (let at = 0; at <= bytes.byteLength; at += at > first + 50 && at < last - 50 ? 97 : 1)
      expect(tallyOf(STREAM, [at])).toEqual(whole);
    expect(
      tallyOf(
        STREAM,
        Array.from(bytes, (_, at) => at),
      ),
    ).toEqual(whole);
    expect(tallyOf(`\ufeff${STREAM}`, [1, 2, 3])).toEqual(whole);
  });

  it("has no text beside its events", () => {
    const scan = new StreamScan();
    const text = "x".repeat(400);
    const beside = [`: ${text}`, `event: ${text}`, "retry: 3000", `id: ${text}`, text].join("\n");
    scan.push(encoder.encode(`${beside}\n\nevent: ping\ndata: {"type":"ping"}\n\n: open`));
    expect(scan.other.tokens).toBe(0);
    scan.push(encoder.encode(`\ndata: ${text}\n\n`));
    expect(scan.other.tokens).toBe(100);
  });

  it("shows what came of an event that has not ended", () => {
    const text = chat({ content: "hello" });
    const partial = text.slice(0, text.indexOf("lo"));
    expect(seen(chat({ content: "one" }) + partial)).toEqual([2, 6]);
    expect(seen(text.trimEnd())).toEqual([1, 5]);
  });

  it("recovers with the next event after a broken one", () => {
    for (const broken of ['data: {"choices":[{"delta":{"content":"a', 'data: {"usage":{"a":[[[', "data: \\", 'data: "'])
      expect(seen(`${broken}\n\n${chat({ content: "fine" })}`)[1]).toBe(broken.endsWith("a") ? 5 : 4);
  });
});

describe("an error in a stream", () => {
  const failed = (text: string): boolean => {
    const scan = new StreamScan();
    for (const byte of encoder.encode(text)) scan.push(Uint8Array.of(byte));
    return scan.hasError;
  };

  it.each([
    event({ error: { message: "overloaded", code: 500 } }),
    event({ error: "overloaded" }),
    event({ choices: [{ delta: {}, finish_reason: "error" }], error: { code: 502 } }),
    event({ type: "error", message: "overloaded" }),
    event({ type: "response.failed", response: { error: { code: "server_error" } } }),
    `event: error\n${event({ message: "overloaded" })}`,
    `event:error\r\ndata:overloaded\r\n\r\n`,
    `data: overloaded\nevent: error \n\n`,
  ])("is found after content, in %j", (text) => {
    expect(failed(chat({ content: "hello" }) + text + chat({ content: "more" }))).toBe(true);
  });

  it.each([
    event({ error: null }),
    event({ error: "" }),
    event({ response: { error: { code: 500 } } }),
    chat({ content: '"error":{}' }),
    chat({ error: {} }),
    event({ type: "response.created", message: "error" }),
    `event: errors\n${event({ message: "a" })}`,
    `event: error\n\n${event({ message: "a" })}`,
    event("event: error"),
  ])("is not taken for one: %j", (text) => {
    expect(failed(text)).toBe(false);
  });
});

describe("the end of a stream", () => {
  const isDone = (text: string): boolean => {
    const scan = new StreamScan();
    for (const byte of encoder.encode(text)) scan.push(Uint8Array.of(byte));
    return scan.isDone;
  };

  it.each(["data: [DONE]\n", "data:[DONE]\r", "data: [DONE] \r\n\r\n"])("is found in %j", (end) => {
    expect(isDone(chat({ content: "a" }) + end)).toBe(true);
  });

  it.each(["data: [DONE", "data: [DONE]]\n\n", ": [DONE]\n\n", "data: x[DONE]\n\n", event("[DONE]"), "[DONE]\n\n"])(
    "is not found in %j",
    (text) => {
      expect(isDone(text)).toBe(false);
    },
  );
});

/** Texts that are long, with quotes and backslashes in every order. */
const long = fc.string({ unit: fc.constantFrom('"', "\\", "a", "ü"), minLength: 100, maxLength: 400 });

describe("the usage that a stream reports", () => {
  const usage = { prompt_tokens: 11, completion_tokens: 22 };

  it.each<[string, string, Partial<AnswerProgress>]>([
    [
      "in its last event",
      chat({ content: "a" }) + event({ usage }),
      { inputTokens: 11, outputTokens: 22, upToDate: true },
    ],
    ["with each event", event({ choices: [{ delta: { content: "a" } }], usage }), { outputTokens: 22, upToDate: true }],
    [
      "and then continues",
      event({ choices: [], usage }) + chat({ content: "a" }),
      { outputTokens: 22, outputReported: true, upToDate: false, ended: false },
    ],
    [
      "and continues after each event",
      event({ choices: [{ delta: { content: "a" }, finish_reason: "" }], usage }),
      { upToDate: true, ended: false },
    ],
    [
      "with its reason to end",
      chat({ content: "a" }, { finish_reason: "length" }) + event({ usage }),
      { upToDate: true, ended: true },
    ],
    ["and then ends a choice", event({ usage }) + chat({}, { finish_reason: "stop" }), { upToDate: true }],
    [
      "in a response",
      event({ type: "response.completed", response: { usage: { input_tokens: 1, output_tokens: 2 } } }),
      { inputTokens: 1, outputTokens: 2, upToDate: true, ended: true },
    ],
    [
      "before a response",
      event({ type: "response.created", response: { usage: { input_tokens: 0, output_tokens: 0 } } }),
      { inputTokens: 0, outputTokens: 0, outputReported: false, upToDate: false, ended: false },
    ],
    ["in a choice", event({ choices: [{ delta: {}, usage }] }), { outputTokens: 22 }],
    ["in a corner of its own", event({ choices: [], x_groq: { usage } }), { outputTokens: 22 }],
    [
      "before a message",
      event({ type: "message_start", message: { usage: { input_tokens: 5, output_tokens: 1 } } }),
      { inputTokens: 5, outputTokens: 1, outputReported: false, upToDate: false },
    ],
    [
      "before and after a message",
      event({ message: { usage: { input_tokens: 5, output_tokens: 1 } } }) +
        event({ delta: { stop_reason: "end_turn" }, usage: { output_tokens: 9 } }),
      { inputTokens: 5, outputTokens: 9, upToDate: true, ended: true },
    ],
    [
      "as null",
      chat({ content: "a" }) + event({ choices: [], usage: null }),
      { inputTokens: null, outputTokens: null, upToDate: false },
    ],
    ["in a text", chat({ content: JSON.stringify({ usage }) }), { outputTokens: null }],
    [
      "in what the client wrote",
      event({ response: { usage: { output_tokens: 7 }, metadata: { usage }, tools: [{ usage }] } }),
      { inputTokens: null, outputTokens: 7 },
    ],
    [
      "with details",
      event({ usage: { ...usage, completion_tokens_details: { completion_tokens: 1 } } }),
      { outputTokens: 22 },
    ],
  ])("%s", (_, text, expected) => {
    expect(tallyOf(text)).toMatchObject(expected);
  });

  it.each<[string, number | null]>([
    ["0", 0],
    ["-0", 0],
    ["12", 12],
    ["12.0", 12],
    ["1.2e1", 12],
    ["1.5", null],
    ["-1", null],
    ["1e-3", null],
    ["9007199254740991", AMOUNT_MAX],
    ["9007199254740993", AMOUNT_MAX],
    ["1e308", AMOUNT_MAX],
    ["1e309", null],
    ["1".repeat(500), null],
    ['"12"', null],
    ["null", null],
    ["true", null],
    ["NaN", null],
    ["Infinity", null],
    ["0x10", null],
    ["01", null],
    ["[12]", null],
    ['{"completion_tokens":12}', null],
  ])("is hostile: %s is %s", (written, expected) => {
    const text = `data: {"usage":{"completion_tokens":${written},"prompt_tokens":3}}\n\n`;
    expect(tallyOf(text)).toMatchObject({ inputTokens: 3, outputTokens: expected });
  });
});

/** The counts of a value called `usage`, by its meaning. */
function reference(usage: unknown): { readonly inputTokens: number | null; readonly outputTokens: number | null } {
  const record = typeof usage === "object" && usage !== null && !Array.isArray(usage) ? usage : {};
  const last = (...names: readonly string[]): number | null => {
    const counts = Object.entries(record).filter(([name, value]) => names.includes(name) && isCount(value));
    const [, value] = counts.at(-1) ?? [];
    return value === undefined ? null : Math.min(Number(value), AMOUNT_MAX) + 0;
  };
  return {
    inputTokens: last("prompt_tokens", "input_tokens"),
    outputTokens: last("completion_tokens", "output_tokens"),
  };
}

const isCount = (value: unknown): boolean => Number.isInteger(value) && Number(value) >= 0;

const names = fc.constantFrom("prompt_tokens", "input_tokens", "completion_tokens", "output_tokens", "other");
const hostile = fc.oneof(
  fc.jsonValue(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(1e308, 2 ** 53, 2 ** 53 + 2, -1, 0.5, 7),
);

describe("whatever JSON an upstream sends", () => {
  it("beside its usage: long strings and lists of numbers are passed over, cut anywhere", () => {
    fc.assert(
      fc.property(long, fc.array(fc.double({ noNaN: true })), fc.array(fc.nat()), (text, numbers, cuts) => {
        const usage = { prompt_tokens: 3, completion_tokens: 4 };
        const tally = tallyOf(event({ a: [text, numbers, text], [text]: numbers, usage }), cuts);
        expect(tally).toMatchObject({ inputTokens: 3, outputTokens: 4, characters: 0 });
      }),
    );
  });

  it("as its usage: counts are those of the object itself, safe integers of at least 0", () => {
    fc.assert(
      fc.property(
        fc.oneof(hostile, fc.dictionary(names, hostile, { noNullPrototype: true })),
        fc.array(fc.nat()),
        (usage, cuts) => {
          // the name of nothing that counts elsewhere in the value
          fc.pre(!JSON.stringify(usage).includes('"usage"'));
          const tally = tallyOf(event({ usage }), cuts);
          expect({ inputTokens: tally.inputTokens, outputTokens: tally.outputTokens }).toEqual(reference(usage));
        },
      ),
    );
  });

  it("and in whatever pieces: what is counted is counted in safe integers, and is the same", () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.json(), fc.string(), fc.constant("\n\n"))),
        fc.array(fc.nat()),
        (parts, cuts) => {
          const text = parts.map((part) => `data: ${part}\n`).join("\n");
          const tally = tallyOf(text, cuts);
          expect(tally).toEqual(tallyOf(text));
          for (const count of [tally.events, tally.characters, tally.inputTokens ?? 0, tally.outputTokens ?? 0])
            expect(Number.isSafeInteger(count) && count >= 0).toBe(true);
        },
      ),
    );
  });

  it("and whatever bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.nat(), (bytes, cut) => {
        const scan = new StreamScan();
        scan.push(bytes.subarray(0, cut % 300));
        scan.push(bytes.subarray(cut % 300));
        expect(Number.isSafeInteger(scan.progress().characters)).toBe(true);
      }),
    );
  });
});
