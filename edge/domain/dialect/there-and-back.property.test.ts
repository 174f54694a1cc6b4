/**
 * A request translated to the other dialect and back keeps everything that both can express (docs/rules/dialects.md#requests).
 *
 * @module-tag check
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { atOnce } from "../../../shared/steps.ts";
import type { JsonObject } from "../wire/json/document.ts";
import { chatAnswer } from "./to-chat/answer.ts";
import { chatRequest } from "./to-chat/request.ts";
import { messagesAnswer } from "./to-messages/answer.ts";
import { messagesRequest } from "./to-messages/request.ts";

const words = fc.string({ minLength: 1, maxLength: 10 });
const input = fc.dictionary(
  words.filter((name) => name !== "__proto__"),
  fc.oneof(words, fc.integer(), fc.boolean()),
);
const effort = fc.constantFrom("low", "medium", "high", "xhigh", "max");
const schema = fc.constant({ type: "object", properties: { a: { type: "string" } }, additionalProperties: false });

/** Members that a request may have or not. */
const maybe = <T>(members: { [K in keyof T]: fc.Arbitrary<T[K]> }) => fc.record(members, { requiredKeys: [] });

const image = fc.oneof(
  words.map((data) => ({ type: "image", source: { type: "base64", media_type: "image/png", data } })),
  fc.webUrl().map((url) => ({ type: "image", source: { type: "url", url } })),
);
const document = fc.record({
  type: fc.constant("document"),
  source: fc.record({ type: fc.constant("base64"), media_type: fc.constant("application/pdf"), data: words }),
  title: words,
});
const text = words.map((said) => ({ type: "text", text: said }));

/** A turn of the user: results of tools and a text; or something to look at, with texts. */
const userTurn = fc.oneof(
  fc
    .tuple(text, fc.array(fc.oneof(text, image, document), { maxLength: 3 }), image)
    .map(([said, parts, seen]) => [said, ...parts, seen]),
  text.map((said) => [said]),
  fc
    .tuple(fc.array(fc.tuple(fc.uuid(), text), { minLength: 1, maxLength: 3 }), fc.option(text))
    .map(([results, said]) => [
      ...results.map(([tool_use_id, one]) => ({ type: "tool_result", tool_use_id, content: [one] })),
      ...(said === null ? [] : [said]),
    ]),
);
const calls = fc.array(
  fc.record({ type: fc.constant("tool_use"), id: fc.uuid(), name: fc.constantFrom("f", "g"), input }),
  { maxLength: 3 },
);
const assistantTurn = fc.tuple(text, calls).map(([said, called]) => [said, ...called]);

/** A request of Messages that chat completions can carry whole. */
const request: fc.Arbitrary<JsonObject> = fc
  .record({
    turns: fc.array(fc.tuple(userTurn, assistantTurn), { minLength: 1, maxLength: 3 }),
    common: fc.record({ model: words, max_tokens: fc.nat(9999) }),
    members: maybe({
      system: text.map((said) => [said]),
      temperature: fc.double({ min: 0, max: 1, noNaN: true }),
      top_p: fc.double({ min: 0, max: 1, noNaN: true }),
      top_k: fc.nat(100),
      stop_sequences: fc.array(words, { minLength: 1, maxLength: 3 }),
      metadata: fc.record({ user_id: words }),
      service_tier: fc.constantFrom("auto", "standard_only"),
      stream: fc.boolean(),
    }),
    tools: maybe({
      tools: fc.array(
        fc
          .tuple(words, schema, maybe({ description: words, strict: fc.boolean() }))
          .map(([name, input_schema, more]) => ({ name, input_schema, ...more })),
        { minLength: 1, maxLength: 3 },
      ),
    }),
    choice: fc.option(
      fc.oneof(
        fc.record({ type: fc.constantFrom("auto", "any"), disable_parallel_tool_use: fc.constant(true) }),
        fc.constant({ type: "none" }),
        words.map((name) => ({ type: "tool", name })),
      ),
    ),
    effort: fc.option(effort),
    format: fc.option(schema),
  })
  .map((parts) => ({
    ...parts.common,
    ...parts.members,
    ...parts.tools,
    ...(parts.choice === null || parts.tools.tools === undefined ? {} : { tool_choice: parts.choice }),
    ...(parts.effort === null ? {} : { thinking: { type: "adaptive" } }),
    ...(parts.effort === null && parts.format === null
      ? {}
      : {
          output_config: {
            ...(parts.effort === null ? {} : { effort: parts.effort }),
            ...(parts.format === null ? {} : { format: { type: "json_schema", schema: parts.format } }),
          },
        }),
    messages: parts.turns.flatMap(([user, assistant]) => [
      { role: "user", content: user },
      { role: "assistant", content: assistant },
    ]),
  }));

const usage = fc.record({
  input_tokens: fc.nat(999),
  cache_read_input_tokens: fc.nat(999),
  cache_creation_input_tokens: fc.nat(999),
  output_tokens: fc.nat(999),
});

const message: fc.Arbitrary<JsonObject> = fc
  .tuple(fc.option(words), fc.option(words), calls, usage, fc.constantFrom("end_turn", "max_tokens"), words)
  .map(([thinking, said, called, counted, reason, id]) => ({
    id,
    type: "message",
    role: "assistant",
    model: "m",
    content: [
      ...(thinking === null ? [] : [{ type: "thinking", thinking, signature: "" }]),
      ...(said === null ? [] : [{ type: "text", text: said }]),
      ...called,
    ],
    stop_reason: called.length > 0 && reason === "end_turn" ? "tool_use" : reason,
    stop_sequence: null,
    usage: counted,
  }));

describe("there and back", () => {
  it("keeps a request", () => {
    fc.assert(
      fc.property(request, (body) => {
        expect(atOnce(messagesRequest(atOnce(chatRequest(body))))).toEqual(body);
      }),
    );
  });

  it("keeps a request of chat completions once it has been the other's", () => {
    fc.assert(
      fc.property(request, (body) => {
        const chat = atOnce(chatRequest(body));
        expect(atOnce(chatRequest(atOnce(messagesRequest(chat))))).toEqual(chat);
      }),
    );
  });

  it("keeps an answer", () => {
    fc.assert(
      fc.property(message, (body) => {
        expect(atOnce(messagesAnswer(atOnce(chatAnswer(body, 1))))).toEqual(body);
      }),
    );
  });

  it("survives any JSON as a request, an answer or an error", () => {
    const bodies = fc.object({
      key: fc.constantFrom("messages", "content", "choices", "message", "usage", "tool_calls"),
    });
    fc.assert(
      fc.property(bodies, (body) => {
        const outcomes = [
          () => atOnce(chatRequest(body as JsonObject)),
          () => atOnce(messagesRequest(body as JsonObject)),
          () => atOnce(chatAnswer(body as JsonObject, 1)),
          () => atOnce(messagesAnswer(body as JsonObject)),
        ].map((translate) => {
          try {
            return typeof translate();
          } catch (error) {
            return (error as Error).name;
          }
        });
        expect(outcomes.every((one) => one === "object" || one === "GatewayError")).toBe(true);
      }),
    );
  });
});
