import { describe, expect, it } from "vitest";
import { atOnce } from "../../../shared/steps.ts";
import { answerParts, dropPieces } from "./answer-texts.ts";

it("reads a list of any length in an answer, in order", () => {
  const content = Array.from({ length: 200_000 }, (_, at) => ({ type: "text", text: String(at) }));
  const { texts } = atOnce(answerParts({ choices: [{ message: { content } }] }));
  expect(texts).toHaveLength(content.length);
  expect({ first: texts[0]?.text, last: texts.at(-1)?.text }).toEqual({ first: "0", last: "199999" });
});

it("says that it has not read all of a longer one", () => {
  const { texts, isWhole } = atOnce(answerParts({ content: Array.from({ length: 262_145 }, () => "a") }));
  expect({ length: texts.length, isWhole }).toEqual({ length: 262_144, isWhole: false });
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
  ["what another type calls output", { output: "a", code: "b", results: [{ id: "c1" }] }, ["a", "b"]],
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

describe("every other string of an answer", () => {
  const textsOf = (document: unknown) => atOnce(answerParts(document)).texts.map(({ text }) => text);

  it.each<[string, object, readonly string[]]>([
    [
      "results of Anthropic's tools",
      {
        content: [
          {
            type: "x_result",
            tool_use_id: "srvtoolu_1",
            content: { type: "bash_code_execution_result", stdout: "a", stderr: "b" },
          },
          { type: "x_result", content: { type: "text_editor_code_execution_str_replace_result", lines: ["c", "d"] } },
          {
            type: "x_result",
            content: { content: { source: { type: "text", media_type: "text/plain", data: "e e" } } },
          },
          { type: "text", citations: [{ type: "char_location", document_title: "f", file_id: null }] },
        ],
      },
      ["a", "b", "c", "d", "e e", "f"],
    ],
    [
      "results of OpenAI's tools",
      {
        object: "response",
        output: [
          { type: "shell_call_output", call_id: "call_1", output: [{ stdout: "a", outcome: { type: "exit" } }] },
          { type: "local_shell_call_output", id: "lsh_1", output: "b" },
          { type: "mcp_call", error: "c", name: "n", server_label: "s" },
          { type: "image_generation_call", revised_prompt: "d", result: "AAAA", quality: "high" },
          { type: "mcp_list_tools", tools: [{ name: "n", description: "e" }] },
        ],
      },
      ["a", "b", "c", "d", "e"],
    ],
    ["a member that nobody knows yet", { choices: [{ message: { brand_new: { deep: ["a"] } } }] }, ["a"]],
    [
      "what stands where a word does",
      { choices: [{ message: { role: "a b" }, finish_reason: "c d" }] },
      ["a b", "c d"],
    ],
  ])("is examined: %s", (_, document, expected) => {
    expect(textsOf(document).toSorted()).toEqual(expected);
  });

  it.each<[string, object]>([
    [
      "ids, types and words",
      {
        id: "c1",
        object: "x",
        model: "m",
        system_fingerprint: "fp",
        provider: "p",
        choices: [
          {
            finish_reason: "stop",
            delta: {
              role: "assistant",
              tool_calls: [{ id: "call_4111111111111111", type: "function", function: { name: "f" } }],
            },
          },
        ],
      },
    ],
    [
      "places and bytes",
      {
        data: [{ b64_json: "AAAA", url: "u", embedding: "AAAA" }],
        citations: ["https://a.test/4111111111111111"],
        audio: { data: "A".repeat(256) },
      },
    ],
    [
      "what is sealed",
      {
        content: [
          { type: "thinking", signature: "s" },
          { type: "redacted_thinking", data: "A".repeat(256) },
        ],
        encrypted_index: "e",
      },
    ],
    [
      "what a response repeats",
      {
        type: "response.created",
        response: {
          object: "response",
          instructions: "i",
          tools: [{ description: "t" }],
          text: { format: { schema: { description: "d" } }, verbosity: "v" },
          reasoning: { effort: "low", summary: "auto" },
          metadata: { m: "m" },
          prompt: { id: "p" },
          error: { message: "e" },
          user: "u",
          truncation: "auto",
          output: [],
        },
      },
    ],
    ["the prompt, token by token", { prompt_logprobs: [{ "1": { decoded_token: "a" } }], choices: [] }],
    ["sound", { type: "response.audio.delta", delta: "AAAA", item_id: "i", obfuscation: "o o" }],
  ])("but for %s", (_, document) => {
    expect(textsOf(document)).toEqual([]);
  });
});
