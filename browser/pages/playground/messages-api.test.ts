/** The playground's requests as messages, and the answers that come as such. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Answer, NO_ANSWER } from "./answer.ts";
import { bodyFor, withMessagesEvent } from "./messages-api.ts";

const folded = (events: readonly unknown[]): Answer => events.reduce<Answer>(withMessagesEvent, NO_ANSWER);

describe("a request as a message", () => {
  it("carries images, calls, their results, and every setting that messages have", () => {
    const schema = { type: "object", properties: {} };
    const body = {
      model: "m",
      stream: true,
      temperature: 0.5,
      stop: ["END"],
      messages: [
        { role: "system", content: "Be brief" },
        {
          role: "user",
          content: [
            { type: "text", text: "Look" },
            { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
          ],
        },
        {
          role: "assistant",
          content: "",
          tool_calls: [{ id: "c1", type: "function", function: { name: "f", arguments: '{"a":1}' } }],
        },
        { role: "tool", tool_call_id: "c1", content: "4" },
        { role: "user", content: "And now?" },
      ],
      tools: [{ type: "function", function: { name: "f", description: "d", parameters: { properties: {} } } }],
      tool_choice: "required",
      response_format: { type: "json_schema", json_schema: { name: "answer", schema } },
    };
    expect(bodyFor("messages", body)).toEqual({
      model: "m",
      stream: true,
      temperature: 0.5,
      max_tokens: 4096,
      stop_sequences: ["END"],
      system: "Be brief",
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "Look" },
            { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } },
          ],
        },
        { role: "assistant", content: [{ type: "tool_use", id: "c1", name: "f", input: { a: 1 } }] },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "c1", content: "4" },
            { type: "text", text: "And now?" },
          ],
        },
      ],
      tools: [{ name: "f", description: "d", input_schema: { type: "object", properties: {} } }],
      tool_choice: { type: "any" },
      output_config: { format: { type: "json_schema", schema } },
    });
  });

  it("has only what was given, and stays as it is for chat completions", () => {
    const body = { model: "m", messages: [{ role: "user", content: "hi" }], max_tokens: 9 };
    expect(bodyFor("messages", body)).toEqual({
      model: "m",
      max_tokens: 9,
      messages: [{ role: "user", content: [{ type: "text", text: "hi" }] }],
    });
    expect(bodyFor("chat/completions", body)).toBe(body);
  });
});

describe("an answer of messages", () => {
  const delta = (index: number, of: object) => ({ type: "content_block_delta", index, delta: of });
  const start = (index: number, content_block: object) => ({ type: "content_block_start", index, content_block });
  const whole: Answer = {
    content: "Looking.",
    reasoning: "Hm.",
    toolCalls: [
      { id: "t1", name: "f", args: '{"a":1}' },
      { id: "t2", name: "g", args: "" },
    ],
    finishReason: "tool_use",
  };

  it("is its events in their order", () => {
    const events = [
      { type: "message_start", message: { content: [] } },
      start(0, { type: "thinking", thinking: "" }),
      delta(0, { type: "thinking_delta", thinking: "Hm." }),
      delta(0, { type: "signature_delta", signature: "s" }),
      start(1, { type: "text", text: "" }),
      delta(1, { type: "text_delta", text: "Look" }),
      delta(1, { type: "text_delta", text: "ing." }),
      start(2, { type: "tool_use", id: "t1", name: "f", input: {} }),
      delta(2, { type: "input_json_delta", partial_json: '{"a"' }),
      delta(2, { type: "input_json_delta", partial_json: ":1}" }),
      start(3, { type: "tool_use", id: "t2", name: "g", input: {} }),
      { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: {} },
      { type: "message_stop" },
    ];
    expect(folded(events)).toEqual(whole);
  });

  it("is read of one document too", () => {
    const content = [
      { type: "thinking", thinking: "Hm.", signature: "s" },
      { type: "text", text: "Looking." },
      { type: "tool_use", id: "t1", name: "f", input: { a: 1 } },
      { type: "tool_use", id: "t2", name: "g", input: {} },
    ];
    expect(folded([{ type: "message", content, stop_reason: "tool_use" }])).toEqual(whole);
  });

  it("is an answer whatever comes", () => {
    const hostile = fc.oneof(
      fc.anything(),
      fc.record({
        type: fc.constantFrom("message", "content_block_start", "content_block_delta"),
        content: fc.anything(),
        content_block: fc.anything(),
        delta: fc.record({ text: fc.anything(), partial_json: fc.anything(), stop_reason: fc.anything() }),
      }),
    );
    fc.assert(
      fc.property(fc.array(hostile, { maxLength: 10 }), (events) => {
        const { content, reasoning, toolCalls } = folded(events);
        expect([content, reasoning, ...toolCalls.map(({ args }) => args)].map((text) => typeof text)).toEqual(
          Array.from({ length: 2 + toolCalls.length }, () => "string"),
        );
      }),
    );
  });
});
