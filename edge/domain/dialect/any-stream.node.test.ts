/**
 * Streams as careless servers write them, translated and read by the official clients (docs/rules/dialects.md#streams): a
 * client gets the whole answer, or the error event; never an error of its own code.
 *
 * @module-tag check
 */
import Anthropic from "@anthropic-ai/sdk";
import fc from "fast-check";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { atOnce } from "../../../shared/steps.ts";
import type { JsonObject } from "../wire/json/document.ts";
import { translationOf } from "./translation.ts";
import { textOf } from "./values.ts";

const RUNS = { numRuns: 400 };

/** Members that may be missing, or null. */
const careless = <T>(members: { [K in keyof T]: fc.Arbitrary<T[K]> }) => fc.record(members, { requiredKeys: [] });
const text = fc.constantFrom("", "a", "é😀", "\n", null);

const callPiece = careless({
  index: fc.constantFrom<unknown>(0, 0, 1, 2, null),
  id: fc.constantFrom<unknown>("c1", "c2", "c3", "", null),
  type: fc.constant("function"),
  function: careless({
    name: fc.constantFrom<unknown>("f", "look", "", null),
    arguments: fc.constantFrom<unknown>("", " ", "{}", '{"a":', "1}", '"b"', "}", "null", null, { a: 1 }),
  }),
});
const delta = careless({
  role: fc.constant("assistant"),
  content: fc.oneof(text, fc.constant([{ type: "text", text: "list" }])),
  reasoning_content: text,
  refusal: fc.constantFrom(null, "No"),
  tool_calls: fc.oneof(fc.constant(null), fc.array(callPiece, { maxLength: 2 })),
});
const finish = fc.constantFrom<unknown>(null, null, null, "stop", "length", "tool_calls", "content_filter", "eos", 7);
const usage = careless({
  prompt_tokens: fc.constantFrom<unknown>(3, -1, "x"),
  completion_tokens: fc.constantFrom<unknown>(2, 1.5, null),
  total_tokens: fc.constant(5),
});
const chatChunk = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.tuple(delta, finish).map(([one, reason]) => [{ index: 0, delta: one, finish_reason: reason }]),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom([], [{ index: 1, delta: { content: "other" }, finish_reason: null }], [{ index: 0 }]),
  },
);
const chatEvents = fc
  .tuple(fc.array(fc.tuple(chatChunk, fc.option(usage)), { maxLength: 12 }), fc.boolean(), fc.boolean())
  .map(([chunks, hasId, isEnded]) => [
    ...chunks.map(([choices, counted]) =>
      JSON.stringify({
        ...(hasId ? { id: "chatcmpl-1", model: "m" } : {}),
        choices,
        ...(counted ? { usage: counted } : {}),
      }),
    ),
    ...(isEnded ? ["[DONE]"] : []),
  ]);

const block = fc.oneof(
  careless({ type: fc.constant("text"), text }),
  careless({ type: fc.constant("thinking"), thinking: text, signature: text }),
  fc.constant({ type: "redacted_thinking", data: "AA==" }),
  careless({
    type: fc.constantFrom("tool_use", "tool_use", "server_tool_use"),
    id: fc.constantFrom<unknown>("t1", "t2", null),
    name: fc.constantFrom<unknown>("f", "look", null),
    input: fc.constantFrom<unknown>({}, { a: 1 }, null),
  }),
);
const blockDelta = fc.oneof(
  text.map((one) => ({ type: "text_delta", text: one })),
  text.map((thinking) => ({ type: "thinking_delta", thinking })),
  text.map((signature) => ({ type: "signature_delta", signature })),
  fc.constantFrom("", "{", '{"a":1}', "1", "}").map((partial_json) => ({ type: "input_json_delta", partial_json })),
  fc.constant({ type: "citations_delta", citation: {} }),
);
const messageEvent = fc.oneof(
  { weight: 3, arbitrary: block.map((content_block) => ({ type: "content_block_start", index: 0, content_block })) },
  { weight: 6, arbitrary: blockDelta.map((one) => ({ type: "content_block_delta", index: 0, delta: one })) },
  { weight: 2, arbitrary: fc.constant({ type: "content_block_stop", index: 0 }) },
  { weight: 1, arbitrary: fc.constantFrom({ type: "ping" }, { type: "unknown" }, {}) },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom<unknown>("end_turn", "tool_use", "max_tokens", "refusal", "pause_turn", null, 7)
      .map((stop_reason) => ({ type: "message_delta", delta: { stop_reason }, usage: { output_tokens: 2 } })),
  },
);
const messageEvents = fc
  .tuple(fc.array(messageEvent, { maxLength: 14 }), fc.boolean(), fc.boolean())
  .map(([events, isStarted, isEnded]) => [
    ...(isStarted ? [{ type: "message_start", message: { id: "msg_1", model: "m", usage: { input_tokens: 1 } } }] : []),
    ...events,
    ...(isEnded ? [{ type: "message_stop" }] : []),
  ])
  .map((events) => events.map((event) => JSON.stringify(event)));

/** The client's result; null: the stream is broken, and the relay ends it with the route's error event. */
function translated(path: string, dialect: "openai" | "anthropic", events: readonly string[]): string | null {
  const stream = translationOf(path, dialect, { createdSecs: 1, usageAsked: true })?.stream();
  if (stream === undefined) throw new Error("no translation");
  const sent = events.map((data) => atOnce(stream.event(null, data))).join("") + stream.end();
  return stream.isBroken ? null : sent;
}

const answering = (body: string) => () =>
  Promise.resolve(new Response(body, { headers: { "content-type": "text/event-stream" } }));

const request = { model: "m", messages: [{ role: "user" as const, content: "a" }] };

describe("a careless stream of chat completions", () => {
  it("is a message for Anthropic's client, with everything that was said", async () => {
    await fc.assert(
      fc.asyncProperty(chatEvents, async (events) => {
        const sent = translated("/v1/messages", "openai", events);
        if (sent === null) return;
        const client = new Anthropic({ apiKey: "k", maxRetries: 0, fetch: answering(sent) });
        const { content, stop_reason } = await client.messages.stream({ ...request, max_tokens: 1 }).finalMessage();
        const calls = content.filter(({ type }) => type === "tool_use");
        const said = content.map((one) => (one.type === "text" ? one.text : "")).join("");
        expect({ said, hasCalls: stop_reason !== "tool_use" || calls.length > 0 }).toEqual({
          said: textsOf(events),
          hasCalls: true,
        });
        for (const call of calls) expect(call).toMatchObject({ input: expect.objectContaining({}) });
      }),
      RUNS,
    );
  });

  it("is a response for OpenAI's client", async () => {
    await fc.assert(
      fc.asyncProperty(chatEvents, async (events) => {
        const sent = translated("/v1/responses", "openai", events);
        if (sent === null) return;
        const client = new OpenAI({ apiKey: "k", maxRetries: 0, fetch: answering(sent) });
        const { output_text } = await client.responses.stream({ model: "m", input: "a" }).finalResponse();
        expect(output_text.replaceAll("No", "")).toBe(textsOf(events).replaceAll("No", ""));
      }),
      RUNS,
    );
  });
});

describe("a careless stream of messages", () => {
  it("is a chat completion for OpenAI's client", async () => {
    await fc.assert(
      fc.asyncProperty(messageEvents, async (events) => {
        const sent = translated("/v1/chat/completions", "anthropic", events);
        if (sent === null) return;
        const client = new OpenAI({ apiKey: "k", maxRetries: 0, fetch: answering(sent) });
        const read = await client.chat.completions.stream(request).finalChatCompletion();
        expect(read.choices).toHaveLength(1);
      }),
      RUNS,
    );
  });

  it("is a response for OpenAI's client", async () => {
    await fc.assert(
      fc.asyncProperty(messageEvents, async (events) => {
        const sent = translated("/v1/responses", "anthropic", events);
        if (sent === null) return;
        const client = new OpenAI({ apiKey: "k", maxRetries: 0, fetch: answering(sent) });
        expect(await client.responses.stream({ model: "m", input: "a" }).finalResponse()).toMatchObject({
          object: "response",
        });
      }),
      RUNS,
    );
  });
});

/** The texts and refusals of the first choice. */
function textsOf(events: readonly string[]): string {
  const deltas = events
    .filter((data) => data !== "[DONE]")
    .flatMap((data) => (JSON.parse(data) as { choices: { index: number; delta?: JsonObject }[] }).choices)
    .filter(({ index }) => index === 0)
    .map(({ delta: one }) => one ?? {});
  const written = (value: unknown): string =>
    Array.isArray(value) ? value.map((part: JsonObject) => String(part["text"])).join("") : textOf(value);
  return deltas.map(({ content, refusal }) => written(content) + written(refusal)).join("");
}
