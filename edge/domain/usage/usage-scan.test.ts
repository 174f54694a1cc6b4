import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { NO_PARTS } from "./reported-counts.ts";
import { type SeenUsage, UsageScan } from "./usage-scan.ts";

function scan(text: string, size: number, content = true): SeenUsage {
  const bytes = new TextEncoder().encode(text);
  const usage = new UsageScan({ content });
  for (let at = 0; at < bytes.byteLength; at += size) usage.push(bytes.subarray(at, at + size));
  return usage.usage();
}

describe("the parts of usage", () => {
  const event = (data: object): string => `data: ${JSON.stringify(data)}\n\n`;
  const none = NO_PARTS;

  it.each<[string, string, number | null, number | null, object]>([
    [
      "of chat",
      JSON.stringify({
        usage: {
          prompt_tokens: 50,
          prompt_tokens_details: { audio_tokens: 3, cached_tokens: 40 },
          completion_tokens: 30,
          completion_tokens_details: { reasoning_tokens: 20, audio_tokens: 6, accepted_prediction_tokens: 1 },
        },
      }),
      50,
      30,
      { cachedTokens: 40, reasoningTokens: 20, audioInputTokens: 3, audioOutputTokens: 6 },
    ],
    [
      "of a response, streamed",
      event({ type: "response.created", response: { usage: null } }) +
        event({
          type: "response.completed",
          response: {
            usage: {
              input_tokens_details: { cached_tokens: 40 },
              input_tokens: 50,
              output_tokens: 30,
              output_tokens_details: { reasoning_tokens: 20 },
            },
          },
        }),
      50,
      30,
      { cachedTokens: 40, reasoningTokens: 20 },
    ],
    [
      "of a message, whose input leaves out what was cached",
      JSON.stringify({
        usage: {
          input_tokens: 5,
          cache_creation_input_tokens: 7,
          cache_read_input_tokens: 40,
          cache_creation: { ephemeral_5m_input_tokens: 7 },
          output_tokens: 30,
        },
      }),
      52,
      30,
      { cachedTokens: 40, cacheWrittenTokens: 7 },
    ],
    [
      "of a response that put input into a cache, whose input is whole",
      JSON.stringify({
        usage: { input_tokens: 50, input_tokens_details: { cache_write_tokens: 7 }, output_tokens: 30 },
      }),
      50,
      30,
      { cacheWrittenTokens: 7 },
    ],
    [
      "of an image",
      JSON.stringify({
        usage: {
          input_tokens: 334,
          input_tokens_details: { text_tokens: 11, image_tokens: 323 },
          output_tokens: 4160,
          output_tokens_details: { image_tokens: 4100, text_tokens: 60 },
        },
      }),
      334,
      4160,
      { imageInputTokens: 323, imageOutputTokens: 4100 },
    ],
    [
      "of a transcription",
      JSON.stringify({ usage: { input_tokens: 140, input_token_details: { audio_tokens: 138 }, output_tokens: 45 } }),
      140,
      45,
      { audioInputTokens: 138 },
    ],
    [
      "of a streamed message, counted once though it is reported twice",
      event({
        type: "message_start",
        message: { usage: { input_tokens: 5, cache_creation_input_tokens: 7, cache_read_input_tokens: 40 } },
      }) +
        event({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 3 } }) +
        event({ usage: { input_tokens: 6, cache_creation_input_tokens: null, output_tokens: 30 } }),
      53,
      30,
      { cachedTokens: 40, cacheWrittenTokens: 7 },
    ],
    [
      "under both names, where the input is whole",
      JSON.stringify({ usage: { prompt_tokens: 50, cache_read_input_tokens: 40, cache_creation_input_tokens: 7 } }),
      50,
      null,
      { cachedTokens: 40, cacheWrittenTokens: 7 },
    ],
    [
      "in details beside them, where the input is whole too",
      JSON.stringify({
        usage: { input_tokens: 50, cache_read_input_tokens: 40, input_tokens_details: { cached_tokens: 41 } },
      }),
      50,
      null,
      { cachedTokens: 41 },
    ],
    [
      "of audio",
      JSON.stringify({ text: "hi", usage: { type: "duration", seconds: 8.4701 } }),
      null,
      null,
      { inputSeconds: 8.47 },
    ],
    [
      "of audio in detail",
      JSON.stringify({ duration: 8, usage: { seconds: 9 }, text: "" }),
      null,
      null,
      { inputSeconds: 9 },
    ],
    [
      "of audio without usage",
      JSON.stringify({ duration: 1e308, words: [{ duration: 3 }] }),
      null,
      null,
      { inputSeconds: (2 ** 53 - 1) / 1000 },
    ],
    [
      "not in the other's details, further in, in a list or as text",
      JSON.stringify({
        seconds: 4,
        cached_tokens: 1,
        usage: {
          duration: 4,
          cached_tokens: 1,
          reasoning_tokens: 1,
          prompt_tokens: 9,
          prompt_tokens_details: { reasoning_tokens: 1, a: { cached_tokens: 1 } },
          input_tokens_details: [{ cached_tokens: 1 }],
          completion_tokens_details: { cached_tokens: 1, reasoning_tokens: "1" },
          output_tokens_details: null,
        },
        metadata: { prompt_tokens_details: { cached_tokens: 1 } },
      }),
      9,
      null,
      {},
    ],
    [
      "not where they are no amounts",
      `{"usage":{"seconds":-1,"prompt_tokens_details":{"cached_tokens":1.5},"completion_tokens_details":{"reasoning_tokens":-1},"cache_read_input_tokens":1e999}}`,
      null,
      null,
      {},
    ],
    [
      "at most the largest amount",
      `{"usage":{"input_tokens":1e300,"cache_read_input_tokens":1e300,"output_tokens_details":{"reasoning_tokens":1e300}}}`,
      2 ** 53 - 1,
      null,
      { cachedTokens: 2 ** 53 - 1, reasoningTokens: 2 ** 53 - 1 },
    ],
  ])("are read: %s", (_, text, inputTokens, outputTokens, parts) => {
    const reported = inputTokens === null && outputTokens === null ? null : { inputTokens, outputTokens };
    for (const size of [1, 7, 10_000])
      expect(scan(text, size)).toMatchObject({ reported, parts: { ...none, ...parts } });
  });
});

describe("the facts of an answer", () => {
  const stream = (...events: readonly object[]): string =>
    events.map((data) => `data: ${JSON.stringify(data)}\n\n`).join("");

  it.each<[string, string, object]>([
    [
      "of chat, by choice",
      JSON.stringify({
        model: "tiny-2026",
        choices: [
          { message: { content: "a", model: "said" }, finish_reason: "stop" },
          { message: { content: "b" }, finish_reason: "length" },
        ],
      }),
      { response_model: "tiny-2026", finish_reasons: ["stop", "length"] },
    ],
    [
      "of chat, streamed",
      stream(
        { model: "org/tiny:7b@1", choices: [{ delta: { content: "a" }, finish_reason: null }] },
        { model: "other", choices: [{ delta: {}, finish_reason: "" }] },
        { model: "other", choices: [{ delta: {}, finish_reason: "tool_calls" }] },
      ),
      { response_model: "org/tiny:7b@1", finish_reasons: ["tool_calls"] },
    ],
    [
      "of a response, streamed",
      stream({ type: "response.created", response: { metadata: { model: "client" }, model: "tiny-2026" } }),
      { response_model: "tiny-2026" },
    ],
    [
      "of a message",
      JSON.stringify({ type: "message", model: "m-1", content: [{ text: "a" }], stop_reason: "end_turn" }),
      { response_model: "m-1", finish_reasons: ["end_turn"] },
    ],
    [
      "of a message, streamed",
      stream(
        { type: "message_start", message: { model: "m-1", stop_reason: null } },
        { type: "message_delta", delta: { stop_reason: "max_tokens" } },
      ),
      { response_model: "m-1", finish_reasons: ["max_tokens"] },
    ],
    ["of embeddings", JSON.stringify({ data: [{ embedding: [0.1] }], model: "e-1" }), { response_model: "e-1" }],
    [
      "that are too long, no words, or the client's own",
      JSON.stringify({
        model: "m".repeat(101),
        metadata: { model: "client" },
        choices: [{ finish_reason: 'a "text"' }, { finish_reason: "é" }],
      }),
      {},
    ],
  ])("%s, cut anywhere", (_, text, facts) => {
    const bytes = new TextEncoder().encode(text);
    for (const size of [1, 7, bytes.byteLength]) {
      const scanned = new UsageScan({ content: true });
      for (let at = 0; at < bytes.byteLength; at += size) scanned.push(bytes.subarray(at, at + size));
      expect(scanned.facts()).toEqual(facts);
    }
  });

  const echo = { metadata: { id: "x" }, tools: [{ id: "x", container_id: "x" }], conversation: { id: "x" } };
  it.each([
    [
      "a response",
      JSON.stringify({ id: "resp_1", ...echo, output: [{ id: "ci_1", container_id: "cntr_1", tools: [{ id: "x" }] }] }),
      ["resp_1", "ci_1", "cntr_1"],
    ],
    [
      "a response, streamed",
      stream(
        { type: "response.created", response: { id: "resp_1", ...echo, output: [] } },
        { type: "response.output_item.done", item: { id: "msg_1", content: [{ annotations: [{ id: "x" }] }] } },
      ),
      ["resp_1", "msg_1"],
    ],
    ["a message", JSON.stringify({ id: "msg_1", content: [{ id: "x" }], container: { id: "c_1" } }), ["msg_1", "c_1"]],
    ["a message, streamed", stream({ type: "message_delta", delta: { container: { id: "c_1" } } }), ["c_1"]],
    [
      "a chat with sound",
      JSON.stringify({ id: "chat_1", choices: [{ message: { tool_calls: [{ id: "x" }], audio: { id: "audio_1" } } }] }),
      ["chat_1", "audio_1"],
    ],
    ["what is no id", JSON.stringify({ id: "a b", output: [{ id: "a".repeat(513) }, { id: 1 }, { id: "" }] }), []],
  ])("are the ids of %s, cut anywhere, without what it repeats", (_, text, ids) => {
    const bytes = new TextEncoder().encode(text);
    for (const size of [1, 7, bytes.byteLength]) {
      const found: string[] = [];
      const scanned = new UsageScan({ content: true }, (id) => void found.push(id));
      for (let at = 0; at < bytes.byteLength; at += size) scanned.push(bytes.subarray(at, at + size));
      expect(found).toEqual(ids);
    }
  });
});

describe("an answer of no known form", () => {
  const event = (data: unknown): string => `data: ${JSON.stringify(data)}\n\n`;
  const text = "x".repeat(400);
  it.each<[string, string, number]>([
    ["a text", JSON.stringify({ text }), 100],
    ["texts in a list", JSON.stringify({ model: text, id: text, text: [text, text] }), 200],
    ["several documents", JSON.stringify([{ content: text, prompt: text }, { content: text }]), 200],
    ["token ids", JSON.stringify({ output_ids: [[1, 2, 3], [4, 5], [6]], text: "a" }), 6],
    ["no numbers with a fraction", JSON.stringify([[0.25, -0.5, 0.125]]), 0],
    ["events", event({ token: { text: "a" } }).repeat(30), 30],
    ["events of token ids", event({ ids: [7] }).repeat(30), 30],
    ["events that are texts", event(text), 100],
    ["events that are no JSON", "data: yes no\n\n".repeat(40), 50],
    ["lines of documents", `${JSON.stringify({ a: "b" })}\n`.repeat(30), 30],
    ["plain text", `hello\n${text}\n${text}`, 201],
    ["plain text that begins as JSON", `[${"no ".repeat(200)}`, 100],
    ["token ids in a choice", JSON.stringify({ choices: [{ text: "", token_ids: [1, 2, 3], logprobs: [4] }] }), 3],
    ["no event of a known form", event({ type: "response.created", response: { instructions: text } }), 0],
    ["no role of a choice", event({ id: text, choices: [{ delta: { role: "assistant" }, index: 0 }] }), 0],
    ["nothing beside content", event({ x: text, choices: [{ delta: { content: "a" } }] }), 1],
    ["nothing beside a report", JSON.stringify({ text, meta_info: { prompt_tokens: 1, completion_tokens: 2 } }), 0],
  ])("shows %s, cut anywhere", (_, body, seenTokens) => {
    const bytes = new TextEncoder().encode(body);
    for (const size of [1, 7, bytes.byteLength]) {
      const scanned = new UsageScan({ content: true, anyForm: true });
      for (let at = 0; at < bytes.byteLength; at += size) scanned.push(bytes.subarray(at, at + size));
      expect(scanned.usage().seenTokens).toBe(seenTokens);
    }
    expect(scan(body, 100, false).seenTokens).toBe(0);
  });

  it("counts while a text has not ended", () => {
    const scanned = new UsageScan({ content: true, anyForm: true });
    scanned.push(new TextEncoder().encode(`{"text":["${text}`));
    expect(scanned.usage().seenTokens).toBe(100);
  });
});

describe("the usage of a body", () => {
  it("is the last one reported, however the bytes arrive and however much is around it", () => {
    fc.assert(
      fc.property(fc.nat(20_000), fc.nat(20_000), fc.integer({ min: 1, max: 5000 }), (before, after, size) => {
        const [some, more] = [String.raw`\"`.repeat(before), " ".repeat(after)];
        const text = `{"prompt_tokens":1,"usage":{"completion_tokens":2},"a":"${some}","usage":{"prompt_tokens": 30, "completion_tokens" :40}${more}}\n`;
        const { reported, upToDate, final } = scan(text, size);
        expect(reported).toEqual({ inputTokens: 30, outputTokens: 40, totalTokens: null });
        expect({ upToDate, final }).toEqual({ upToDate: true, final: true });
      }),
      { numRuns: 50 },
    );
  });

  it("may stand beside it, and its halves apart", () => {
    const text = `{"prompt_tokens":1,"completion_tokens":2,"prompt_tokens": 123456, "completion_tokens": 654321}`;
    for (const size of [1, 7, 700])
      expect(scan(text, size).reported).toMatchObject({ inputTokens: 123_456, outputTokens: 654_321 });
  });

  it.each<[string, object, number | null, number | null]>([
    ["of the outermost object", { usage: { input_tokens: 5, output_tokens: 6 } }, 5, 6],
    ["with half of it", { usage: { prompt_tokens: 5, prompt_tokens_details: { input_tokens: 1 } } }, 5, null],
    ["of a response", { response: { usage: { input_tokens: 5, output_tokens: 6 } } }, 5, 6],
    ["of a message", { message: { usage: { input_tokens: 5, output_tokens: 6 } } }, 5, 6],
    ["of SGLang", { text: "a", meta_info: { prompt_tokens: 5, completion_tokens: 6 } }, 5, 6],
    ["of llama.cpp", { content: "a", tokens_evaluated: 5, tokens_predicted: 6 }, 5, 6],
    ["of Ollama", { response: "a", prompt_eval_count: 5, eval_count: 6 }, 5, 6],
    ["of a corner", { x_groq: { usage: { prompt_tokens: 5, completion_tokens: 6 } } }, 5, 6],
    ["of a choice", { choices: [{}, { usage: { prompt_tokens: 5, completion_tokens: 6 } }] }, 5, 6],
    ["of a rerank", { meta: { billed_units: { search_units: 1 }, tokens: { input_tokens: 5 } } }, 5, null],
    [
      "in two units",
      { usage: { billed_units: { input_tokens: 1 }, tokens: { input_tokens: 5 }, output_tokens: 6 } },
      5,
      6,
    ],
    ["of a count of tokens", { object: "response.input_tokens", input_tokens: 5 }, 5, null],
    ["of anything else", { result: { usage: { prompt_tokens: 5, completion_tokens: 6 } } }, null, null],
    ["of a list", [{ usage: { prompt_tokens: 5, completion_tokens: 6 } }], null, null],
    ["below a response", { response: { a: { usage: { input_tokens: 5, output_tokens: 6 } } } }, null, null],
    ["below a choice", { choices: [{ message: { usage: { input_tokens: 5, output_tokens: 6 } } }] }, null, null],
    ["in choices by name", { choices: { a: { usage: { input_tokens: 5, output_tokens: 6 } } } }, null, null],
    ["in a list", { usage: [{ input_tokens: 5, output_tokens: 6 }] }, null, null],
    ["in a text", { a: '"usage":{"input_tokens":5,"output_tokens":6}', b: '\\"usage":{"' }, null, null],
    ["nowhere", { choices: [] }, null, null],
  ])("may be that %s", (_, body, inputTokens, outputTokens) => {
    const none = inputTokens === null && outputTokens === null;
    const reported = none ? null : { inputTokens, outputTokens, totalTokens: null };
    for (const size of [1, 1000])
      for (const content of [true, false]) expect(scan(JSON.stringify(body), size, content).reported).toEqual(reported);
  });

  it("may be the sum alone", () => {
    expect(scan('{"results":[],"usage":{"total_tokens":62}}', 5, false).reported).toEqual({
      inputTokens: null,
      outputTokens: null,
      totalTokens: 62,
    });
  });

  it("of one that is no document is that of its events, whatever the route is billed by", () => {
    const text =
      'event: done\ndata: {"type":"image_generation.completed","usage":{"input_tokens":5,"output_tokens":6}}\n\n';
    expect(scan(text, 9, false)).toMatchObject({ reported: { inputTokens: 5, outputTokens: 6 }, final: true });
    expect(scan(`hello "usage": {"input_tokens":5,"output_tokens":6}`, 9, false).reported).toBeNull();
  });

  it("takes the input of an earlier document if the last reports output alone, cut anywhere", () => {
    const text = `{"usage":{"input_tokens":11,"output_tokens":1}}${"x".repeat(9)}\n{"usage":{"output_tokens":22}}`;
    for (let size = 1; size <= text.length; size += 1)
      expect(scan(text, size)).toMatchObject({ reported: { inputTokens: 11, outputTokens: 22 }, final: true });
  });

  it("is final at the end of the document, and not before", () => {
    const text = '{"usage":{"input_tokens":11,"output_tokens":1},"choices":[{"message":{"content":"hello"}}]}';
    expect(scan(text.slice(0, -1), 8)).toMatchObject({ upToDate: true, final: false });
    expect(scan(text, 8)).toMatchObject({ upToDate: true, final: true, seenTokens: 1 });
  });
});
