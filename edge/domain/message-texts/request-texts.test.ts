import { describe, expect, it } from "vitest";
import { atOnce } from "../../../shared/steps.ts";
import { routeClassOf } from "../request/route-class.ts";
import { guardedTexts } from "./request-texts.ts";
import { textScopeOf } from "./text-scopes.ts";

function textsOf(path: string, body: unknown, ofModel = false) {
  const bytes = new TextEncoder().encode(typeof body === "string" ? body : JSON.stringify(body));
  const { prompts, toolResults } = atOnce(guardedTexts([bytes], textScopeOf(path, routeClassOf(path)), ofModel));
  return {
    prompts: prompts.map(({ text, user }) => (user ? text : `system: ${text}`)),
    tools: toolResults.map((texts) => texts.map(({ text }) => text)),
  };
}

function othersOf(path: string, body: unknown) {
  const bytes = new TextEncoder().encode(typeof body === "string" ? body : JSON.stringify(body));
  return atOnce(guardedTexts([bytes], textScopeOf(path, routeClassOf(path)), false)).others.map(({ text }) => text);
}

const CHAT = "/v1/chat/completions";

describe("where input guardrails look", () => {
  it.each([
    [
      "chat: system, developer and user text, in whatever shape",
      CHAT,
      {
        model: "m",
        messages: [
          { role: "system", content: "s" },
          { role: "developer", content: "d" },
          {
            content: [{ type: "text", text: "u1" }, { type: "image_url", image_url: { url: "data:" } }, "u2"],
            role: "user",
          },
          { role: "assistant", content: "a", tool_calls: [{ function: { arguments: "{}" } }] },
        ],
        prompt: "not read by chat",
      },
      ["system: s", "system: d", "u1", "u2"],
    ],
    [
      "chat: a role that nobody knows is a user's",
      CHAT,
      { messages: [{ role: "USER", content: "u" }, { content: "n" }] },
      ["u", "n"],
    ],
    ["completions", "/v1/completions", { prompt: ["a", "b", [1, 2]], suffix: "s", user: "u" }, ["a", "b", "s"]],
    ["embeddings", "/v1/embeddings", { input: "a", user: "u" }, ["a"]],
    ["speech", "/v1/audio/speech", { input: "a", voice: "v", instructions: "calm" }, ["system: calm", "a"]],
    ["images", "/v1/images/generations", { prompt: "a", negative_prompt: "b", size: "1x1" }, ["a", "b"]],
    [
      "responses",
      "/v1/responses",
      {
        instructions: "i",
        input: [
          { role: "user", content: [{ type: "input_text", text: "u" }] },
          { type: "message", role: "assistant", content: [{ type: "output_text", text: "a" }] },
          { type: "reasoning", summary: [{ type: "summary_text", text: "r" }] },
          { type: "function_call", arguments: "{}" },
        ],
      },
      ["system: r", "system: i", "u"],
    ],
    ["responses with a text", "/v1/responses", { input: "u" }, ["u"]],
    [
      "an unknown path: every string under the known names",
      "/v2/generate",
      {
        messages: [{ role: "assistant", content: { x: "c" } }],
        system: "s",
        query: "q",
        documents: ["d", { title: "t" }],
        other: "o",
      },
      ["c", "d", "t", "system: s", "q"],
    ],
  ])("%s", (_, path, body, expected) => {
    expect(textsOf(path, body).prompts).toEqual(expected);
  });

  it.each([
    ["a prompt", { request: { prompt: "a", other: "o" } }, ["a"]],
    ["prompts in a list", { instances: [{ Prompt: "a" }, { inputs: ["b"] }] }, ["a", "b"]],
    ["messages", { body: { messages: [{ role: "assistant", content: "c" }] } }, ["c"]],
    ["a prefix and a suffix", { input_prefix: "a", input_suffix: "b", input_extra: [{ text: "c" }] }, ["c", "a", "b"]],
  ])("finds the known names at any depth of an unknown path: %s", (_, body, expected) => {
    expect(textsOf("/infill", body).prompts).toEqual(expected);
  });

  it("takes definitions at any depth of an unknown path, but for how a tool is reached", () => {
    const tools = [{ type: "mcp", server_url: "u", server_description: "d" }];
    expect(othersOf("/v2/generate", { parameters: { tools } })).toEqual(["mcp", "server_description", "d"]);
  });

  it("takes a template and messages of embeddings, and what a server adds to responses", () => {
    const messages = [{ role: "user", content: "a" }];
    expect(textsOf("/v1/embeddings", { messages, chat_template: "b" }).prompts).toEqual(["b", "a"]);
    const body = { chat_template_kwargs: { c: "a" }, previous_input_messages: [{ content: [{ text: "b" }] }] };
    expect(textsOf("/v1/responses", body).prompts).toEqual(["a", "b"]);
  });

  it("takes what the model said, thought and asked tools for if the policy says so", () => {
    const call = { id: "i", type: "function", function: { name: "f", arguments: '{"q":"c"}' } };
    const used = { type: "tool_use", id: "i", name: "f", input: { q: { deep: "d" } } };
    const messages = [
      { role: "assistant", content: "a", reasoning_content: "b", tool_calls: [call] },
      { role: "assistant", content: [used, { type: "thinking", thinking: "e" }] },
      { role: "user", content: "u" },
    ];
    expect(textsOf(CHAT, { messages }).prompts).toEqual(["u"]);
    const ofModel = ["b", '{"q":"c"}', "d", "e", "a"].map((text) => `system: ${text}`);
    expect(textsOf(CHAT, { messages }, true).prompts).toEqual([...ofModel, "u"]);
    const input = [{ type: "shell_call", call_id: "i", action: { commands: ["a"] } }];
    expect(textsOf("/v1/responses", { input }).prompts).toEqual([]);
    expect(textsOf("/v1/responses", { input }, true).prompts).toEqual(["system: a"]);
  });

  it("takes every message part that a template shows to the model, and the sender's name", () => {
    const parts = [
      { type: "refusal", refusal: "a" },
      { type: "thinking", thinking: "b" },
      { type: "image_url", image_url: { url: "data:" } },
    ];
    const messages = [
      { role: "user", name: "n", content: parts },
      { role: "tool", name: "t", content: "result" },
    ];
    expect(textsOf(CHAT, { messages, documents: [{ title: "d" }] })).toEqual({
      prompts: ["n", "b", "d", "a"],
      tools: [["result"]],
    });
  });

  it("takes the client's own words in definitions, names too, and no word of JSON Schema", () => {
    const schema = {
      type: "object",
      properties: { "p 1": { type: "string", description: "d", enum: ["e", "string"] }, type: { type: "t" } },
      required: ["p 1"],
      "x-note": true,
    };
    const response_format = { type: "json_schema", json_schema: { name: "n", strict: true, schema } };
    expect(othersOf(CHAT, { response_format })).toEqual(["n", "p 1", "d", "e", "string", "t", "p 1", "x-note"]);
    expect(textsOf(CHAT, { response_format })).toEqual({ prompts: [], tools: [] });
    const tools = [{ type: "function", function: { name: "f", parameters: { properties: { server_url: {} } } } }];
    expect(othersOf(CHAT, { tools, functions: [{ name: "g" }] })).toEqual(["f", "server_url", "g"]);
    const server = { type: "mcp", server_url: "u", headers: { h: "v" }, authorization: "a", server_description: "s" };
    const text = { format: { type: "json_schema", name: "n", schema: {} } };
    const expected = ["mcp", "server_description", "s", "n"];
    expect(othersOf("/v1/responses", { tools: [server], text })).toEqual(expected);
    expect(textsOf("/v2/generate", { contents: [{ parts: [{ text: "a" }] }], systemInstruction: "b" }).prompts).toEqual(
      ["a", "b"],
    );
    expect(othersOf("/v2/generate", { tools: [{ input_schema: { description: "d" } }] })).toEqual(["d"]);
  });

  it("sees both of two members and two roles of one name: an upstream may read the other", () => {
    const body = `{"messages":[{"role":"user","content":"a"}],
      "messages":[{"role":"assistant","content":"b","role":"user","content":"c"}]}`;
    expect(textsOf(CHAT, body).prompts).toEqual(["a", "b", "c"]);
  });

  it.each([
    ["a member in another case", CHAT, `{"Messages":[{"role":"user","content":"a"}]}`, ["a"]],
    ["text in another case", CHAT, `{"messages":[{"role":"user","Content":[{"TEXT":"a"}]}]}`, ["a"]],
    ["a member before a NUL", CHAT, `{"messages\\u0000x":[{"role":"user","content\\u0000":"a"}]}`, ["a"]],
    ["a long name", "/v1/completions", `{"Prompt\\u0000${"x".repeat(2000)}":"a"}`, ["a"]],
    ["a long s", "/v1/responses", `{"in\u017ftruction\u017f":"a","INPUT":"b"}`, ["system: a", "b"]],
    ["both of two spellings", CHAT, `{"messages":[{"content":"a"}],"Messages":[{"content":"b"}]}`, ["a", "b"]],
    ["a second role", CHAT, `{"messages":[{"role":"assistant","Role":"user","content":"a"}]}`, ["a"]],
    ["a role that is no string", CHAT, `{"messages":[{"role":null,"Role":"assistant","content":"a"}]}`, ["a"]],
    ["the second of two roles", CHAT, `{"messages":[{"role":"tool","role": {},"content":"a"}]}`, ["a"]],
    ["a role of another message", CHAT, `{"messages":[{"role":7},{"role":"assistant","content":"a"}]}`, []],
    ["a type that is no string", "/v1/responses", `{"input":[{"type":[],"Type":"x_call","text":"a"}]}`, ["a"]],
    ["a user beside a tool", CHAT, `{"messages":[{"role":"tool","ROLE":"user","content":"a"}]}`, ["a"]],
    ["a second type", "/v1/responses", `{"input":[{"type":"x_call","Type":"message","text":"a"}]}`, ["a"]],
    [
      "a reasoning item of an assistant",
      "/v1/responses",
      `{"input":[{"type":"reasoning","role":"assistant","summary":[{"text":"a"}]}]}`,
      ["system: a"],
    ],
    ["a type beside a result", "/v1/responses", `{"input":[{"type":"x_output","TYPE":"message","text":"a"}]}`, ["a"]],
  ])("reads names as any upstream may: %s", (_, path, body, expected) => {
    expect(textsOf(path, body)).toEqual({ prompts: expected, tools: [] });
  });

  it("takes for the model's only what every spelling says is the model's", () => {
    const messages = [{ role: "assistant", Role: "assistant", content: "a" }];
    expect(textsOf(CHAT, { messages })).toEqual({ prompts: [], tools: [] });
    const input = [{ role: "assistant", type: "function_call_output", output: "b" }];
    expect(textsOf("/v1/responses", { input })).toEqual({ prompts: [], tools: [["b"]] });
  });

  it("takes every string of a prompt template, and of what a tool of the Responses API answers", () => {
    const prompt = { id: "p", variables: { q: "a", r: { type: "input_text", text: "b" } } };
    expect(textsOf("/v1/responses", { prompt }).prompts).toEqual(["p", "a", "b"]);
    const output = [
      { type: "input_text", text: "c" },
      { stdout: "d", outcome: { type: "e" } },
    ];
    const input = [{ type: "shell_call_output", output, call_id: "x" }];
    expect(textsOf("/v1/responses", { input }).tools).toEqual([["c", "d", "e"]]);
  });

  it("takes a list of any length", { tags: ["check"] }, () => {
    const prompt = Array.from({ length: 200_000 }, () => "x");
    expect(textsOf("/v1/completions", { prompt }).prompts).toHaveLength(prompt.length);
  });

  it("reads a body of many pieces as fast as one of a few", () => {
    const text = JSON.stringify({ prompt: Array.from({ length: 50_000 }, () => "x") });
    const bytes = new TextEncoder().encode(text);
    const pieces = Array.from({ length: bytes.byteLength / 8 }, (_, at) => bytes.subarray(at * 8, at * 8 + 8));
    pieces.push(bytes.subarray(pieces.length * 8));
    const path = "/v1/completions";
    expect(atOnce(guardedTexts(pieces, textScopeOf(path, routeClassOf(path)), false)).prompts).toHaveLength(50_000);
  });

  it("takes each result of a tool on its own", () => {
    const messages = [
      { role: "tool", content: "one", tool_call_id: "1" },
      { role: "tool", content: [{ type: "text", text: "two" }] },
    ];
    expect(textsOf(CHAT, { messages })).toEqual({ prompts: [], tools: [["one"], ["two"]] });
    const input = [{ type: "function_call_output", output: "three", call_id: "c" }];
    expect(textsOf("/v1/responses", { input }).tools).toEqual([["three"]]);
  });

  it.each([
    [
      "a tool that is no server",
      CHAT,
      { tools: [{ type: "function", headers: "a", authorization: "b" }] },
      ["headers", "a", "authorization", "b"],
    ],
    [
      "a tool of two types",
      CHAT,
      '{"tools":[{"type":"mcp","Type":"function","headers":"a"}]}',
      ["mcp", "Type", "function", "headers", "a"],
    ],
    [
      "a schema of messages",
      "/v1/messages",
      { output_config: { format: { type: "json_schema", schema: { "p 1": { enum: ["a"] } } } } },
      ["p 1", "a"],
    ],
    [
      "a server of messages",
      "/v1/messages",
      { mcp_servers: [{ type: "url", url: "u", name: "a", authorization_token: "t" }] },
      ["a"],
    ],
    ["members of content", CHAT, { messages: [{ role: "user", content: { "n 1": "a" } }] }, ["n 1", "a"]],
    ["a role that nobody knows", CHAT, { messages: [{ role: "a b", content: "" }] }, ["a b"]],
    [
      "the name of a tool and its call",
      CHAT,
      { messages: [{ role: "tool", name: "a", tool_call_id: "b c", content: "r" }] },
      ["a", "b c"],
    ],
    [
      "the name of a file",
      "/v1/responses",
      { input: [{ role: "user", content: [{ type: "input_file", filename: "a", file_data: "d", file_id: "f_1" }] }] },
      ["a"],
    ],
    ["a reason", "/v1/responses", { input: [{ type: "mcp_approval_response", approve: true, reason: "a" }] }, ["a"]],
    [
      "members of no route",
      CHAT,
      { system: "a", prompt: "b", data_sources: [{ parameters: { role_information: "c" } }] },
      ["a", "b", "c"],
    ],
    ["an embedding of content", "/v1/embeddings", { content: "a", encoding_format: "float" }, ["a"]],
    ["a score", "/v1/score", { data_1: ["a"], items: ["b"], model: "m" }, ["a", "b"]],
    [
      "a deep member of an unknown path",
      "/v9/x",
      { a: { b: { c: { d: { e: { f: { g: { h: { i: { j: "a" } } } } } } } } } },
      ["a"],
    ],
  ])("examines every other string separately: %s", (_, path, body, expected) => {
    expect(othersOf(path, body)).toEqual(expected);
  });

  it.each([
    [
      "what is for the server",
      { user: "a@b.de", metadata: { k: "v" }, stop: ["<|im_end|>"], model: "falcon", session_id: "s_1" },
    ],
    [
      "files and ids",
      {
        messages: [
          {
            role: "user",
            content: [
              { type: "image_url", image_url: { url: "u" } },
              { type: "input_audio", input_audio: { data: "A".repeat(256) } },
              { type: "file", file: { file_id: "f_1" } },
            ],
          },
        ],
      },
    ],
    ["what the model said", { messages: [{ role: "assistant", name: "n", content: "a", extra: "b" }] }],
  ])("leaves out what no policy looks at: %s", (_, body) => {
    expect(othersOf(CHAT, body)).toEqual([]);
  });

  it("keeps texts together that are read as one, whatever stands between them", () => {
    const content = [
      { type: "text", text: "blue fal", foo: "x" },
      { foo: "y", type: "text", text: "con" },
    ];
    expect(textsOf(CHAT, { messages: [{ role: "user", content }] }).prompts).toEqual(["blue fal", "con"]);
  });

  it.each([
    ["mcp_call", { output: "a" }, ["a"]],
    [
      "code_interpreter_call",
      {
        code: "c",
        outputs: [
          { type: "logs", logs: "a" },
          { type: "image", url: "u" },
        ],
      },
      ["a"],
    ],
    ["file_search_call", { queries: ["q"], results: [{ file_id: "f_1", filename: "n", text: "a" }] }, ["n", "a"]],
    ["shell_call", { action: { commands: ["c"] } }, null],
  ])("takes for a tool's result what a call of the model brings along: %s", (type, more, result) => {
    const tools = result === null ? [] : [result];
    expect(textsOf("/v1/responses", { input: [{ type, id: "i_1", ...more }] })).toEqual({ prompts: [], tools });
    expect(textsOf("/v1/responses", { input: [{ type, id: "i_1", ...more }] }, true).tools).toEqual(tools);
  });

  it("takes the parts of a text behind one another, whatever else they have", () => {
    const parts = ["forbid", "denword"].map((text) => ({ type: "text", text, reasoning: "zz" }));
    const messages = [{ role: "user", content: parts }];
    for (const path of ["/v1/chat/completions", "/v1/messages"])
      expect(textsOf(path, { messages }).prompts).toEqual(["zz", "zz", "forbid", "denword"]);
  });

  it("takes descriptions of tools that items of the conversation have", () => {
    const tools = [{ name: "n", description: "a", input_schema: { type: "object" } }];
    for (const type of ["mcp_list_tools", "tool_search_output"])
      expect(othersOf("/v1/responses", { input: [{ type, tools }] })).toEqual(["n", "a"]);
  });

  it.each([
    ["a vector", "/v1/completions", { prompt_embeds: "gAA=" }, true],
    ["ids for another server", "/v1/chat/completions", { messages: [], nvext: { token_data: [1, 2] } }, true],
    ["its settings", "/v1/chat/completions", { nvext: { annotations: ["a"], ignore_eos: true } }, false],
    ["ids around a place", "/infill", { input_prefix: [1, 2], input_suffix: "a" }, true],
    ["ids of a suffix", "/v1/completions", { prompt: "a", suffix: [1, 2] }, true],
    ["ids of a pair", "/v1/score", { text_1: [1, 2], text_2: ["a"] }, true],
    ["settings", "/v1/rerank", { query: "a", top_n: 3, prefix: 1, weights: [1, 2] }, false],
    ["vectors", "/v1/completions", { prompt: "a", prompt_embeds: ["gAA="] }, true],
    [
      "a part",
      CHAT,
      { messages: [{ role: "user", content: [{ type: "prompt_embeds", prompt_embeds: "gAA=" }] }] },
      true,
    ],
    ["ids in a prompt", "/v1/completions", { prompt: { prompt_token_ids: [1, 2] } }, true],
    ["ids in prompts", "/v1/completions", { prompt: ["a", { prompt_token_ids: [1, 2] }] }, true],
    ["a nested prompt", "/v9/x", { request: { prompt: [1, 2] } }, true],
    ["a number", "/v9/x", { parameters: { tokens: 5 } }, false],
    ["metadata", "/v9/x", { metadata: { tokens: [5] }, prompt: "a" }, false],
    [
      "a schema",
      CHAT,
      { tools: [{ function: { parameters: { properties: { input_ids: { default: [1] }, tokens: { enum: [1] } } } } }] },
      false,
    ],
    [
      "arguments",
      "/v1/messages",
      { messages: [{ role: "assistant", content: [{ type: "tool_use", input: { tokens: [1], input_ids: [1] } }] }] },
      false,
    ],
  ])("knows what is no text: %s", (_, path, body, expected) => {
    const bytes = new TextEncoder().encode(JSON.stringify(body));
    expect(atOnce(guardedTexts([bytes], textScopeOf(path, routeClassOf(path)), false)).hasTokenIds).toBe(expected);
  });
});
