/**
 * Official clients of one API at models of the other one (docs/rules/dialects.md): the OpenAI SDK over Anthropic's Messages, and
 * the Anthropic SDK over chat completions.
 */
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { MESSAGES_USAGE, startMessagesUpstream } from "../harness/messages-upstream.ts";
import { startToolModel } from "../harness/tool-model.ts";
import { useStarted } from "../harness/use-started.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();
const messages = useStarted(startMessagesUpstream);
const toolModel = useStarted(startToolModel);

const TURNS = 20;
/** Input as OpenAI's clients count it: with what came from the cache and went into it. */
const PROMPT_TOKENS =
  MESSAGES_USAGE.input_tokens + MESSAGES_USAGE.cache_read_input_tokens + MESSAGES_USAGE.cache_creation_input_tokens;
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const TOOL = {
  name: "weather",
  description: "The weather of a city",
  schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
} as const;

/** A tenant whose model has Anthropic's API. */
async function mintMessages(behaviour = "plain", model: object = {}): Promise<Minted> {
  const access = { api_dialect: "anthropic", auth_scheme: "x-api-key", api_key: "upstream-key" };
  return await fixture.gateway.mint(messages().url, behaviour, { ...access, ...model });
}

const openai = ({ secret }: Minted): OpenAI =>
  new OpenAI({ baseURL: `${fixture.gateway.proxyUrl}/v1`, apiKey: secret, maxRetries: 0 });
const anthropic = ({ secret }: Minted): Anthropic =>
  new Anthropic({ baseURL: fixture.gateway.proxyUrl, apiKey: secret, maxRetries: 0 });

const chat = (minted: Minted) => ({
  model: minted.model.model_name,
  messages: [
    { role: "system" as const, content: "Be brief." },
    { role: "user" as const, content: `hello ${minted.mark}` },
  ],
});
const message = (minted: Minted) => ({
  model: minted.model.model_name,
  max_tokens: 64,
  system: "Be brief.",
  messages: [{ role: "user" as const, content: `hello ${minted.mark}` }],
});

/** The last row of the tenant, once there is one. */
async function lastRow({ tenant }: Minted) {
  const rows = await waitFor(
    async () => await fixture.gateway.allRows(tenant.id),
    (found) => found.length > 0,
  );
  return rows[0];
}

describe("the OpenAI SDK at a model of Anthropic's API", () => {
  it("gets a completion; the call is a message with the upstream's own headers", async () => {
    const minted = await mintMessages("plain", {
      cached_input_cost_per_token: 0.0001,
      cache_write_cost_per_token: 0.002,
    });
    const completion = await openai(minted).chat.completions.create({ ...chat(minted), temperature: 2, stop: ["x"] });
    expect({ choice: completion.choices[0], usage: completion.usage, model: completion.model }).toMatchObject({
      choice: { message: { role: "assistant", content: "hello world" }, finish_reason: "stop" },
      usage: { prompt_tokens: PROMPT_TOKENS, completion_tokens: 22, prompt_tokens_details: { cached_tokens: 5 } },
      model: "claude-fake",
    });
    const [call] = messages().seen(minted.mark);
    expect({ path: call?.path, body: call?.body }).toMatchObject({
      path: "/v1/messages",
      body: { model: "plain", stop_sequences: ["x"], temperature: 1, messages: [{ role: "user" }] },
    });
    expect(JSON.stringify(call?.body.system)).toContain("Be brief.");
    expect(call?.headers).toMatchObject({ "x-api-key": "upstream-key", "anthropic-version": "2023-06-01" });
    expect(call?.headers).not.toHaveProperty("authorization");
    expect(await fixture.gateway.row(minted.tenant.id, completion._request_id ?? null)).toMatchObject({
      request_type: "chat",
      input_tokens: PROMPT_TOKENS,
      cached_tokens: 5,
      cache_write_tokens: 3,
      output_tokens: 22,
      cost_usd: expect.closeTo(11 * 0.001 + 5 * 0.0001 + 3 * 0.002 + 22 * 0.01, 9),
      upstream_model: "plain",
    });
  });

  it.each([
    ["with usage", { stream_options: { include_usage: true } }, PROMPT_TOKENS],
    ["without usage", {}, undefined],
  ])("streams %s, and is billed either way", async (_, more, promptTokens) => {
    const minted = await mintMessages("thinks");
    const stream = await openai(minted).chat.completions.create({ ...chat(minted), ...more, stream: true });
    const chunks: OpenAI.ChatCompletionChunk[] = [];
    for await (const chunk of stream) chunks.push(chunk);
    const deltas = chunks.map(({ choices }) => choices[0]?.delta as { content?: string; reasoning_content?: string });
    expect({
      text: deltas.map((delta) => delta?.content ?? "").join(""),
      thought: deltas.map((delta) => delta?.reasoning_content ?? "").join(""),
      finish: chunks.findLast(({ choices }) => choices.length > 0)?.choices[0]?.finish_reason,
      usage: chunks.at(-1)?.usage?.prompt_tokens,
    }).toEqual({ text: "hello world", thought: "let me see", finish: "stop", usage: promptTokens });
    expect(await lastRow(minted)).toMatchObject({ input_tokens: PROMPT_TOKENS, output_tokens: 22, status_code: 200 });
  });

  it("runs a loop of 20 turns with a tool, streamed and not", { tags: ["check"] }, async () => {
    const minted = await mintMessages(`tools=${TURNS}`);
    const client = openai(minted);
    const parameters = { ...TOOL.schema, required: [...TOOL.schema.required] };
    const tools = [{ type: "function" as const, function: { name: TOOL.name, parameters } }];
    const history: OpenAI.ChatCompletionMessageParam[] = [...chat(minted).messages];
    const cities: unknown[] = [];
    for (;;) {
      const request = { model: minted.model.model_name, messages: history, tools };
      const completion =
        cities.length % 2 === 0
          ? await client.chat.completions.create(request)
          : await client.chat.completions.stream(request).finalChatCompletion();
      const said = completion.choices[0]?.message;
      if (said === undefined) throw new Error("no choice");
      history.push(said);
      if (completion.choices[0]?.finish_reason !== "tool_calls") break;
      for (const call of said.tool_calls ?? []) {
        cities.push((JSON.parse("function" in call ? call.function.arguments : "{}") as { city: string }).city);
        history.push({ role: "tool", tool_call_id: call.id, content: "7 degrees" });
      }
    }
    expect({ cities, end: history.at(-1)?.content }).toEqual({
      cities: Array.from({ length: TURNS }, () => "Oslo"),
      end: `done after ${TURNS}`,
    });
  });

  it("sends images and named tools", { tags: ["check"] }, async () => {
    const minted = await mintMessages();
    const url = `data:image/png;base64,${PIXEL}`;
    const content = [
      { type: "text" as const, text: minted.mark },
      { type: "image_url" as const, image_url: { url } },
    ];
    await openai(minted).chat.completions.create({
      model: minted.model.model_name,
      messages: [{ role: "user", content }],
      tools: [{ type: "function", function: { name: TOOL.name } }],
      tool_choice: { type: "function", function: { name: TOOL.name } },
    });
    expect(messages().seen(minted.mark)[0]?.body).toMatchObject({
      messages: [
        { content: [{}, { type: "image", source: { type: "base64", media_type: "image/png", data: PIXEL } }] },
      ],
      tool_choice: { type: "tool", name: TOOL.name },
    });
  });

  it("raises its own errors, of the upstream and of what cannot be translated", { tags: ["check"] }, async () => {
    const minted = await mintMessages("status=429,type=rate_limit_error");
    const create = (body: object) => openai(minted).chat.completions.create({ ...chat(minted), ...body });
    await expect(create({})).rejects.toBeInstanceOf(OpenAI.RateLimitError);
    const overloaded = await mintMessages("status=529");
    await expect(openai(overloaded).chat.completions.create(chat(overloaded))).rejects.toMatchObject({ status: 529 });
    await expect(create({ n: 2 })).rejects.toMatchObject({ status: 400, code: "untranslatable_field", param: "n" });
    const embed = openai(minted).embeddings.create({ model: minted.model.model_name, input: "a" });
    await expect(embed).rejects.toMatchObject({ status: 400, code: "untranslatable_route", param: "model" });
    await expect(openai(minted).completions.create({ model: minted.model.model_name, prompt: "a" })).rejects.toThrow(
      "send a chat completion, a message or a response",
    );
    expect(messages().seen(minted.mark)).toHaveLength(1);
  });

  it.each(["pace=20,cut", "early", "late-error"])(
    "never takes a stream for a whole one that ends so: %s",
    async (how) => {
      const minted = await mintMessages(how);
      const read = async (): Promise<unknown> =>
        await openai(minted).chat.completions.stream(chat(minted)).finalChatCompletion();
      await expect(read()).rejects.toThrow();
      const row = await lastRow(minted);
      expect(row).toMatchObject({ status_code: 200, error_code: "upstream_stream_error", input_tokens: PROMPT_TOKENS });
    },
  );
});

describe("the Anthropic SDK at a model of chat completions", () => {
  it("gets a message, and the call is a chat completion", { tags: ["check"] }, async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "plain", { api_key: "upstream-key" });
    const answer = await anthropic(minted).messages.create({ ...message(minted), metadata: { user_id: "u-1" } });
    expect(answer).toMatchObject({
      type: "message",
      role: "assistant",
      content: [{ type: "text", text: "hello world" }],
      stop_reason: "end_turn",
      usage: { input_tokens: 11, output_tokens: 22 },
    });
    const [call] = fixture.upstream.seen(minted.mark);
    expect({ path: call?.path, body: call?.body }).toMatchObject({
      path: "/v1/chat/completions",
      body: { model: "plain", messages: [{ role: "system", content: "Be brief." }, { role: "user" }], user: "u-1" },
    });
    expect(call?.headers).toMatchObject({ authorization: "Bearer upstream-key" });
    for (const name of ["anthropic-version", "x-api-key"]) expect(call?.headers).not.toHaveProperty(name);
    expect(await lastRow(minted)).toMatchObject({ input_tokens: 11, output_tokens: 22, end_user: "u-1" });
  });

  it.each(["plain", "no-options", "bytes"])(
    "streams from an upstream that is %s",
    { tags: ["check"] },
    async (behaviour) => {
      const minted = await fixture.gateway.mint(fixture.upstream.url, behaviour);
      const answer = await anthropic(minted).messages.stream(message(minted)).finalMessage();
      expect({ content: answer.content, stop: answer.stop_reason }).toMatchObject({
        content: [{ type: "text", text: "w0 w1 w2 w3 " }],
        stop: "end_turn",
      });
      if (behaviour !== "no-options") {
        expect(answer.usage).toMatchObject({ input_tokens: 11, output_tokens: 22 });
        expect(await lastRow(minted)).toMatchObject({ input_tokens: 11, output_tokens: 22 });
      }
    },
  );

  it("limits a model that knows max_completion_tokens only", { tags: ["check"] }, async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "newer-limit");
    const answer = await anthropic(minted).messages.create(message(minted));
    const streamed = await anthropic(minted).messages.stream(message(minted)).finalMessage();
    expect({ plain: answer.stop_reason, streamed: streamed.stop_reason }).toEqual({
      plain: "end_turn",
      streamed: "end_turn",
    });
    const limits = fixture.upstream
      .seen(minted.mark)
      .map(({ body }) => [body["max_tokens"], body["max_completion_tokens"]]);
    expect(limits.at(-1)).toEqual([undefined, 64]);
    expect(await lastRow(minted)).toMatchObject({ status_code: 200, attempts: 1 });
  });

  it("runs a loop of 20 turns with a tool, streamed and not", { tags: ["check"] }, async () => {
    const minted = await fixture.gateway.mint(toolModel().url, `turns=${TURNS}`);
    const client = anthropic(minted);
    const tools = [{ name: TOOL.name, input_schema: { type: "object" as const } }];
    const history: Anthropic.MessageParam[] = [...message(minted).messages];
    let calls = 0;
    for (;;) {
      const request = { model: minted.model.model_name, max_tokens: 64, messages: history, tools };
      const answer =
        calls % 2 === 0 ? await client.messages.create(request) : await client.messages.stream(request).finalMessage();
      history.push({ role: "assistant", content: answer.content });
      const used = answer.content.filter((block) => block.type === "tool_use");
      if (answer.stop_reason !== "tool_use") break;
      calls += used.length;
      const result = { type: "tool_result" as const, content: [{ type: "text" as const, text: `result ${calls}` }] };
      history.push({ role: "user", content: used.map(({ id }) => ({ ...result, tool_use_id: id })) });
    }
    expect({ calls, end: JSON.stringify(history.at(-1)?.content) }).toEqual({
      calls: TURNS,
      end: expect.stringContaining(`result ${TURNS}`),
    });
  });

  it.each([
    [true, { status_code: 200, error_code: "upstream_stream_error" }],
    [false, { status_code: 502, error_code: "upstream_failed" }],
  ])("names arguments of a call that are not an object, streamed: %s", { tags: ["check"] }, async (stream, outcome) => {
    const minted = await fixture.gateway.mint(toolModel().url, "text");
    const request = {
      ...message(minted),
      messages: [{ role: "user" as const, content: `call {"${TOOL.name}":"Oslo"}` }],
      tools: [{ name: TOOL.name, input_schema: { type: "object" as const } }],
    };
    const { messages: client } = anthropic(minted);
    await expect(stream ? client.stream(request).finalMessage() : client.create(request)).rejects.toThrow(
      "the arguments of a tool call are not a JSON object",
    );
    expect(await lastRow(minted)).toMatchObject(outcome);
  });

  it("raises its own errors, and counts tokens", { tags: ["check"] }, async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "status=429");
    await expect(anthropic(minted).messages.create(message(minted))).rejects.toBeInstanceOf(Anthropic.RateLimitError);
    const refused = anthropic(minted).messages.create({
      ...message(minted),
      tools: [{ type: "web_search_20250305", name: "web_search" }],
    });
    await expect(refused).rejects.toMatchObject({ status: 400, error: { error: { code: "untranslatable_field" } } });
    const { max_tokens: _, ...counted } = message(minted);
    expect((await anthropic(minted).messages.countTokens(counted)).input_tokens).toBeGreaterThan(0);
  });

  it.each(["pace=20,cut", "late-error", "pace=20,cut-mid"])(
    "never takes a stream for a whole one that ends so: %s",
    async (how) => {
      const minted = await fixture.gateway.mint(fixture.upstream.url, how);
      const read = async (): Promise<unknown> =>
        await anthropic(minted).messages.stream(message(minted)).finalMessage();
      await expect(read()).rejects.toThrow();
      expect(await lastRow(minted)).toMatchObject({ status_code: 200, error_code: "upstream_stream_error" });
    },
  );
});
