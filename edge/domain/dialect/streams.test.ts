/** Streams in the form of the other dialect, event by event (docs/rules/dialects.md#streams). */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { atOnce } from "../../../shared/steps.ts";
import type { JsonObject } from "../wire/json/document.ts";
import type { StreamTranslation } from "./contract.ts";
import { ChatStream } from "./to-chat/stream.ts";
import { ObjectText } from "./to-messages/object-text.ts";
import { MessagesStream } from "./to-messages/stream.ts";

const NO_OBJECT = "the arguments of a tool call are not a JSON object";
const TOO_MUCH = "the answer has more parallel tool calls than can be kept";
const chatStream = (usageAsked = false) => new ChatStream({ createdSecs: 5, usageAsked });

/** The data of the events that one event of the upstream becomes. */
function next(stream: StreamTranslation, event: object | string, name: string | null = null): unknown[] {
  return dataOf(atOnce(stream.event(name, typeof event === "string" ? event : JSON.stringify(event))));
}

function dataOf(text: string): unknown[] {
  const lines = text.split("\n").filter((line) => line.startsWith("data: "));
  return lines.map((line) => (line === "data: [DONE]" ? "[DONE]" : (JSON.parse(line.slice(6)) as unknown)));
}

const chunk = (delta: object, finish_reason: string | null = null): object => ({
  id: "chatcmpl-1",
  object: "chat.completion.chunk",
  created: 5,
  model: "gpt",
  choices: [{ index: 0, delta, finish_reason }],
});
const called = (index: number, members: object, input: string) =>
  chunk({
    tool_calls: [{ index, ...members, function: { ...("id" in members ? { name: "f" } : {}), arguments: input } }],
  });
const started = {
  type: "message_start",
  message: {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "claude",
    content: [],
    usage: { input_tokens: 3, cache_read_input_tokens: 2, output_tokens: 1 },
  },
};
const toChunk = (delta: object, finish_reason: string | null = null) => ({
  id: "msg_1",
  object: "chat.completion.chunk",
  created: 5,
  model: "claude",
  choices: [{ index: 0, delta, finish_reason, logprobs: null }],
});

describe("a message's stream as chunks", () => {
  it("sends each delta as it comes, and the finish and the usage with the end", () => {
    const stream = chatStream(true);
    const events = [
      started,
      { type: "ping" },
      { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "", signature: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "Hm." } },
      { type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature: "s" } },
      { type: "content_block_stop", index: 0 },
      { type: "content_block_start", index: 1, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "Yes" } },
      { type: "content_block_stop", index: 1 },
      { type: "content_block_start", index: 2, content_block: { type: "tool_use", id: "t1", name: "f", input: {} } },
      { type: "content_block_delta", index: 2, delta: { type: "input_json_delta", partial_json: '{"a":' } },
      { type: "content_block_delta", index: 2, delta: { type: "input_json_delta", partial_json: "1}" } },
      { type: "content_block_stop", index: 2 },
      { type: "content_block_start", index: 3, content_block: { type: "tool_use", id: "t2", name: "g", input: {} } },
      { type: "content_block_delta", index: 3, delta: { type: "input_json_delta", partial_json: "" } },
      { type: "content_block_stop", index: 3 },
      { type: "message_delta", delta: { stop_reason: "tool_use", stop_sequence: null }, usage: { output_tokens: 9 } },
      { type: "message_stop" },
    ];
    const tool = (index: number, members: object) => toChunk({ tool_calls: [{ index, ...members }] });
    expect(events.map((event) => next(stream, event))).toEqual([
      [toChunk({ role: "assistant", content: "" })],
      [],
      [],
      [toChunk({ reasoning_content: "Hm." })],
      [],
      [toChunk({ thinking_blocks: [{ type: "thinking", thinking: "Hm.", signature: "s" }] })],
      [],
      [toChunk({ content: "Yes" })],
      [],
      [tool(0, { id: "t1", type: "function", function: { name: "f", arguments: "" } })],
      [tool(0, { function: { arguments: '{"a":' } })],
      [tool(0, { function: { arguments: "1}" } })],
      [],
      [tool(1, { id: "t2", type: "function", function: { name: "g", arguments: "" } })],
      [],
      [tool(1, { function: { arguments: "{}" } })],
      [],
      [
        toChunk({}, "tool_calls"),
        {
          ...toChunk({}),
          choices: [],
          usage: {
            prompt_tokens: 5,
            completion_tokens: 9,
            total_tokens: 14,
            prompt_tokens_details: { cached_tokens: 2 },
          },
        },
        "[DONE]",
      ],
    ]);
    expect(stream.end()).toBe("");
  });

  it("has no usage that was not asked for, and the words of a refusal", () => {
    const stream = chatStream();
    const refused = { stop_reason: "refusal", stop_details: { type: "refusal", explanation: "No." } };
    next(stream, started);
    next(stream, { type: "message_delta", delta: refused, usage: { output_tokens: 9 } });
    expect(next(stream, { type: "message_stop" })).toEqual([toChunk({ refusal: "No." }, "content_filter"), "[DONE]"]);
  });

  it("sends no call of a tool that the upstream runs itself", () => {
    const stream = chatStream();
    next(stream, started);
    const block = { type: "server_tool_use", id: "s", name: "web_search", input: {} };
    next(stream, { type: "content_block_start", index: 0, content_block: block });
    const delta = { type: "input_json_delta", partial_json: '{"q":1}' };
    expect(next(stream, { type: "content_block_delta", index: 0, delta })).toEqual([]);
  });

  it("ends with an error event of the upstream", () => {
    const stream = chatStream();
    next(stream, started);
    const error = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
    expect(next(stream, error)).toEqual([
      { error: { message: "Overloaded", type: "server_error", param: null, code: "overloaded_error" } },
    ]);
    expect([next(stream, { type: "message_stop" }), stream.end()]).toEqual([[], ""]);
  });

  it.each([
    ["an error that is text", null, { error: "Request failed" }, "Request failed"],
    ["an event named error", "error", { message: "full" }, "full"],
  ])("ends with %s", (_, name, event, message) => {
    const stream = chatStream();
    next(stream, started);
    const error = { message, type: "server_error", param: null, code: null };
    expect({ sent: next(stream, event, name), end: next(stream, { type: "message_stop" }) }).toEqual({
      sent: [{ error }],
      end: [],
    });
  });

  it("does not send a block of thinking whose signature is too long to keep", () => {
    const stream = chatStream();
    const signed = { type: "signature_delta", signature: "s".repeat(300_000) };
    const events = [
      started,
      { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "a", signature: "" } },
      ...Array.from({ length: 5 }, () => ({ type: "content_block_delta", index: 0, delta: signed })),
      { type: "content_block_stop", index: 0 },
    ];
    expect(events.map((event) => next(stream, event).length)).toEqual([1, 1, 0, 0, 0, 0, 0, 0]);
  });
});

describe("a chat completion's stream as events", () => {
  const start = {
    type: "message_start",
    message: {
      id: "chatcmpl-1",
      type: "message",
      role: "assistant",
      model: "gpt",
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: 0, output_tokens: 0 },
    },
  };
  const opened = (index: number, content_block: object) => ({ type: "content_block_start", index, content_block });
  const delta = (index: number, members: object) => ({ type: "content_block_delta", index, delta: members });
  const closed = (index: number) => ({ type: "content_block_stop", index });
  const toolUse = (id: string) => ({ type: "tool_use", id, name: "f", input: {} });
  const inputDelta = (partial_json: string) => ({ type: "input_json_delta", partial_json });

  it("sends each delta as it comes, one block after the other", () => {
    const stream = new MessagesStream();
    const events = [
      chunk({ role: "assistant", content: "" }),
      chunk({ reasoning: "Hm." }),
      chunk({ content: "Yes" }),
      chunk({ content: "." }),
      called(0, { id: "c1", type: "function" }, ""),
      called(0, {}, '{"a":'),
      called(0, {}, '"}"}'),
      called(1, { id: "c2", type: "function" }, "{}"),
      chunk({}, "tool_calls"),
      { ...chunk({}), choices: [], usage: { prompt_tokens: 5, completion_tokens: 9 } },
      "[DONE]",
    ];
    expect(events.map((event) => next(stream, event))).toEqual([
      [start],
      [
        opened(0, { type: "thinking", thinking: "", signature: "" }),
        delta(0, { type: "thinking_delta", thinking: "Hm." }),
      ],
      [closed(0), opened(1, { type: "text", text: "" }), delta(1, { type: "text_delta", text: "Yes" })],
      [delta(1, { type: "text_delta", text: "." })],
      [closed(1)],
      [opened(2, toolUse("c1")), delta(2, inputDelta('{"a":'))],
      [delta(2, inputDelta('"}"}'))],
      [closed(2), opened(3, toolUse("c2")), delta(3, inputDelta("{}"))],
      [],
      [],
      [
        closed(3),
        {
          type: "message_delta",
          delta: { stop_reason: "tool_use", stop_sequence: null },
          usage: { input_tokens: 5, output_tokens: 9 },
        },
        { type: "message_stop" },
      ],
    ]);
    expect(stream.end()).toBe("");
  });

  it("keeps what interleaves until it is its turn", () => {
    const stream = new MessagesStream();
    const events = [
      called(0, { id: "c1" }, '{"a'),
      called(1, { id: "c2" }, '{"b":1'),
      chunk({ content: "Late." }),
      called(0, {}, '":2}'),
      called(1, {}, "}"),
    ];
    expect(events.map((event) => next(stream, event))).toEqual([
      [start, opened(0, toolUse("c1")), delta(0, inputDelta('{"a'))],
      [],
      [],
      [delta(0, inputDelta('":2}')), closed(0), opened(1, toolUse("c2")), delta(1, inputDelta('{"b":1'))],
      [
        delta(1, inputDelta("}")),
        closed(1),
        opened(2, { type: "text", text: "" }),
        delta(2, { type: "text_delta", text: "Late." }),
      ],
    ]);
  });

  it("starts a call for each new id without an index, and joins the pieces of a name", () => {
    const stream = new MessagesStream();
    const call = (id: string | undefined, name: string, input: string) =>
      chunk({ tool_calls: [{ id, function: { name, arguments: input } }] });
    const events = [call("c1", "look", ""), call(undefined, "_up", "{}"), call("c2", "f", "{}"), "[DONE]"];
    const blocks = events
      .flatMap((event) => next(stream, event))
      .filter((one) => (one as JsonObject)["type"] === "content_block_start");
    expect(blocks).toEqual([opened(0, { ...toolUse("c1"), name: "look_up" }), opened(1, toolUse("c2"))]);
  });

  it.each([
    [
      "an error",
      { error: { message: "out of memory", type: "server_error", code: 500 } },
      "api_error",
      "out of memory",
    ],
    ["an error of another form", { object: "error", message: "full", code: 429 }, "rate_limit_error", "full"],
    ["what is no JSON", "<html>", "api_error", "upstream stream interrupted"],
  ])("ends with %s of the upstream as an error event", (_, event, type, message) => {
    const stream = new MessagesStream();
    next(stream, chunk({ content: "a" }));
    expect(next(stream, event)).toEqual([{ type: "error", error: { type, message } }]);
    expect([next(stream, "[DONE]"), stream.end()]).toEqual([[], ""]);
  });

  it.each([
    ["an error that is text", null, { error: "Request failed", error_type: "generation" }],
    ["an event named error", "error", { message: "Request failed" }],
  ])("ends with %s", (_, name, event) => {
    const stream = new MessagesStream();
    next(stream, chunk({ content: "a" }));
    const error = { type: "error", error: { type: "api_error", message: "Request failed" } };
    expect({ sent: next(stream, event, name), end: next(stream, "[DONE]") }).toEqual({ sent: [error], end: [] });
  });

  it("takes its turns with very many calls of one event", () => {
    const calls = Array.from({ length: 5000 }, (_, at) => ({
      index: 0,
      id: "c",
      function: { name: "f", arguments: at === 0 ? '{"' : "a" },
    }));
    const steps = new MessagesStream().event(null, JSON.stringify(chunk({ tool_calls: calls })));
    const [ofEvent, ofText] = [steps, new ObjectText().push("a".repeat(100_000))].map((all) => [...all]);
    expect({ event: (ofEvent?.length ?? 0) > 10_000, text: ofText?.length, most: Math.max(...(ofText ?? [])) }).toEqual(
      {
        event: true,
        text: 25,
        most: 4096,
      },
    );
  });

  it.each([
    [
      "names of waiting calls that are too long to keep",
      [
        called(0, { id: "a" }, "{"),
        ...Array.from({ length: 50 }, (_, index) =>
          chunk({ tool_calls: [{ index: 1, id: "b", function: { name: `${String(index)}${"n".repeat(90_000)}` } }] }),
        ),
      ],
      `: ${TOO_MUCH}`,
    ],
    [
      "arguments behind the end of a call",
      [called(0, { id: "a" }, "{}"), called(1, { id: "b" }, "{}"), called(0, {}, "{}")],
      `: ${NO_OBJECT}`,
    ],
    [
      "more calls than any answer has",
      Array.from({ length: 258 }, (_, index) => called(index, { id: `c${String(index)}` }, "{}")),
      `: ${TOO_MUCH}`,
    ],
    ["an end without a beginning", ["[DONE]"], ""],
  ])("breaks for %s, and says so", (_, events, fault) => {
    const stream = new MessagesStream();
    const all = events.flatMap((event) => next(stream, event));
    const message = `upstream stream interrupted${fault}`;
    expect(all.at(-1)).toEqual({ type: "error", error: { type: "api_error", message } });
  });
});

describe("any events of an upstream", () => {
  const part = fc.oneof(
    fc.constantFrom(
      chunk({ role: "assistant" }),
      chunk({ content: "a" }),
      chunk({ reasoning_content: "b" }),
      called(0, { id: "x" }, '{"a'),
      called(0, {}, '":1}'),
      called(1, { id: "y" }, "{"),
      called(1, {}, "}"),
      called(2, { id: "z" }, ""),
      chunk({}, "stop"),
      { error: { message: "m" } },
      started,
      { type: "content_block_start", index: 0, content_block: { type: "tool_use", id: "t", name: "f", input: {} } },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "a" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "b" } },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 1 } },
      { type: "ping" },
    ),
    fc.object({ key: fc.constantFrom("type", "choices", "delta", "content_block", "usage", "error") }),
  );

  it("become one block after the other, and complete only after the upstream's end", () => {
    fc.assert(
      fc.property(fc.array(part, { maxLength: 30 }), fc.boolean(), (events, ends) => {
        const stream = new MessagesStream();
        const sent = [...events.map((event) => JSON.stringify(event)), ...(ends ? ["[DONE]"] : [])];
        const text = sent.map((data) => atOnce(stream.event(null, data))).join("") + stream.end();
        const types = dataOf(text).map((one) => String((one as JsonObject)["type"]));
        const shape = types.map((type) => LETTERS[type] ?? "?").join("");
        expect(shape).toMatch(ends ? /^(s(bd*c)*(bd*)?E|s(bd*c)*me|E)$/ : /^(s(bd*c)*(bd*)?)?E$/);
      }),
    );
  });

  it("become chunks, and complete only after the upstream's end", () => {
    fc.assert(
      fc.property(fc.array(part, { maxLength: 30 }), (events) => {
        const stream = chatStream(true);
        const all = events.flatMap((event) => next(stream, event)).concat(dataOf(stream.end())) as JsonObject[];
        const finishes = all.filter(({ choices }) => (choices as JsonObject[] | undefined)?.[0]?.["finish_reason"]);
        expect({ finishes, last: Object.keys(all.at(-1) ?? {}) }).toEqual({ finishes: [], last: ["error"] });
      }),
    );
  });
});

const LETTERS: Readonly<Record<string, string>> = {
  message_start: "s",
  content_block_start: "b",
  content_block_delta: "d",
  content_block_stop: "c",
  message_delta: "m",
  message_stop: "e",
  error: "E",
};
