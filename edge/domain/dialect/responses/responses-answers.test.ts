/** Answers and streams of chat completions in the form of the Responses API (docs/rules/dialects.md#responses). */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { atOnce } from "../../../../shared/steps.ts";
import type { JsonObject } from "../../wire/json/document.ts";
import type { Translation } from "../contract.ts";
import { type Dialect, translationOf } from "../translation.ts";

const TOOLS = [
  { type: "custom", name: "patch" },
  { type: "namespace", name: "ns", tools: [{ type: "function", name: "f" }] },
];

function translation(dialect: Dialect = "openai", body: JsonObject = {}): Translation {
  const made = translationOf("/v1/responses", dialect, { createdSecs: 5, usageAsked: true });
  if (made === null) throw new Error("no translation");
  atOnce(made.request({ model: "m", input: "hi", tools: TOOLS, ...body }));
  return made;
}

const usage = {
  prompt_tokens: 10,
  completion_tokens: 7,
  prompt_tokens_details: { cached_tokens: 4 },
  completion_tokens_details: { reasoning_tokens: 2 },
};
const completion = (message: object, finish_reason = "stop") => ({
  id: "chatcmpl-1",
  model: "gpt",
  choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason }],
  usage,
});
const called = (id: string, name: string, input: string) => ({ id, function: { name, arguments: input } });
const chunk = (delta: object, finish_reason: string | null = null) => ({
  id: "chatcmpl-1",
  model: "gpt",
  choices: [{ index: 0, delta, finish_reason }],
});

interface ResponseEvent extends JsonObject {
  readonly type: string;
  readonly sequence_number: number;
}

/** The events of a stream of these chunks, and the whole answer. */
function streamed(chunks: readonly object[], made = translation(), hasEnd = true) {
  const stream = made.stream();
  let text = "";
  for (const one of chunks) text += atOnce(stream.event(null, JSON.stringify(one)));
  if (hasEnd) text += atOnce(stream.event(null, "[DONE]"));
  text += stream.end();
  const events = text
    .split("\n")
    .filter((line) => line.startsWith("data: "))
    .map((line) => JSON.parse(line.slice(6)) as ResponseEvent);
  const last = events.at(-1) as { readonly response?: JsonObject } | undefined;
  return { events, types: events.map(({ type }) => type), response: last?.response, isBroken: stream.isBroken };
}

const message = (text: string, index: number) => ({
  type: "message",
  id: `msg_chatcmpl-1_${String(index)}`,
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text, annotations: [], logprobs: [] }],
});

describe("an answer of chat completions", () => {
  it("has its reasoning, text and calls as items, and what it used", () => {
    const calls = [called("c1", "f", ""), called("c2", "patch", '{"input":"*** x"}'), called("c3", "ns__f", "{}")];
    const answer = atOnce(
      translation().answer(completion({ reasoning_content: "hm", content: "I look", tool_calls: calls }, "tool_calls")),
    );
    expect(answer).toMatchObject({
      id: "resp_chatcmpl-1",
      object: "response",
      created_at: 5,
      status: "completed",
      store: false,
      error: null,
      incomplete_details: null,
      model: "gpt",
      output: [
        { type: "reasoning", id: "rs_chatcmpl-1_0", summary: [{ type: "summary_text", text: "hm" }] },
        message("I look", 1),
        { type: "function_call", call_id: "c1", name: "f", arguments: "{}", status: "completed" },
        { type: "custom_tool_call", call_id: "c2", name: "patch", input: "*** x", status: "completed" },
        { type: "function_call", call_id: "c3", name: "f", namespace: "ns", arguments: "{}" },
      ],
      usage: {
        input_tokens: 10,
        input_tokens_details: { cached_tokens: 4 },
        output_tokens: 7,
        output_tokens_details: { reasoning_tokens: 2 },
        total_tokens: 17,
      },
    });
  });

  it.each([
    ["length", "incomplete", { reason: "max_output_tokens" }],
    ["content_filter", "incomplete", { reason: "content_filter" }],
    ["stop", "completed", null],
  ])("that ends with %s is %s", (reason, status, incomplete_details) => {
    const answer = atOnce(translation().answer(completion({ content: "a" }, reason)));
    expect(answer).toMatchObject({ status, incomplete_details, output: [{ status }] });
  });

  it("that is a refusal has it as a part of its own; one without a choice has failed", () => {
    const answer = atOnce(translation().answer(completion({ content: null, refusal: "no" })));
    expect(answer["output"]).toMatchObject([{ content: [{ type: "refusal", refusal: "no" }] }]);
    expect(() => atOnce(translation().answer({ choices: [] }))).toThrow("upstream");
  });

  it("of Anthropic's has each signed thought as an item that can be sent back", () => {
    const content = [
      { type: "thinking", thinking: "hm", signature: "S" },
      { type: "redacted_thinking", data: "D" },
      { type: "text", text: "hi" },
    ];
    const answer = atOnce(
      translation("anthropic").answer({ id: "msg_1", model: "c", content, stop_reason: "end_turn" }),
    );
    expect(answer["output"]).toMatchObject([
      { type: "reasoning", summary: [{ text: "hm" }], encrypted_content: "anthropic:signature:S" },
      { type: "reasoning", summary: [], encrypted_content: "anthropic:redacted:D" },
      { type: "message", content: [{ text: "hi" }] },
    ]);
  });

  it("keeps the error of an upstream, with its code", () => {
    const error = { message: "too long", code: "context_length_exceeded" };
    expect(translation().error(400, { error })).toEqual({
      error: { ...error, type: "invalid_request_error", param: null },
    });
    expect(translation().error(500, "x")).toMatchObject({
      error: { message: "the upstream answered with status 500" },
    });
  });
});

describe("a stream of chat completions", () => {
  it("tells of a text piece by piece, in the order of the Responses API", () => {
    const { types, events, response } = streamed([
      chunk({ role: "assistant", content: "" }),
      chunk({ content: "hel" }),
      chunk({ content: "lo" }),
      chunk({}, "stop"),
      { id: "chatcmpl-1", choices: [], usage },
    ]);
    expect(types).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.content_part.added",
      "response.output_text.delta",
      "response.output_text.delta",
      "response.output_text.done",
      "response.content_part.done",
      "response.output_item.done",
      "response.completed",
    ]);
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, at) => at));
    expect(response).toMatchObject({ status: "completed", output: [message("hello", 0)], usage: { total_tokens: 17 } });
  });

  it("has calls whose pieces interleave, and the text of a custom tool once it is whole", () => {
    const piece = (index: number, members: object, input: string) =>
      chunk({ tool_calls: [{ index, ...members, function: { ...members, arguments: input } }] });
    const { events, response } = streamed([
      chunk({ reasoning_content: "hm" }),
      piece(0, { id: "c1", name: "f" }, '{"a"'),
      piece(1, { id: "c2", name: "pa" }, ""),
      piece(1, { name: "tch" }, '{"input":'),
      piece(0, {}, ":1}"),
      piece(1, {}, '"x\\ny"}'),
      chunk({}, "tool_calls"),
    ]);
    expect(
      events
        .filter(({ type }) => /arguments|input/.test(type))
        .map(({ type, delta, item_id }) => [type, delta, item_id]),
    ).toEqual([
      ["response.function_call_arguments.delta", '{"a"', "fc_chatcmpl-1_1"],
      ["response.function_call_arguments.delta", ":1}", "fc_chatcmpl-1_1"],
      ["response.function_call_arguments.done", undefined, "fc_chatcmpl-1_1"],
      ["response.custom_tool_call_input.delta", "x\ny", "ctc_chatcmpl-1_2"],
      ["response.custom_tool_call_input.done", undefined, "ctc_chatcmpl-1_2"],
    ]);
    expect(response).toMatchObject({
      output: [
        { type: "reasoning", summary: [{ text: "hm" }] },
        { type: "function_call", call_id: "c1", name: "f", arguments: '{"a":1}' },
        { type: "custom_tool_call", call_id: "c2", name: "patch", input: "x\ny" },
      ],
      usage: null,
    });
  });

  it.each<[string, readonly object[], boolean]>([
    ["has no end", [chunk({ content: "a" })], false],
    ["has nothing", [], true],
    [
      "has more calls than are kept",
      [chunk({ tool_calls: Array.from({ length: 600 }, (_, index) => ({ index })) })],
      true,
    ],
    ["is larger than is kept", [chunk({ content: "a".repeat(5_000_000) })], true],
  ])("is broken if it %s", (_, chunks, hasEnd) => {
    const { isBroken, types } = streamed(chunks, translation(), hasEnd);
    expect({ isBroken, ended: types.includes("response.completed") }).toEqual({ isBroken: true, ended: false });
  });

  it("ends with the error of its upstream, and nothing after it", () => {
    const { events, isBroken } = streamed([chunk({ content: "a" }), { error: { message: "boom", code: "x" } }]);
    expect(events.at(-1)).toMatchObject({ type: "error", message: "boom", code: "x", error: { message: "boom" } });
    expect(isBroken).toBe(false);
  });

  it("of Anthropic's has its thoughts, their signature and its calls", () => {
    const { response, isBroken } = streamed(
      [
        { type: "message_start", message: { id: "msg_1", model: "c", usage: { input_tokens: 3 } } },
        { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "", signature: "" } },
        { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "hm" } },
        { type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature: "S" } },
        { type: "content_block_stop", index: 0 },
        {
          type: "content_block_start",
          index: 1,
          content_block: { type: "tool_use", id: "t1", name: "patch", input: {} },
        },
        { type: "content_block_delta", index: 1, delta: { type: "input_json_delta", partial_json: '{"input":"x"}' } },
        { type: "content_block_stop", index: 1 },
        { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 5 } },
        { type: "message_stop" },
      ],
      translation("anthropic"),
      false,
    );
    expect({ isBroken, response }).toMatchObject({
      isBroken: false,
      response: {
        id: "resp_msg_1",
        output: [
          { type: "reasoning", summary: [{ text: "hm" }], encrypted_content: "anthropic:signature:S" },
          { type: "custom_tool_call", call_id: "t1", input: "x" },
        ],
        usage: { input_tokens: 3, output_tokens: 5 },
      },
    });
  });
});

describe("there and back", () => {
  const words = fc.string({ minLength: 1, maxLength: 9 });
  const said = fc.record({
    reasoning_content: fc.option(words, { nil: undefined }),
    content: fc.option(words, { nil: null }),
    tool_calls: fc.array(
      fc
        .record({ name: fc.constantFrom("f", "patch", "ns__f"), value: words })
        .map(({ name, value }) => ({ name, value })),
      { maxLength: 3 },
    ),
  });

  it("is the same message, from a document as from a stream of any pieces", () => {
    fc.assert(
      fc.property(said, fc.integer({ min: 1, max: 4 }), ({ reasoning_content, content, tool_calls }, size) => {
        const calls = tool_calls.map(({ name, value }, at) =>
          called(`c${String(at)}`, name, JSON.stringify(name === "patch" ? { input: value } : { a: value })),
        );
        const whole = atOnce(translation().answer(completion({ reasoning_content, content, tool_calls: calls })));
        const pieces = (text: string) => text.match(new RegExp(`[^]{1,${String(size)}}`, "gu")) ?? [];
        const chunks = [
          ...pieces(reasoning_content ?? "").map((part) => chunk({ reasoning_content: part })),
          ...pieces(content ?? "").map((part) => chunk({ content: part })),
          ...calls.flatMap(({ id, function: { name, arguments: input } }, index) => [
            chunk({ tool_calls: [{ index, id, function: { name, arguments: "" } }] }),
            ...pieces(input).map((part) => chunk({ tool_calls: [{ index, function: { arguments: part } }] })),
          ]),
          { ...chunk({}, "stop"), usage },
        ];
        expect(streamed(chunks).response).toEqual(whole);
        const back = translationOf("/v1/responses", "openai", { createdSecs: 5, usageAsked: true });
        const sent = back === null ? {} : atOnce(back.request({ input: whole["output"] }));
        const isEmpty = reasoning_content === undefined && content === null && calls.length === 0;
        const expected = {
          role: "assistant",
          content,
          ...(reasoning_content === undefined ? {} : { reasoning_content }),
          ...(calls.length === 0 ? {} : { tool_calls: calls.map((one) => ({ ...one, type: "function" })) }),
        };
        expect(sent["messages"]).toEqual(isEmpty ? [] : [expected]);
      }),
    );
  });
});
