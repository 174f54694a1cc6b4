/** Answers and errors in the form of the other dialect (docs/rules/dialects.md#answers). */
import { describe, expect, it } from "vitest";
import { GatewayError } from "../../../shared/errors.ts";
import { atOnce } from "../../../shared/steps.ts";
import type { JsonObject } from "../wire/json/document.ts";
import { chatError, messagesError } from "./error-types.ts";
import { chatAnswer } from "./to-chat/answer.ts";
import { messagesAnswer } from "./to-messages/answer.ts";

const completion = (message: object, members: object = {}, choice: object = {}): JsonObject => ({
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 5,
  model: "gpt",
  choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason: "stop", ...choice }],
  ...members,
});
const message = (content: readonly object[], members: object = {}): JsonObject => ({
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "claude",
  content,
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: { input_tokens: 10, output_tokens: 4 },
  ...members,
});
const call = (id: string | undefined, name: string, written: unknown) => ({
  ...(id === undefined ? {} : { id }),
  type: "function",
  function: { name, arguments: written },
});

describe("a chat completion as a message", () => {
  it("has thinking, text and calls as blocks, and cached tokens apart", () => {
    const answer = completion(
      {
        content: "Yes.",
        reasoning_content: "Hm.",
        tool_calls: [call("c1", "f", '{"a":1}'), call(undefined, "g", "")],
      },
      {
        usage: {
          prompt_tokens: 30,
          completion_tokens: 7,
          total_tokens: 37,
          prompt_tokens_details: { cached_tokens: 20, cache_write_tokens: 4 },
          completion_tokens_details: { reasoning_tokens: 3 },
        },
        service_tier: "priority",
      },
      { finish_reason: "tool_calls" },
    );
    expect(atOnce(messagesAnswer(answer))).toEqual({
      id: "chatcmpl-1",
      type: "message",
      role: "assistant",
      model: "gpt",
      content: [
        { type: "thinking", thinking: "Hm.", signature: "" },
        { type: "text", text: "Yes." },
        { type: "tool_use", id: "c1", name: "f", input: { a: 1 } },
        { type: "tool_use", id: "chatcmpl-1_1", name: "g", input: {} },
      ],
      stop_reason: "tool_use",
      stop_sequence: null,
      usage: {
        input_tokens: 6,
        cache_read_input_tokens: 20,
        cache_creation_input_tokens: 4,
        output_tokens: 7,
        output_tokens_details: { thinking_tokens: 3 },
        service_tier: "priority",
      },
    });
  });

  it.each([
    [{ finish_reason: "stop" }, { stop_reason: "end_turn", stop_sequence: null }],
    [
      { finish_reason: "stop", stop_reason: "END" },
      { stop_reason: "stop_sequence", stop_sequence: "END" },
    ],
    [{ finish_reason: "length" }, { stop_reason: "max_tokens", stop_sequence: null }],
    [
      { finish_reason: "content_filter" },
      {
        stop_reason: "refusal",
        stop_sequence: null,
        stop_details: { type: "refusal", category: null, explanation: null },
      },
    ],
    [{ finish_reason: "eos" }, { stop_reason: "end_turn", stop_sequence: null }],
  ])("ends with %j as %j", (choice, expected) => {
    expect(atOnce(messagesAnswer(completion({ content: "a" }, {}, choice)))).toMatchObject(expected);
  });

  it("says tool_use for calls of a server that says stop", () => {
    expect(atOnce(messagesAnswer(completion({ content: null, tool_calls: [call("c", "f", "{}")] })))).toMatchObject({
      stop_reason: "tool_use",
      content: [{ type: "tool_use", id: "c", name: "f", input: {} }],
    });
  });

  it.each([
    ["{", "stop", "upstream_failed"],
    ['"a"', "tool_calls", "upstream_failed"],
    ["[]", "length", {}],
    ['{"a":', "length", {}],
    [" \n", "tool_calls", {}],
    [null, "tool_calls", {}],
    [{ a: 1 }, "tool_calls", { a: 1 }],
    [1, "tool_calls", "upstream_failed"],
  ])(
    "has an object as the input of a call with the arguments %j of an answer that ended with %s",
    (written, reason, expected) => {
      const tool_calls = [{ id: "c", type: "function", function: { name: "f", arguments: written } }];
      const read = (): unknown => {
        try {
          const message = atOnce(
            messagesAnswer(completion({ content: null, tool_calls }, {}, { finish_reason: reason })),
          );
          return (message["content"] as readonly JsonObject[])[0]?.["input"];
        } catch (error) {
          return (error as GatewayError).code;
        }
      };
      expect(read()).toEqual(expected);
    },
  );

  it("shows a refusal as text with its reason to stop", () => {
    expect(atOnce(messagesAnswer(completion({ content: null, refusal: "No." })))).toMatchObject({
      content: [{ type: "text", text: "No." }],
      stop_reason: "refusal",
      stop_details: { explanation: "No." },
    });
  });

  it.each([
    [{ prompt_tokens: -1, completion_tokens: 1.5 }, {}],
    [{ prompt_tokens: "9", completion_tokens: 2 }, { output_tokens: 2 }],
    [{ prompt_tokens: 2 ** 53, completion_tokens: 0 }, { output_tokens: 0 }],
    [
      { prompt_tokens: 5, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 6 } },
      { input_tokens: 5, output_tokens: 1 },
    ],
    [null, {}],
  ])("believes nothing impossible of the usage %j", (usage, expected) => {
    expect(atOnce(messagesAnswer(completion({ content: "a" }, { usage })))["usage"]).toEqual(expected);
  });
});

describe("a message as a chat completion", () => {
  it("has all texts in one, thinking, calls, and cached tokens within the prompt", () => {
    const thinking = { type: "thinking", thinking: "Hm.", signature: "s" };
    const redacted = { type: "redacted_thinking", data: "x" };
    const answer = message(
      [
        thinking,
        redacted,
        { type: "text", text: "Y", citations: null },
        { type: "text", text: "es." },
        { type: "tool_use", id: "t1", name: "f", input: { a: 1 } },
        { type: "server_tool_use", id: "s", name: "web_search", input: {} },
      ],
      {
        stop_reason: "tool_use",
        usage: {
          input_tokens: 6,
          cache_read_input_tokens: 20,
          cache_creation_input_tokens: 4,
          output_tokens: 7,
          output_tokens_details: { thinking_tokens: 3 },
          service_tier: "standard",
        },
      },
    );
    expect(atOnce(chatAnswer(answer, 5))).toEqual({
      id: "msg_1",
      object: "chat.completion",
      created: 5,
      model: "claude",
      choices: [
        {
          index: 0,
          finish_reason: "tool_calls",
          logprobs: null,
          message: {
            role: "assistant",
            content: "Yes.",
            refusal: null,
            reasoning_content: "Hm.",
            thinking_blocks: [thinking, redacted],
            tool_calls: [call("t1", "f", '{"a":1}')],
          },
        },
      ],
      usage: {
        prompt_tokens: 30,
        completion_tokens: 7,
        total_tokens: 37,
        prompt_tokens_details: { cached_tokens: 20, cache_write_tokens: 4 },
        completion_tokens_details: { reasoning_tokens: 3 },
      },
      service_tier: "default",
    });
  });

  it.each([
    ["end_turn", "stop"],
    ["stop_sequence", "stop"],
    ["max_tokens", "length"],
    ["model_context_window_exceeded", "length"],
    ["tool_use", "tool_calls"],
    ["refusal", "content_filter"],
    ["pause_turn", "stop"],
  ])("stops for %s as %s", (stop_reason, finish_reason) => {
    const answer = message([], { stop_reason, stop_details: { type: "refusal", explanation: null } });
    expect(atOnce(chatAnswer(answer, 5))["choices"]).toMatchObject([
      { finish_reason, message: { content: null, refusal: null } },
    ]);
  });

  it.each([
    [{ input_tokens: -1, output_tokens: 2 }],
    [{ input_tokens: 1 }],
    [{ input_tokens: 2 ** 53 - 1, output_tokens: 1 }],
    [undefined],
  ])("has no usage that cannot be: %j", (usage) => {
    expect(atOnce(chatAnswer(message([], { usage }), 5))).not.toHaveProperty("usage");
  });
});

describe("what is no answer", () => {
  it.each([
    ["a completion without choices", () => messagesAnswer({ id: "a", choices: [] })],
    ["a message without content", () => chatAnswer({ id: "a", type: "message" }, 5)],
  ])("fails as the upstream's fault: %s", (_, translate) => {
    expect(() => atOnce(translate())).toThrow(GatewayError);
  });
});

describe("errors", () => {
  it.each([
    [400, "invalid_request_error"],
    [401, "authentication_error"],
    [403, "permission_error"],
    [404, "not_found_error"],
    [413, "request_too_large"],
    [422, "invalid_request_error"],
    [429, "rate_limit_error"],
    [500, "api_error"],
    [503, "overloaded_error"],
    [504, "timeout_error"],
  ])("of status %i are %s in Messages", (status, type) => {
    const body = { error: { message: "why", type: "x", param: null, code: null } };
    expect(messagesError(status, body)).toEqual({ type: "error", error: { type, message: "why" } });
  });

  it.each([
    [400, "invalid_request_error", "invalid_request_error"],
    [401, "authentication_error", "authentication_error"],
    [429, "rate_limit_error", "rate_limit_error"],
    [529, "overloaded_error", "server_error"],
  ])("of status %i and type %s are %s in chat completions", (status, code, type) => {
    const body = { type: "error", error: { type: code, message: "why" }, request_id: "r" };
    expect(chatError(status, body)).toEqual({ error: { message: "why", type, param: null, code } });
  });

  it.each([
    [{ error: "why" }, "why"],
    [{ message: "why" }, "why"],
    [{ detail: "why" }, "why"],
    [null, "the upstream answered with status 418"],
    [[1], "the upstream answered with status 418"],
  ])("of %j say %s", (body, message) => {
    expect([messagesError(418, body), chatError(418, body)]).toMatchObject([
      { error: { message } },
      { error: { message } },
    ]);
  });
});
