/**
 * Texts that a model or tool reads in another form than they are written: arguments with escapes, and answers in parts
 * (docs/rules/guardrails.md#where-it-looks, docs/rules/guardrails.md#split-texts).
 */
import { beforeEach, describe, expect, it, vi } from "vitest";
import {
  guardedAnswerOf as answerOf,
  guardedChatBody as chatBody,
  sentBody as sent,
  guardedWorldOf as worldOf,
} from "../../../test/harness/edge/pipeline/guarded-pipeline.ts";
import { IdentityTransform } from "../../../test/harness/edge/pipeline/identity-transform.ts";
import { modelOf } from "../../../test/harness/edge/pipeline/records.ts";
import { ANSWER_MEMORY_BYTES } from "../call/memory/memory-budget.ts";

beforeEach(() => void vi.stubGlobal("IdentityTransformStream", IdentityTransform));

it.each<[string, string, (json: string) => object]>([
  [
    "a call of chat",
    "/v1/chat/completions",
    (json: string) => ({
      messages: [
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: json } }],
        },
      ],
    }),
  ],
  [
    "a function call of chat",
    "/v1/chat/completions",
    (json: string) => ({ messages: [{ role: "assistant", function_call: { name: "f", arguments: json } }] }),
  ],
  [
    "a call of responses",
    "/v1/responses",
    (json: string) => ({ input: [{ type: "function_call", call_id: "c", name: "f", arguments: json }] }),
  ],
])("escapes in a call are examined and redacted as its tool reads them: %s", async (_, path, bodyOf) => {
  const policy = { input_scanners: ["ban_keywords" as const], ban_keywords: ["falcon"], scan_assistant: true };
  const hidden = String.raw`{"a":"say\n\u0066alcon now","b":"\u00fc","a":"x"}`;
  const harmless = String.raw`{"a":"say\n\u0066alconry now","b":"\u00fc"}`;
  const statusOf = async (json: string) =>
    (await answerOf(worldOf(policy), { body: JSON.stringify({ model: "tiny", ...bodyOf(json) }) }, path)).status;
  expect({ hidden: await statusOf(hidden), harmless: await statusOf(harmless) }).toEqual({
    hidden: 400,
    harmless: 200,
  });
  const world = worldOf({ ...policy, action: "redact" });
  await answerOf(world, { body: JSON.stringify({ model: "tiny", ...bodyOf(hidden) }) }, path);
  const given = await sent(world);
  expect({ isRedacted: given.includes("say\\\\n[REDACTED] now"), isLeft: /falcon|u0066/.test(given) }).toEqual({
    isRedacted: true,
    isLeft: false,
  });
});

describe("a keyword that is split in a request, with something between that models may leave out", () => {
  const user = (content: string, more: object = {}) => ({ role: "user", content, ...more });
  const said = (text: string) => ({ type: "message", role: "user", content: [{ type: "input_text", text }] });
  const thought = { type: "reasoning", summary: [{ type: "summary_text", text: "zz" }] };
  const [chat, responses, messages] = ["/v1/chat/completions", "/v1/responses", "/v1/messages"];
  const between = ["reasoning_content", "refusal", "name", "text", "foo"].flatMap((name) =>
    [chat, messages].map((path): [string, string, string] => [
      `${name} of ${path}`,
      path,
      JSON.stringify({ messages: [user("fal", { [name]: "zz" }), user("con")] }),
    ]),
  );

  const all: [string, string, string][] = [
    ["a name", chat, JSON.stringify({ messages: [user("fal"), { role: "user", name: "bob", content: "con" }] })],
    ...between,
    [
      "two texts of a part",
      chat,
      `{"messages":[{"role":"user","content":[{"type":"text","text":"fal"},{"text":"zz","Text":"con"}]}]}`,
    ],
    ["a name of an item", responses, JSON.stringify({ input: [{ ...said("fal"), name: "bob" }, said("con")] })],
    ["a reasoning item", responses, JSON.stringify({ input: [said("fal"), thought, said("con")] })],
    ["a template", "/v1/completions", JSON.stringify({ prompt: "fal", chat_template: "zz", suffix: "con" })],
  ];

  it.each(all)("is found and replaced: %s", async (_, path, given) => {
    const body = given.replace("{", '{"model":"tiny","max_tokens":5,');
    const policy = { input_scanners: ["ban_keywords" as const], ban_keywords: ["falcon"], fail_open: false };
    const { status } = await answerOf(worldOf(policy), { body }, path, path === messages);
    const world = worldOf({ ...policy, action: "redact" });
    await answerOf(world, { body }, path, path === messages);
    const upstream = await sent(world);
    expect({ status, isReplaced: upstream.includes("[REDACTED]"), isLeft: /fal"|"con"/.test(upstream) }).toEqual({
      status: 400,
      isReplaced: true,
      isLeft: false,
    });
  });
});

describe("escapes in arguments that are JSON only for their tool", () => {
  const policy = { ban_keywords: ["falcon"], scan_assistant: true, fail_open: false };
  const hidden = String.raw`"q":"\u0066alcon"`;
  const all: [string, string][] = [
    ["NaN", `{"a":NaN,${hidden}}`],
    ["a comma at the end", `{${hidden},}`],
    ["a raw line break", `{"a":"\n",${hidden}}`],
    ["another escape", String.raw`{"a":"\x41",${hidden}}`],
    ["a byte order mark", `\uFEFF{${hidden}}`],
    ["text behind", `{${hidden}} done`],
    ["two documents", `{}{${hidden}}`],
    ["a code fence", `\`\`\`json\n{${hidden}}\n\`\`\``],
  ];
  const called = (json: string) => ({
    role: "assistant",
    tool_calls: [{ index: 0, id: "c", type: "function", function: { name: "f", arguments: json } }],
  });

  it.each(all)("are found in an answer, whole and streamed: %s", async (_, json) => {
    const statusOf = async (body: string, type: string): Promise<number> => {
      const world = worldOf({ ...policy, output_scanners: ["ban_keywords"] });
      world.upstream = async () => new Response(body, { headers: { "content-type": type } });
      return (await answerOf(world, { body: chatBody("hi") })).status;
    };
    const event = JSON.stringify({ choices: [{ index: 0, delta: called(json) }] });
    expect({
      whole: await statusOf(JSON.stringify({ choices: [{ index: 0, message: called(json) }] }), "application/json"),
      streamed: await statusOf(`data: ${event}\n\ndata: [DONE]\n\n`, "text/event-stream"),
    }).toEqual({ whole: 400, streamed: 400 });
  });

  it.each(all)("are taken out of a request and a whole answer: %s", async (_, json) => {
    const world = worldOf({
      ...policy,
      action: "redact",
      input_scanners: ["ban_keywords"],
      output_scanners: ["ban_keywords"],
    });
    world.upstream = async () => Response.json({ choices: [{ index: 0, message: called(json) }] });
    const { text } = await answerOf(world, { body: JSON.stringify({ model: "tiny", messages: [called(json)] }) });
    const given = await sent(world);
    for (const one of [given, text]) {
      expect({ isLeft: /u0066/.test(one), isReplaced: one.includes("[REDACTED]") }).toEqual({
        isLeft: false,
        isReplaced: true,
      });
    }
  });
});

it.each(["block", "redact"] as const)(
  "fields of a form are read as one, in the order of the form: %s",
  async (action) => {
    const world = worldOf({ action, input_scanners: ["ban_keywords"], ban_keywords: ["falcon"] });
    const form = new FormData();
    for (const [name, value] of [
      ["model", "tiny"],
      ["prompt", "a fal"],
      ["prompt", "con"],
      ["user", "u"],
    ] as const)
      form.append(name, value);
    form.append("file", new Blob(["x"]), "a.wav");
    const encoded = new Response(form);
    const own = Object.fromEntries(world.received().request.headers);
    const headers = { ...own, "content-type": encoded.headers.get("content-type") ?? "" };
    const { status } = await answerOf(
      world,
      { body: await encoded.arrayBuffer(), headers },
      "/v1/audio/transcriptions",
    );
    const given = status === 200 ? await sent(world) : "";
    expect({ status, isLeft: given.includes("con\r\n"), isReplaced: given.includes("a [REDACTED]") }).toEqual(
      action === "block"
        ? { status: 400, isLeft: false, isReplaced: false }
        : { status: 200, isLeft: false, isReplaced: true },
    );
  },
);

describe("an answer in parts", () => {
  const parts = [
    { type: "text", text: "41111111" },
    { type: "text", text: "11111111" },
  ];
  const answerWith = (content: object) =>
    JSON.stringify({ choices: [{ index: 0, message: { role: "assistant", content } }] });

  it("is examined over them, and two choices are not parts of one", async () => {
    const statusOf = async (json: string) => {
      const world = worldOf({ output_scanners: ["pii"] });
      world.upstream = async () => new Response(json, { headers: { "content-type": "application/json" } });
      return (await answerOf(world, { body: chatBody("hi") })).status;
    };
    const choices = parts.map(({ text }, index) => ({ index, message: { role: "assistant", content: text } }));
    expect({ parts: await statusOf(answerWith(parts)), choices: await statusOf(JSON.stringify({ choices })) }).toEqual({
      parts: 400,
      choices: 200,
    });
  });

  it("is redacted over them", async () => {
    const world = worldOf({ action: "redact", output_scanners: ["pii"] });
    world.upstream = async () => new Response(answerWith(parts), { headers: { "content-type": "application/json" } });
    const { text } = await answerOf(world, { body: chatBody("hi") });
    expect(JSON.parse(text).choices[0].message.content).toEqual([
      { type: "text", text: "[REDACTED:CREDIT_CARD]" },
      { type: "text", text: "" },
    ]);
  });

  it("is examined over the blocks of a stream, or is 502 for a stream of another API", async () => {
    const world = worldOf({ output_scanners: ["pii"] });
    const events = parts.map(({ text }, index) => ({
      type: "content_block_delta",
      index,
      delta: { type: "text_delta", text },
    }));
    const body = events.map((event) => `event: content_block_delta\ndata: ${JSON.stringify(event)}\n\n`).join("");
    world.upstream = async () => new Response(body, { headers: { "content-type": "text/event-stream" } });
    const statusOf = async (api_dialect: "openai" | "anthropic"): Promise<number> => {
      world.model = modelOf({ api_dialect });
      const asked = JSON.stringify({ model: "tiny", stream: true, max_tokens: 9, messages: [] });
      return (await answerOf(world, { body: asked }, "/v1/messages")).status;
    };
    expect({ own: await statusOf("anthropic"), other: await statusOf("openai") }).toEqual({ own: 400, other: 502 });
  });
});

it.each([
  ["cannot be read if they have a name twice", String.raw`{"a":"\u0066alcon","a":"b"}`, 503],
  ["are memory", `{"a":"${String.raw`\n`.repeat(1_000_000)}"}`, 503],
  ["are read if there is room", String.raw`{"a":"\u0066ish","b":"b"}`, 200],
])("arguments of an answer as their tool reads them %s", async (_, json, status) => {
  const world = worldOf({ fail_open: false, output_scanners: ["ban_keywords"], ban_keywords: ["falcon"] });
  const call = { id: "c", type: "function", function: { name: "f", arguments: json } };
  const message = { role: "assistant", content: null, tool_calls: [call] };
  world.upstream = async () => Response.json({ choices: [{ index: 0, message, finish_reason: "tool_calls" }] });
  // beside the answer itself there is room for its texts once
  world.memory.answerMemory.open().grow(ANSWER_MEMORY_BYTES - 10_000_000);
  expect((await answerOf(world, { body: chatBody("hi") })).status).toBe(status);
});
