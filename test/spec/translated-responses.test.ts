/**
 * The Responses API for models whose upstreams have chat completions or Messages alone (docs/rules/dialects.md#responses): OpenAI's
 * SDK, and requests as an agent for code sends them.
 */
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { dataOf, useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { startMessagesUpstream } from "../harness/messages-upstream.ts";
import { startToolModel, TURN_USAGE } from "../harness/tool-model.ts";
import { useStarted } from "../harness/use-started.ts";

const fixture = useGateway();
const toolModel = useStarted(startToolModel);
const messages = useStarted(startMessagesUpstream);

const TRANSLATED = { responses_api: "translated" };
const ANTHROPIC = { api_dialect: "anthropic", auth_scheme: "x-api-key", api_key: "upstream-key" };
const TURNS = 20;
const WEATHER = {
  type: "function" as const,
  name: "weather",
  description: "The weather of a city",
  parameters: { type: "object", properties: { city: { type: "string" } } },
  strict: false,
};

const clientOf = ({ secret }: Minted): OpenAI =>
  new OpenAI({ baseURL: `${fixture.gateway.proxyUrl}/v1`, apiKey: secret, maxRetries: 0 });

const mintChat = async (behaviour = "plain"): Promise<Minted> =>
  await fixture.gateway.mint(fixture.upstream.url, behaviour, TRANSLATED);

const asked = ({ model, mark }: Minted) => ({ model: model.model_name, input: `hello ${mark}` });

async function post({ secret, model }: Minted, body: object): Promise<Response> {
  return await fetch(`${fixture.gateway.proxyUrl}/v1/responses`, {
    method: "POST",
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
    body: JSON.stringify({ model: model.model_name, ...body }),
  });
}

const rowOf = async ({ tenant }: Minted, { headers }: Response) =>
  await fixture.gateway.row(tenant.id, headers.get("x-gateway-request-id"));

/** Asks until the model calls no tool any more; the answers as streams and as documents in turn. */
async function looped(client: OpenAI, minted: Minted, tools: OpenAI.Responses.Tool[], input: string) {
  const history: OpenAI.Responses.ResponseInput = [{ role: "user", content: input }];
  const called: string[] = [];
  for (;;) {
    const request = {
      model: minted.model.model_name,
      input: history,
      instructions: "Be brief.",
      tools,
      store: false,
      include: ["reasoning.encrypted_content" as const],
    };
    const response: OpenAI.Responses.Response =
      called.length % 2 === 0
        ? await client.responses.stream(request).finalResponse()
        : await client.responses.create(request);
    history.push(...(response.output as OpenAI.Responses.ResponseInput));
    const calls = response.output.filter(({ type }) => type === "function_call" || type === "custom_tool_call");
    if (calls.length === 0) return { called, text: response.output_text };
    for (const call of calls) {
      if (call.type === "function_call") {
        called.push(call.arguments);
        history.push({ type: "function_call_output", call_id: call.call_id, output: "7 degrees" });
      } else if (call.type === "custom_tool_call") {
        called.push(call.input);
        history.push({ type: "custom_tool_call_output", call_id: call.call_id, output: "patched" });
      }
    }
  }
}

describe("OpenAI's SDK at a model of chat completions", () => {
  it("gets a response; the call is a chat completion, and its row one of the Responses API", async () => {
    const minted = await mintChat();
    const { data, response } = await clientOf(minted)
      .responses.create({ ...asked(minted), instructions: "Be brief.", max_output_tokens: 64 })
      .withResponse();
    expect({ text: data.output_text, status: data.status, stored: (data as { store?: boolean }).store }).toEqual({
      text: "hello world",
      status: "completed",
      stored: false,
    });
    const [call] = fixture.upstream.seen(minted.mark);
    expect({ path: call?.path, body: call?.body }).toMatchObject({
      path: "/v1/chat/completions",
      body: {
        model: "plain",
        max_tokens: 64,
        messages: [
          { role: "system", content: "Be brief." },
          { role: "user", content: `hello ${minted.mark}` },
        ],
      },
    });
    const row = await rowOf(minted, response);
    expect(row).toMatchObject({
      request_type: "responses",
      input_tokens: data.usage?.input_tokens,
      output_tokens: data.usage?.output_tokens,
      upstream_model: "plain",
      status_code: 200,
    });
    expect(row.cost_usd).toBeCloseTo(row.input_tokens * 0.001 + row.output_tokens * 0.01, 9);
  });

  it("streams a response whose events add up to it, and is billed for what its upstream reports", async () => {
    const minted = await mintChat("chunks=5");
    const deltas: string[] = [];
    const stream = clientOf(minted).responses.stream(asked(minted));
    stream.on("response.output_text.delta", ({ delta }) => deltas.push(delta));
    const whole = await stream.finalResponse();
    expect({ text: whole.output_text, pieces: deltas.length > 1 }).toEqual({ text: deltas.join(""), pieces: true });
    const { usage } = whole;
    const again = await post(minted, { ...asked(minted), stream: true });
    const events = dataOf(await again.text()).map((data) => JSON.parse(data) as { type: string });
    expect({ first: events[0]?.type, last: events.at(-1)?.type }).toEqual({
      first: "response.created",
      last: "response.completed",
    });
    expect(await rowOf(minted, again)).toMatchObject({
      input_tokens: usage?.input_tokens,
      output_tokens: usage?.output_tokens,
      status_code: 200,
    });
  });

  it("runs a loop of 20 turns with a function, streamed and not", { tags: ["check"] }, async () => {
    const minted = await fixture.gateway.mint(toolModel().url, `turns=${String(TURNS)}`, TRANSLATED);
    const { called, text } = await looped(clientOf(minted), minted, [WEATHER], "How warm is it?");
    expect({ turns: called.length, arguments: new Set(called) }).toEqual({ turns: TURNS, arguments: new Set(["{}"]) });
    expect(text).toBe(`read ${JSON.stringify(called.map(() => "7 degrees"))}`);
  });

  it("runs functions and tools that get a text in one turn", { tags: ["check"] }, async () => {
    const minted = await fixture.gateway.mint(toolModel().url, "plain", TRANSLATED);
    const patch = '*** Begin Patch\n+ "x"';
    const calls = { weather: { city: "Oslo" }, apply_patch: { input: patch } };
    const lines = [`${minted.mark} please`, `call ${JSON.stringify(calls)}`, `call ${JSON.stringify(calls)}`];
    const tools = [WEATHER, { type: "custom" as const, name: "apply_patch", description: "Edits files" }];
    const { called, text } = await looped(clientOf(minted), minted, tools, lines.join("\n"));
    expect({ called, text }).toEqual({
      called: ['{"city":"Oslo"}', patch, '{"city":"Oslo"}', patch],
      text: 'read ["7 degrees","patched","7 degrees","patched"]',
    });
    const last = toolModel().seen(minted.mark).at(-1);
    expect(last?.messages.map(({ role }) => role)).toEqual([
      "system",
      "user",
      "assistant",
      "tool",
      "tool",
      "assistant",
      "tool",
      "tool",
    ]);
  });

  it("raises its own errors, of the upstream and of what needs a store", { tags: ["check"] }, async () => {
    const minted = await mintChat("status=429");
    const { responses } = clientOf(minted);
    await expect(responses.create(asked(minted))).rejects.toBeInstanceOf(OpenAI.RateLimitError);
    const calls = fixture.upstream.seen(minted.mark).length;
    for (const [param, body] of Object.entries({
      previous_response_id: { previous_response_id: "resp_1" },
      conversation: { conversation: "conv_1" },
      background: { background: true },
      prompt: { prompt: { id: "pmpt_1" } },
    }))
      await expect(responses.create({ ...asked(minted), ...body })).rejects.toMatchObject({
        status: 400,
        code: "untranslatable_field",
        param,
      });
    const well = await mintChat();
    const { id } = await clientOf(well).responses.create(asked(well));
    await expect(clientOf(well).responses.retrieve(id)).rejects.toMatchObject({
      status: 404,
      code: "object_not_found",
    });
    const counted = clientOf(well).post("/responses/input_tokens", { body: asked(well) });
    await expect(counted).rejects.toMatchObject({ status: 400, code: "untranslatable_route", param: "model" });
    expect(fixture.upstream.seen(minted.mark)).toHaveLength(calls);
  });

  it.each(["pace=20,cut", "pace=20,late-error", "pace=20,cut-mid"])(
    "never takes a stream for a whole one that ends so: %s",
    async (how) => {
      const minted = await mintChat(how);
      await expect(clientOf(minted).responses.stream(asked(minted)).finalResponse()).rejects.toThrow();
      const response = await post(minted, { ...asked(minted), stream: true });
      const events = dataOf(await response.text()).map((data) => JSON.parse(data) as { type: string });
      expect(events.at(-1)?.type).toBe("error");
      expect(await rowOf(minted, response)).toMatchObject({ status_code: 200, error_code: "upstream_stream_error" });
    },
  );
});

describe("an agent for code at a model of chat completions", () => {
  it("is answered as it asks: grammars, missing searches, hints and sealed reasoning", {
    tags: ["check"],
  }, async () => {
    const minted = await fixture.gateway.mint(toolModel().url, "plain", TRANSLATED);
    const calls = { apply_patch: { input: "*** Begin Patch" } };
    const response = await post(minted, {
      instructions: "You are a coding agent.",
      input: [
        { type: "message", role: "developer", content: [{ type: "input_text", text: "Sandbox: read-only" }] },
        {
          type: "message",
          role: "user",
          content: [{ type: "input_text", text: `${minted.mark}\ncall ${JSON.stringify(calls)}` }],
        },
      ],
      tools: [
        { type: "function", name: "shell", description: "Runs", strict: false, parameters: { type: "object" } },
        {
          type: "custom",
          name: "apply_patch",
          description: "Edits files",
          format: { type: "grammar", syntax: "lark", definition: "start: begin_patch" },
        },
        {
          type: "namespace",
          name: "agents",
          description: "Other agents",
          tools: [{ type: "function", name: "spawn", strict: false, parameters: { type: "object" } }],
        },
        { type: "web_search", external_web_access: false },
      ],
      client_metadata: { session_id: "session-1" },
      tool_choice: "auto",
      parallel_tool_calls: true,
      reasoning: { effort: "medium", summary: "auto" },
      store: false,
      stream: true,
      include: ["reasoning.encrypted_content"],
      prompt_cache_key: "session-1",
      text: { verbosity: "low" },
    });
    const events = dataOf(await response.text()).map((data) => JSON.parse(data) as Record<string, unknown>);
    const done = events.filter(({ type }) => type === "response.output_item.done").map(({ item }) => item);
    expect({ status: response.status, done, last: events.at(-1)?.["type"] }).toMatchObject({
      status: 200,
      done: [{ type: "custom_tool_call", name: "apply_patch", input: "*** Begin Patch", status: "completed" }],
      last: "response.completed",
    });
    const [sent] = toolModel().seen(minted.mark);
    expect(sent?.tools?.map(({ function: { name } }) => name)).toEqual(["shell", "apply_patch", "agents__spawn"]);
    expect(JSON.stringify(sent)).toContain("start: begin_patch");
    expect(await rowOf(minted, response)).toMatchObject({
      input_tokens: TURN_USAGE.prompt_tokens,
      output_tokens: TURN_USAGE.completion_tokens,
    });
  });
});

describe("OpenAI's SDK at a model of Anthropic's API", () => {
  it("gets responses with the model's thoughts, and runs a loop of tools, streamed and not", {
    tags: ["check"],
  }, async () => {
    const thinking = await fixture.gateway.mint(messages().url, "thinks", ANTHROPIC);
    const whole = await clientOf(thinking).responses.stream(asked(thinking)).finalResponse();
    expect({ text: whole.output_text, items: whole.output.map(({ type }) => type) }).toEqual({
      text: "hello world",
      items: ["reasoning", "message"],
    });
    expect(messages().seen(thinking.mark)[0]?.path).toBe("/v1/messages");
    const minted = await fixture.gateway.mint(messages().url, `tools=${String(TURNS)}`, ANTHROPIC);
    const { called, text } = await looped(clientOf(minted), minted, [WEATHER], "How warm is it?");
    expect({ called, text }).toEqual({
      called: Array.from({ length: TURNS }, (_, turn) => JSON.stringify({ turn, city: "Oslo" })),
      text: `done after ${String(TURNS)}`,
    });
  });

  it("is refused in the words of its own API, and never takes half an answer for a whole one", {
    tags: ["check"],
  }, async () => {
    const minted = await fixture.gateway.mint(messages().url, "plain", ANTHROPIC);
    const format = { type: "json_object" as const };
    await expect(clientOf(minted).responses.create({ ...asked(minted), text: { format } })).rejects.toMatchObject({
      status: 400,
      code: "untranslatable_field",
      param: "text.format",
    });
    const early = await fixture.gateway.mint(messages().url, "early", ANTHROPIC);
    await expect(clientOf(early).responses.stream(asked(early)).finalResponse()).rejects.toThrow();
  });
});
