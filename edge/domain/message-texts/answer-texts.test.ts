import { expect, it } from "vitest";
import { atOnce } from "../../../shared/steps.ts";
import { answerParts, dropPieces } from "./answer-texts.ts";

it("reads a list of any length in an answer, in order", () => {
  const content = Array.from({ length: 200_000 }, (_, at) => ({ type: "text", text: String(at) }));
  const { texts } = atOnce(answerParts({ choices: [{ message: { content } }] }));
  expect(texts).toHaveLength(content.length);
  expect({ first: texts[0]?.text, last: texts.at(-1)?.text }).toEqual({ first: "0", last: "199999" });
});

it.each<[string, object, readonly string[]]>([
  ["a custom tool of chat", { choices: [{ delta: { tool_calls: [{ custom: { name: "n", input: "a" } }] } }] }, ["a"]],
  [
    "a tool of messages",
    { content: [{ type: "tool_use", input: { prompt: "a", metadata: { error: "b" } } }] },
    ['{"prompt":"a","metadata":{"error":"b"}}'],
  ],
  [
    "a shell of responses",
    { output: [{ type: "shell_call", action: { commands: ["a"] }, id: "i" }] },
    ['{"commands":["a"]}'],
  ],
  [
    "code of responses",
    { item: { type: "code_interpreter_call", code: "a", outputs: [{ logs: "b" }] } },
    ["a", '[{"logs":"b"}]'],
  ],
  ["a server of responses", { output: [{ type: "mcp_call", arguments: "{}", output: "a" }] }, ["{}", "a"]],
  ["an image of responses", { output: [{ type: "image_generation_call", result: "AAAA" }] }, []],
  ["what another type calls output", { output: "a", code: "b", results: [{ id: "c" }] }, []],
])("reads what a model asks a tool for, and what that found: %s", (_, document, expected) => {
  expect(atOnce(answerParts(document)).texts.map(({ text }) => text)).toEqual(expected);
});

it("reads what an answer quotes: the titles of its annotations, and no places", () => {
  const annotations = [{ type: "url_citation", url: "https://a.test", title: "a", start_index: 0 }];
  const { texts } = atOnce(answerParts({ output: [{ type: "message", content: [{ text: "b", annotations }] }] }));
  expect(texts.map(({ text }) => text).toSorted()).toEqual(["a", "b"]);
});

it("leaves out the words of a transcription, as it leaves out tokens", () => {
  const document = { text: "a b", words: [{ word: "a" }, { word: "b" }], segments: [{ text: "a b", words: [{}] }] };
  const parts = atOnce(answerParts(document));
  expect(parts.texts.map(({ text }) => text)).toEqual(["a b", "a b"]);
  expect(atOnce(dropPieces(parts))).toBe(true);
  expect(document).toEqual({ text: "a b", words: null, segments: [{ text: "a b", words: null }] });
  const input = { words: ["w"], logprobs: { x: "y" } };
  const called = atOnce(answerParts({ content: [{ type: "tool_use", input }] }));
  expect(called).toMatchObject({ texts: [{ text: JSON.stringify(input) }], withLogprobs: [] });
});
