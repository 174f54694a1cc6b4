/** Requests in the form of the other dialect (docs/rules/dialects.md#requests). */
import { describe, expect, it } from "vitest";
import { GatewayError } from "../../../shared/errors.ts";
import { atOnce } from "../../../shared/steps.ts";
import type { JsonObject } from "../wire/json/document.ts";
import { type Dialect, translationOf } from "./translation.ts";

const PATHS = { openai: "/v1/messages", anthropic: "/v1/chat/completions" } as const;
const PNG = "iVBORw0KGgo=";

/** The body that a model of this dialect gets. */
function sentTo(dialect: Dialect, body: JsonObject): JsonObject {
  const translation = translationOf(PATHS[dialect], dialect, { createdSecs: 1, usageAsked: false });
  if (translation === null) throw new Error("no translation");
  return atOnce(translation.request(body));
}

function refusalOf(dialect: Dialect, body: JsonObject): object {
  try {
    return sentTo(dialect, body);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const { status, body: document } = error;
    return { status, code: document.error.code, param: document.error.param };
  }
}

const refused = (param: string) => ({ status: 400, code: "untranslatable_field", param });
const user = (content: unknown) => ({ role: "user", content });
const text = (words: string) => ({ type: "text", text: words });
const chat = (members: object = {}) => ({ model: "claude", messages: [user("hi")], ...members });
const messages = (members: object = {}) => ({ model: "gpt", max_tokens: 9, messages: [user("hi")], ...members });
const tool = { type: "function", function: { name: "f", parameters: { type: "object", properties: {} } } };
const customTool = { name: "f", input_schema: { type: "object", properties: {} } };

/** Members that a client of Messages may send for the server behind the translation. */
const OPENAI_MEMBERS = {
  stop: ["b"],
  reasoning_effort: "low",
  response_format: { type: "json_object" },
  user: "u2",
  parallel_tool_calls: true,
};

describe("which calls are translated", () => {
  it.each([
    ["/v1/messages", "openai", "chat/completions"],
    ["/v1/chat/completions", "anthropic", "messages"],
    ["/v1/messages", "anthropic", undefined],
    ["/v1/chat/completions", "openai", undefined],
    ["/v1/embeddings", "anthropic", undefined],
    ["/v1/messages/count_tokens", "openai", undefined],
  ] as const)("%s for a model of %s goes to %s", (path, dialect, target) => {
    expect(translationOf(path, dialect, { createdSecs: 1, usageAsked: false })?.path).toBe(target);
  });
});

describe("chat completions for a model of Anthropic", () => {
  it("carries a conversation with tools, images, a document and several system messages", () => {
    const body = chat({
      messages: [
        { role: "system", content: "Be brief." },
        { role: "developer", content: [text("Use tools."), text("")] },
        user([
          text("What is this?"),
          { type: "image_url", image_url: { url: `data:image/png;base64,${PNG}`, detail: "low" } },
          { type: "image_url", image_url: { url: "https://example.com/a.jpg" } },
          { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,JVBERi0=" } },
        ]),
        {
          role: "assistant",
          content: "Looking.",
          refusal: null,
          tool_calls: [
            { id: "call:1", type: "function", function: { name: "f", arguments: '{"a":[1]}' } },
            { id: "call_2", type: "function", function: { name: "g", arguments: "" } },
          ],
        },
        { role: "tool", tool_call_id: "call:1", content: "one" },
        { role: "tool", tool_call_id: "call_2", content: [text("two")] },
        user("And now?"),
      ],
    });
    expect(sentTo("anthropic", body)).toEqual({
      model: "claude",
      max_tokens: 4096,
      system: [text("Be brief."), text("Use tools.")],
      messages: [
        user([
          text("What is this?"),
          { type: "image", source: { type: "base64", media_type: "image/png", data: PNG } },
          { type: "image", source: { type: "url", url: "https://example.com/a.jpg" } },
          {
            type: "document",
            source: { type: "base64", media_type: "application/pdf", data: "JVBERi0=" },
            title: "a.pdf",
          },
        ]),
        {
          role: "assistant",
          content: [
            text("Looking."),
            { type: "tool_use", id: "call_1", name: "f", input: { a: [1] } },
            { type: "tool_use", id: "call_2", name: "g", input: {} },
          ],
        },
        user([
          { type: "tool_result", tool_use_id: "call_1", content: [text("one")] },
          { type: "tool_result", tool_use_id: "call_2", content: [text("two")] },
          text("And now?"),
        ]),
      ],
    });
  });

  it("sends signed thinking back, and leaves out reasoning that Anthropic did not sign", () => {
    const thinking = { type: "thinking", thinking: "Hm.", signature: "s1" };
    const redacted = { type: "redacted_thinking", data: "x" };
    const unsigned = { type: "thinking", thinking: "Hm.", signature: "" };
    const message = {
      role: "assistant",
      content: "Yes.",
      reasoning_content: "Hm.",
      thinking_blocks: [thinking, redacted, unsigned],
    };
    expect(sentTo("anthropic", chat({ messages: [message] }))["messages"]).toEqual([
      { role: "assistant", content: [thinking, redacted, text("Yes.")] },
    ]);
  });

  it.each([
    [{ max_tokens: 5, max_completion_tokens: 7 }, { max_tokens: 7 }],
    [{ max_tokens: 5 }, { max_tokens: 5 }],
    [
      { temperature: 1.7, top_p: 0.5, top_k: 4 },
      { temperature: 1, top_p: 0.5, top_k: 4 },
    ],
    [{ stop: "\n\n" }, { stop_sequences: ["\n\n"] }],
    [{ stop: ["a", "b"] }, { stop_sequences: ["a", "b"] }],
    [{ user: "u1" }, { metadata: { user_id: "u1" } }],
    [{ user: "u1", safety_identifier: "s1" }, { metadata: { user_id: "s1" } }],
    [{ service_tier: "default" }, { service_tier: "standard_only" }],
    [{ service_tier: "priority" }, { service_tier: "auto" }],
    [{ reasoning_effort: "none" }, { thinking: { type: "disabled" } }],
    [{ reasoning_effort: "high" }, { thinking: { type: "adaptive" }, output_config: { effort: "high" } }],
    [
      { reasoning_effort: "minimal", thinking: { type: "enabled", budget_tokens: 2048 } },
      { thinking: { type: "enabled", budget_tokens: 2048 }, output_config: { effort: "low" } },
    ],
    [{ response_format: { type: "text" } }, {}],
    [
      {
        response_format: { type: "json_schema", json_schema: { name: "x", strict: true, schema: { type: "object" } } },
      },
      { output_config: { format: { type: "json_schema", schema: { type: "object" } } } },
    ],
    [{ stream: true, stream_options: { include_usage: true } }, { stream: true }],
    [{ tool_choice: "required" }, {}],
    [{ parallel_tool_calls: false }, {}],
    [{ n: 1, logprobs: false, logit_bias: {}, modalities: ["text"], seed: 4, store: true, unknown: null }, {}],
  ])("translates %j", (members, expected) => {
    expect(sentTo("anthropic", chat(members))).toEqual({
      model: "claude",
      max_tokens: 4096,
      messages: [user([text("hi")])],
      ...expected,
    });
  });

  it.each([
    ["auto", undefined, { type: "auto" }],
    ["required", false, { type: "any", disable_parallel_tool_use: true }],
    ["none", false, { type: "none" }],
    [undefined, false, { type: "auto", disable_parallel_tool_use: true }],
    [undefined, true, undefined],
    [{ type: "function", function: { name: "f" } }, undefined, { type: "tool", name: "f" }],
  ])("tool_choice %j with parallel_tool_calls %j is %j", (choice, parallel, expected) => {
    const strict = { type: "function", function: { name: "g", description: "d", strict: true, parameters: {} } };
    const body = chat({ tools: [tool, strict], tool_choice: choice, parallel_tool_calls: parallel });
    const { tools, tool_choice } = sentTo("anthropic", body);
    expect({ tools, tool_choice }).toEqual({
      tools: [customTool, { name: "g", description: "d", strict: true, input_schema: { type: "object" } }],
      tool_choice: expected,
    });
  });

  it.each([
    ["n", { n: 2 }],
    ["logprobs", { logprobs: true }],
    ["audio", { audio: { voice: "a" } }],
    ["modalities", { modalities: ["text", "audio"] }],
    ["made_up", { made_up: 1 }],
    ["tools.1", { tools: [tool, { type: "custom", custom: { name: "c" } }] }],
    ["tool_choice", { tools: [tool], tool_choice: { type: "allowed_tools" } }],
    ["response_format", { response_format: { type: "json_object" } }],
    ["messages.0.role", { messages: [{ role: "function", name: "f", content: "" }] }],
    ["messages.0.weight", { messages: [{ role: "user", content: "a", weight: 1 }] }],
    ["messages.0.content.1", { messages: [user([text("a"), { type: "input_audio", input_audio: {} }])] }],
    ["messages.0.content.0.file", { messages: [user([{ type: "file", file: { file_id: "f" } }])] }],
    ["messages.0.content.0.image_url", { messages: [user([{ type: "image_url", image_url: { url: "a" } }])] }],
    ["m".repeat(64), { ["m".repeat(10_000)]: 1 }],
    ["messages", { messages: "hi" }],
    ["messages.0.content", { messages: [user(text("a"))] }],
    ["messages.0.content", { messages: [user(5)] }],
    ["messages.0.tool_calls", { messages: [{ role: "assistant", tool_calls: {} }] }],
    ["tools", { tools: tool }],
    [
      "messages.0.tool_calls.0",
      { messages: [{ role: "assistant", tool_calls: [{ id: "a", function: { name: "f", arguments: "[" } }] }] },
    ],
  ])("refuses %s by its name", (param, members) => {
    expect(refusalOf("anthropic", chat(members))).toEqual(refused(param));
  });
});

describe("Messages for a model of chat completions", () => {
  it("carries a conversation with thinking, tools, images and documents", () => {
    const image = { type: "image", source: { type: "base64", media_type: "image/png", data: PNG } };
    const imageUrl = { type: "image_url", image_url: { url: `data:image/png;base64,${PNG}` } };
    const body = messages({
      system: [{ ...text("Be brief."), cache_control: { type: "ephemeral" } }, text("Use tools.")],
      messages: [
        user([text("a"), { ...text("b"), citations: null }]),
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "Hm.", signature: "s" },
            { type: "redacted_thinking", data: "x" },
            text("Looking."),
            { type: "tool_use", id: "t1", name: "f", input: { a: [1] } },
            { type: "tool_use", id: "t2", name: "g", input: {} },
          ],
        },
        user([
          { type: "tool_result", tool_use_id: "t1", content: [text("one"), image] },
          { type: "tool_result", tool_use_id: "t2", content: "two", is_error: true },
          text("And now?"),
        ]),
        user([
          { type: "document", source: { type: "base64", media_type: "application/pdf", data: "JVBERi0=" } },
          { type: "document", source: { type: "text", media_type: "text/plain", data: "plain" }, title: "t" },
          { type: "document", source: { type: "content", content: [text("part"), image] } },
          { type: "image", source: { type: "url", url: "https://example.com/a.jpg" } },
        ]),
      ],
    });
    expect(sentTo("openai", body)).toEqual({
      model: "gpt",
      max_completion_tokens: 9,
      messages: [
        { role: "system", content: "Be brief.\nUse tools." },
        user("a\nb"),
        {
          role: "assistant",
          content: "Looking.",
          reasoning_content: "Hm.",
          tool_calls: [
            { id: "t1", type: "function", function: { name: "f", arguments: '{"a":[1]}' } },
            { id: "t2", type: "function", function: { name: "g", arguments: "{}" } },
          ],
        },
        { role: "tool", tool_call_id: "t1", content: "one\n[shown in the next message]" },
        { role: "tool", tool_call_id: "t2", content: "Error: two" },
        user([imageUrl, text("And now?")]),
        user([
          {
            type: "file",
            file: { filename: "document.pdf", file_data: "data:application/pdf;base64,JVBERi0=" },
          },
          text("plain"),
          text("part"),
          imageUrl,
          { type: "image_url", image_url: { url: "https://example.com/a.jpg" } },
        ]),
      ],
    });
  });

  it.each([
    [{ stop_sequences: ["a"] }, { stop: ["a"] }],
    [
      { temperature: 0.5, top_p: 0.5, top_k: 4 },
      { temperature: 0.5, top_p: 0.5, top_k: 4 },
    ],
    [{ metadata: { user_id: "u1" } }, { user: "u1" }],
    [{ service_tier: "standard_only" }, { service_tier: "default" }],
    [{ thinking: { type: "enabled", budget_tokens: 1024 } }, { reasoning_effort: "low" }],
    [{ thinking: { type: "enabled", budget_tokens: 10_000 } }, { reasoning_effort: "medium" }],
    [{ thinking: { type: "enabled", budget_tokens: 32_000 } }, { reasoning_effort: "high" }],
    [{ thinking: { type: "adaptive" }, output_config: { effort: "max" } }, { reasoning_effort: "max" }],
    [{ thinking: { type: "disabled" } }, {}],
    [{ stream: true }, { stream: true, stream_options: { include_usage: true } }],
    [{ stream: false }, { stream: false }],
    [
      { min_p: 0.1, add_generation_prompt: false },
      { min_p: 0.1, add_generation_prompt: false },
    ],
    [OPENAI_MEMBERS, OPENAI_MEMBERS],
    [
      { stop: ["b"], stop_sequences: ["a"], user: "u2", metadata: { user_id: "u1" } },
      { stop: ["a"], user: "u1" },
    ],
    [{ context_management: { edits: [1] }, speed: "fast", mcp_servers: [] }, {}],
    [{ max_completion_tokens: 7 }, { max_completion_tokens: 7 }],
    [{ tool_choice: null, output_config: { format: null }, output_format: null }, {}],
  ])("translates %j", (members, expected) => {
    expect(sentTo("openai", messages(members))).toEqual({
      model: "gpt",
      max_completion_tokens: 9,
      messages: [user("hi")],
      ...expected,
    });
  });

  it.each(["output_config", "output_format"])("asks for structured output that %s describes", (name) => {
    const format = { type: "json_schema", schema: { type: "object" } };
    const body = messages({ [name]: name === "output_config" ? { format } : format });
    expect(sentTo("openai", body)["response_format"]).toEqual({
      type: "json_schema",
      json_schema: { name: "answer", schema: { type: "object" }, strict: true },
    });
  });

  it.each([
    [{ type: "auto" }, { tool_choice: "auto" }],
    [
      { type: "any", disable_parallel_tool_use: true },
      { tool_choice: "required", parallel_tool_calls: false },
    ],
    [{ type: "none" }, { tool_choice: "none" }],
    [{ type: "tool", name: "f" }, { tool_choice: { type: "function", function: { name: "f" } } }],
  ])("tool_choice %j is %j", (choice, expected) => {
    const { tools, tool_choice, parallel_tool_calls } = sentTo(
      "openai",
      messages({ tools: [{ ...customTool, type: "custom", cache_control: {} }], tool_choice: choice }),
    );
    expect({ tools, tool_choice, parallel_tool_calls }).toEqual({ tools: [tool], ...expected });
  });

  it.each([
    ["container", { container: "c1" }],
    ["mcp_servers", { mcp_servers: [{ url: "u" }] }],
    ["n", { n: 3 }],
    ["tools.0.type", { tools: [{ type: "web_search_20250305", name: "web_search" }] }],
    ["tools.0.function", { tools: [{ function: { name: "f" } }] }],
    ["tools.0.parameters", { tools: [{ name: "f", parameters: { type: "object" } }] }],
    ["tool_choice", { tools: [customTool], tool_choice: "required" }],
    ["tool_choice", { tools: [customTool], tool_choice: { type: "function", function: { name: "f" } } }],
    ["output_config.format", { output_config: { format: { type: "json_object" } } }],
    ["output_format", { output_format: { type: "json_schema", json_schema: { name: "a", schema: {} } } }],
    ["messages.0.tool_calls", { messages: [{ role: "assistant", content: "", tool_calls: [{ id: "a" }] }] }],
    ["messages.0.tool_call_id", { messages: [{ role: "user", content: "4", tool_call_id: "a" }] }],
    ["messages.0.role", { messages: [{ role: "tool", content: "" }] }],
    ["messages.0.content.0", { messages: [user([{ type: "server_tool_use", id: "s", name: "web_search" }])] }],
    ["messages.0.content.0", { messages: [user([{ type: "search_result", source: "s", title: "t", content: [] }])] }],
    ["messages.0.content.0.source", { messages: [user([{ type: "image", source: { type: "file", file_id: "f" } }])] }],
    ["messages", { messages: "hi" }],
    ["messages.0.content", { messages: [user(text("a"))] }],
    ["messages.0.content", { messages: [user(5)] }],
    ["messages.0.content.0.content", { messages: [user([{ type: "tool_result", tool_use_id: "t", content: {} }])] }],
    ["system", { system: text("a") }],
    ["tools", { tools: customTool }],
    [
      "messages.0.content.0.source",
      { messages: [user([{ type: "document", source: { type: "content", content: [{ type: "document" }] } }])] },
    ],
    [
      "messages.0.content.0.citations",
      { messages: [user([{ type: "document", source: { type: "text", data: "a" }, citations: { enabled: true } }])] },
    ],
    [
      "messages.0.content.0.content.0",
      { messages: [user([{ type: "tool_result", tool_use_id: "t", content: [{ type: "tool_reference" }] }])] },
    ],
  ])("refuses %s by its name", (param, members) => {
    expect(refusalOf("openai", messages(members))).toEqual(refused(param));
  });

  it("takes its turns with very many messages", () => {
    const many = { ...messages(), messages: Array.from({ length: 90_000 }, () => user([text("a")])) };
    const translation = translationOf(PATHS.openai, "openai", { createdSecs: 1, usageAsked: false });
    const steps = translation?.request(many);
    let [turns, most] = [0, 0];
    for (let step = steps?.next(); step?.done === false; step = steps?.next()) {
      turns += 1;
      most = Math.max(most, step.value);
    }
    expect({ isInTurns: turns >= 90_000, isShort: most <= 1024 }).toEqual({ isInTurns: true, isShort: true });
  });
});
