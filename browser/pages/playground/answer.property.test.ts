/** An answer is what its upstream has said, however it was cut into chunks and whatever else came. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Answer, answerLength, failureIn, NO_ANSWER, textBlocks, withChunk } from "./answer.ts";

const delta = (said: object): object => ({ choices: [{ index: 0, delta: said }] });
const folded = (chunks: readonly unknown[]): Answer => chunks.reduce<Answer>(withChunk, NO_ANSWER);
const pieces = fc.array(fc.string({ unit: "binary" }), { maxLength: 20 });

describe("an answer", () => {
  it("is its chunks in their order", () => {
    fc.assert(
      fc.property(pieces, pieces, (content, reasoning) => {
        const chunks = [
          ...reasoning.map((reasoning_content) => delta({ reasoning_content })),
          ...content.map((text) => delta({ content: text })),
          { choices: [{ delta: {}, finish_reason: "stop" }] },
          { choices: [], usage: {} },
        ];
        const whole = { content: content.join(""), reasoning: reasoning.join(""), toolCalls: [], finishReason: "stop" };
        expect(folded(chunks)).toEqual(whole);
        expect(answerLength(whole)).toBe(whole.content.length + whole.reasoning.length);
      }),
    );
  });

  it("has the calls of tools that come in parts, beside one another", () => {
    fc.assert(
      fc.property(fc.array(pieces, { minLength: 1, maxLength: 5 }), (calls) => {
        const chunks = calls.flatMap((parts, index) => [
          delta({ tool_calls: [{ index, id: `call-${index}`, function: { name: "look", arguments: "" } }] }),
          ...parts.map((args) => delta({ tool_calls: [{ index, function: { arguments: args } }] })),
        ]);
        expect(folded(chunks).toolCalls).toEqual(
          calls.map((parts, index) => ({ id: `call-${index}`, name: "look", args: parts.join("") })),
        );
      }),
    );
  });

  it("is read of one document too", () => {
    const message = { content: "hi", tool_calls: [{ id: "a", function: { name: "f", arguments: "{}" } }] };
    expect(withChunk(NO_ANSWER, { choices: [{ message, finish_reason: "tool_calls" }] })).toEqual({
      content: "hi",
      reasoning: "",
      toolCalls: [{ id: "a", name: "f", args: "{}" }],
      finishReason: "tool_calls",
    });
  });

  it("is an answer whatever comes", () => {
    const hostile = fc.oneof(
      fc.anything(),
      fc.anything().map((value) => ({ choices: [{ delta: value, finish_reason: value }] })),
      fc.anything().map((value) => delta({ content: value, reasoning: value, tool_calls: value })),
      fc
        .record({ index: fc.anything(), id: fc.anything(), function: fc.anything() })
        .map((call) => delta({ tool_calls: [call, { index: 1e308 }, { index: -1 }, { index: 2 ** 32 }] })),
    );
    fc.assert(
      fc.property(fc.array(hostile, { maxLength: 10 }), (chunks) => {
        const { content, reasoning, toolCalls, finishReason } = folded(chunks);
        expect({ contentType: typeof content, reasoningType: typeof reasoning }).toEqual({
          contentType: "string",
          reasoningType: "string",
        });
        expect(finishReason === null || typeof finishReason === "string").toBe(true);
        for (const { id, name, args } of toolCalls)
          expect({ idType: typeof id, nameType: typeof name, argsType: typeof args }).toEqual({
            idType: "string",
            nameType: "string",
            argsType: "string",
          });
        for (const chunk of chunks) expect(() => failureIn(chunk)).not.toThrow();
      }),
    );
  });

  it("ends with what its stream says went wrong", () => {
    expect(failureIn({ error: { code: "upstream_stream_error", message: "broken" } })).toEqual({
      code: "upstream_stream_error",
      message: "broken",
    });
    expect({ nullError: failureIn({ error: null }), content: failureIn(delta({ content: "a" })) }).toEqual({
      nullError: null,
      content: null,
    });
  });
});

describe("a text", () => {
  it.each([
    ["a\nb", [{ isCode: false, text: "a\nb" }]],
    [
      "see\n```ts\nlet a = 1;\n\n```\nso",
      [
        { isCode: false, text: "see" },
        { isCode: true, text: "let a = 1;\n" },
        { isCode: false, text: "so" },
      ],
    ],
    ["~~~~\n```\n~~~\n~~~~", [{ isCode: true, text: "```\n~~~" }]],
    ["```\nnot closed", [{ isCode: true, text: "not closed" }]],
    ["a `b` ``` c", [{ isCode: false, text: "a `b` ``` c" }]],
    ["", []],
  ])("%j is cut at its fences", (text, blocks) => {
    expect(textBlocks(text)).toEqual(blocks);
  });

  it("loses nothing but fences and empty lines around them", () => {
    const line = fc.constantFrom("", "a", "  b", "```", "~~~", "```js", "````");
    fc.assert(
      fc.property(fc.array(line), (lines) => {
        const shown = textBlocks(lines.join("\n")).flatMap(({ text }) => text.split("\n"));
        const words = (all: readonly string[]) => all.filter((one) => /[ab]$/.test(one));
        expect(words(shown)).toEqual(words(lines));
      }),
    );
  });
});
