/** Requests of the Responses API as chat completions (docs/rules/dialects.md#responses). */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { GatewayError } from "../../../../shared/errors.ts";
import { atOnce } from "../../../../shared/steps.ts";
import type { JsonObject } from "../../wire/json/document.ts";
import { type Dialect, translationOf } from "../translation.ts";

function translated(body: JsonObject, dialect: Dialect = "openai"): JsonObject {
  const translation = translationOf("/v1/responses", dialect, { createdSecs: 1, usageAsked: false });
  if (translation === null) throw new Error("no translation");
  return atOnce(translation.request({ model: "m", ...body }));
}

function refusalOf(body: JsonObject, dialect: Dialect = "openai"): object {
  try {
    return translated(body, dialect);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const { status, body: document } = error;
    return { status, code: document.error.code, param: document.error.param };
  }
}

const messagesOf = (input: unknown, more: JsonObject = {}) => translated({ input, ...more })["messages"];
const text = (said: string) => ({ type: "input_text", text: said });
const call = { type: "function_call", id: "fc_1", call_id: "c1", name: "f", arguments: '{"a":1}' };
const chatCall = { id: "c1", type: "function", function: { name: "f", arguments: '{"a":1}' } };
const image = { type: "input_image", image_url: "data:image/png;base64,AAAA", detail: "high" };
const seen = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA", detail: "high" } };
const tool = { type: "function", name: "f", description: "d", parameters: { type: "object" }, strict: true };
const namespace = { type: "namespace", name: "ns", tools: [{ type: "function", name: "g", description: "e" }] };
const patch = {
  type: "custom",
  name: "apply_patch",
  description: "Edits files",
  format: { type: "grammar", syntax: "lark", definition: "start: begin" },
};

describe("a request of the Responses API becomes one of chat completions", () => {
  it.each<[string, unknown, JsonObject, readonly object[]]>([
    ["a text", "hi", {}, [{ role: "user", content: "hi" }]],
    [
      "instructions, and what the system says before all others, in one message",
      [
        { role: "developer", content: "b" },
        { type: "message", role: "system", content: [text("c")] },
        { role: "user", content: [text("hi"), text("you")] },
        { role: "developer", content: "later" },
      ],
      { instructions: "a" },
      [
        { role: "system", content: "a\nb\nc" },
        { role: "user", content: "hi\nyou" },
        { role: "system", content: "later" },
      ],
    ],
    [
      "a turn of the model, whose items are one message",
      [
        { role: "user", content: "hi" },
        { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "hm" }], encrypted_content: "gAAA" },
        {
          role: "assistant",
          content: [
            { type: "output_text", text: "I " },
            { type: "output_text", text: "look" },
          ],
        },
        call,
        { ...call, call_id: "c2" },
        { type: "function_call_output", call_id: "c1", output: "7" },
        { type: "function_call_output", call_id: "c2", output: [text("8"), image, text("9")] },
        { role: "assistant", content: "done" },
      ],
      {},
      [
        { role: "user", content: "hi" },
        {
          role: "assistant",
          content: "I look",
          reasoning_content: "hm",
          tool_calls: [chatCall, { ...chatCall, id: "c2" }],
        },
        { role: "tool", tool_call_id: "c1", content: "7" },
        { role: "tool", tool_call_id: "c2", content: "8\n[shown in the next message]\n9" },
        { role: "user", content: [seen] },
        { role: "assistant", content: "done" },
      ],
    ],
    [
      "images, files and sounds",
      [
        {
          role: "user",
          content: [
            text("see"),
            image,
            { type: "input_file", filename: "a.pdf", file_data: "data:application/pdf;base64,AA" },
            { type: "input_audio", input_audio: { data: "AA", format: "wav" } },
          ],
        },
      ],
      {},
      [
        {
          role: "user",
          content: [
            { type: "text", text: "see" },
            seen,
            { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,AA" } },
            { type: "input_audio", input_audio: { data: "AA", format: "wav" } },
          ],
        },
      ],
    ],
    [
      "a call of a tool that gets a text",
      [
        { type: "custom_tool_call", call_id: "c1", name: "apply_patch", input: '*** "x"' },
        { type: "function_call", call_id: "c2", namespace: "ns", name: "f", arguments: "{}" },
        { type: "custom_tool_call_output", call_id: "c1", output: "ok" },
      ],
      {},
      [
        {
          role: "assistant",
          content: null,
          tool_calls: [
            { id: "c1", type: "function", function: { name: "apply_patch", arguments: '{"input":"*** \\"x\\""}' } },
            { id: "c2", type: "function", function: { name: "ns__f", arguments: "{}" } },
          ],
        },
        { role: "tool", tool_call_id: "c1", content: "ok" },
      ],
    ],
  ])("with %s", (_, input, more, expected) => {
    expect(messagesOf(input, more)).toEqual(expected);
  });

  it("with its settings; what only a store or a hint is for is left out", () => {
    const { messages: _, ...body } = translated({
      input: "hi",
      tools: [tool, patch, namespace, { type: "web_search", external_web_access: false }],
      client_metadata: { session_id: "s" },
      tool_choice: { type: "function", name: "f" },
      parallel_tool_calls: false,
      text: { format: { type: "json_schema", name: "n", schema: { type: "object" }, strict: true }, verbosity: "low" },
      reasoning: { effort: "high", summary: "auto" },
      max_output_tokens: 9,
      temperature: 0.5,
      user: "u",
      top_k: 3,
      store: false,
      stream: true,
      include: ["reasoning.encrypted_content"],
      prompt_cache_key: "k",
      metadata: { a: "b" },
      truncation: "disabled",
      background: false,
      previous_response_id: null,
    });
    expect(body).toEqual({
      model: "m",
      tools: [
        { type: "function", function: { name: "f", description: "d", parameters: { type: "object" }, strict: true } },
        {
          type: "function",
          function: {
            name: "apply_patch",
            description: "Edits files\n\nThe input follows this lark grammar:\nstart: begin",
            parameters: {
              type: "object",
              properties: { input: { type: "string" } },
              required: ["input"],
              additionalProperties: false,
            },
          },
        },
        { type: "function", function: { name: "ns__g", description: "e" } },
      ],
      tool_choice: { type: "function", function: { name: "f" } },
      parallel_tool_calls: false,
      response_format: { type: "json_schema", json_schema: { name: "n", schema: { type: "object" }, strict: true } },
      reasoning_effort: "high",
      max_completion_tokens: 9,
      temperature: 0.5,
      user: "u",
      top_k: 3,
      stream: true,
    });
  });

  it.each<[string, JsonObject]>([
    ["previous_response_id", { previous_response_id: "resp_1" }],
    ["conversation", { conversation: { id: "conv_1" } }],
    ["background", { background: true }],
    ["prompt", { prompt: { id: "p" } }],
    ["n", { n: 2 }],
    ["top_logprobs", { top_logprobs: 3 }],
    ["truncation", { truncation: "auto" }],
    ["include", { include: ["message.output_text.logprobs"] }],
    ["instructions", { instructions: [{ role: "user", content: "x" }] }],
    ["input", { input: { role: "user" } }],
    ["input.0", { input: [{ type: "item_reference", id: "msg_1" }] }],
    ["input.1", { input: [{ role: "user", content: "x" }, { type: "local_shell_call" }] }],
    ["input.0.role", { input: [{ role: "tool", content: "x" }] }],
    ["input.0.role", { input: ["x"] }],
    ["input.0.content", { input: [{ role: "user", content: 5 }] }],
    ["input.0.content.0", { input: [{ role: "user", content: [{ type: "input_image", file_id: "f" }] }] }],
    ["input.0.content.0", { input: [{ role: "user", content: [{ type: "input_file", file_url: "https://a" }] }] }],
    ["input.0.content.0", { input: [{ role: "assistant", content: [image] }] }],
    ["input.0.output.0", { input: [{ type: "function_call_output", output: [{ type: "x" }] }] }],
    ["tools", { tools: {} }],
    ["tools.0", { tools: [{ type: "file_search", vector_store_ids: ["v"] }] }],
    ["tools.0", { tools: [{ type: "function" }] }],
    ["tools.0.tools.1", { tools: [{ ...namespace, tools: [tool, { type: "mcp" }] }] }],
    ["tool_choice", { tools: [tool], tool_choice: { type: "allowed_tools", mode: "auto", tools: [] } }],
    ["text.format", { text: { format: { type: "grammar" } } }],
  ])("or is refused at %s of %j", (param, body) => {
    expect(refusalOf({ input: "hi", ...body })).toEqual({ status: 400, code: "untranslatable_field", param });
  });
});

describe("a request of the Responses API for a model of Anthropic", () => {
  it("is a message, with the reasoning that it has signed, and no other API's", () => {
    const sealed = (encrypted_content: string, said: string) => ({
      type: "reasoning",
      summary: said === "" ? [] : [{ type: "summary_text", text: said }],
      encrypted_content,
    });
    const body = translated(
      {
        input: [
          { role: "user", content: "hi" },
          sealed("anthropic:signature:S", "hm"),
          sealed("anthropic:redacted:D", ""),
          sealed("gAAAA", "not signed"),
          call,
          { type: "function_call_output", call_id: "c1", output: "7" },
        ],
        instructions: "a",
        tools: [tool],
        max_output_tokens: 9,
      },
      "anthropic",
    );
    expect(body).toMatchObject({
      max_tokens: 9,
      system: [{ type: "text", text: "a" }],
      messages: [
        { role: "user" },
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "hm", signature: "S" },
            { type: "redacted_thinking", data: "D" },
            { type: "tool_use", id: "c1", name: "f", input: { a: 1 } },
          ],
        },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "c1" }] },
      ],
      tools: [{ name: "f" }],
    });
    expect(JSON.stringify(body)).not.toContain("not signed");
  });

  it.each<[string, JsonObject]>([
    ["text.format", { text: { format: { type: "json_object" } } }],
    ["input", { input: [{ role: "user", content: [{ type: "input_audio", input_audio: {} }] }] }],
    ["background", { background: true }],
    ["made_up", { made_up: 1 }],
  ])("is refused in the words of its own API: %s", (param, body) => {
    const refused = { status: 400, code: "untranslatable_field", param };
    expect(refusalOf({ input: "hi", ...body }, "anthropic")).toEqual(refused);
  });
});

describe("any input", () => {
  // without the sign of the numbers below
  const words = fc.string({ minLength: 1, maxLength: 8 }).map((text) => text.replaceAll("<", "("));
  const item = fc.oneof(
    fc.record({ role: fc.constantFrom("user", "system", "developer", "assistant"), content: words }),
    fc.record({
      type: fc.constant("reasoning"),
      summary: fc.array(
        words.map((said) => ({ type: "summary_text", text: said })),
        { maxLength: 2 },
      ),
    }),
    fc.record({ type: fc.constant("function_call"), call_id: words, name: words, arguments: words }),
    fc.record({ type: fc.constant("custom_tool_call"), call_id: words, name: words, input: words }),
    fc.record({ type: fc.constant("function_call_output"), call_id: words, output: words }),
  );

  it("reaches the upstream whole and in order, and nothing else does", () => {
    fc.assert(
      fc.property(fc.array(item, { maxLength: 12 }), (items) => {
        const textsOf = (one: unknown): string[] => {
          if (typeof one === "string") return [one];
          return typeof one === "object" && one !== null ? Object.values(one).flatMap(textsOf) : [];
        };
        // a number before each text, which no other text has
        let count = 0;
        const marked = JSON.parse(
          JSON.stringify(items, (name, value: unknown) => {
            if (typeof value !== "string" || name === "type" || name === "role") return value;
            count += 1;
            return `<${String(count)}>${value}`;
          }),
        ) as unknown[];
        const sent = JSON.stringify(messagesOf(marked));
        const found = [...sent.matchAll(/<(\d+)>/g)].map(([, at]) => Number(at));
        expect(found.toSorted((a, b) => a - b)).toEqual(Array.from({ length: count }, (_, at) => at + 1));
        const sentTexts = textsOf(messagesOf(marked)).join("\n");
        for (const said of textsOf(marked).filter((one) => one.startsWith("<")))
          expect(sentTexts.includes(said) || sentTexts.includes(JSON.stringify(said).slice(1, -1))).toBe(true);
      }),
    );
  });
});
