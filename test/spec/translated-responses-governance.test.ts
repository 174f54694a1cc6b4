/**
 * A translated call of the Responses API is governed like every other one (docs/rules/upstream-calls.md#translated-calls): guardrails
 * see every text that reaches its upstream, and fallbacks, heavy bodies and revocation work as they do elsewhere.
 */
import { describe, expect, it } from "vitest";
import type { Model } from "../../shared/schema/model.ts";
import { useAnswerStore } from "../harness/answer-store.ts";
import { dataOf, useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";

const fixture = useGateway();
const store = useAnswerStore();
const TRANSLATED = { responses_api: "translated" };
const WORD = "falcon4711";

const mint = async (behaviour = "plain", more: object = {}): Promise<Minted> =>
  await fixture.gateway.mint(fixture.upstream.url, behaviour, { ...TRANSLATED, ...more });

async function post({ secret, model }: Minted, body: object): Promise<Response> {
  return await fetch(`${fixture.gateway.proxyUrl}/v1/responses`, {
    method: "POST",
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
    body: JSON.stringify({ model: model.model_name, ...body }),
  });
}

const codeOf = async (response: Response): Promise<string> =>
  ((await response.json()) as { readonly error?: { readonly code: string } }).error?.code ?? "";

const guard = async ({ tenant }: Minted, policy: object): Promise<unknown> =>
  await fixture.gateway.must("PATCH", `/tenants/${tenant.id}/guardrails`, { policy });

const user = (content: unknown) => [{ role: "user", content }];
const part = (text: string) => ({ type: "input_text", text });
const tool = { type: "function", name: "f", parameters: { type: "object" } };

describe("an input guardrail", () => {
  it.each<[string, object]>([
    ["the input", { input: WORD }],
    ["instructions", { input: "hi", instructions: WORD }],
    ["a message", { input: user(WORD) }],
    ["a part", { input: user([part("a"), part(WORD)]) }],
    ["two parts of one word", { input: user([part("falcon"), part("4711")]) }],
    ["a developer's message", { input: [{ role: "developer", content: [part(WORD)] }, ...user("hi")] }],
    ["a message of the model", { input: [{ role: "assistant", content: [{ type: "output_text", text: WORD }] }] }],
    ["a refusal", { input: [{ role: "assistant", content: [{ type: "refusal", refusal: WORD }] }] }],
    ["reasoning", { input: [{ type: "reasoning", summary: [{ type: "summary_text", text: WORD }] }] }],
    ["raw reasoning", { input: [{ type: "reasoning", content: [{ type: "reasoning_text", text: WORD }] }] }],
    ["arguments", { input: [{ type: "function_call", call_id: "c_1", name: "f", arguments: `{"a":"${WORD}"}` }] }],
    ["the input of a tool", { input: [{ type: "custom_tool_call", call_id: "c_1", name: "f", input: WORD }] }],
    ["a tool's description", { input: "hi", tools: [{ ...tool, description: WORD }] }],
    ["a tool's schema", { input: "hi", tools: [{ ...tool, parameters: { type: "object", description: WORD } }] }],
    [
      "a tool's grammar",
      {
        input: "hi",
        tools: [{ type: "custom", name: "f", format: { type: "grammar", syntax: "lark", definition: WORD } }],
      },
    ],
    [
      "an answer's schema",
      { input: "hi", text: { format: { type: "json_schema", name: "n", schema: { type: "object", title: WORD } } } },
    ],
    ["a member that is passed on", { input: "hi", documents: [{ url: WORD, model: WORD }] }],
    [
      "an answer's schema as chat has it",
      { input: "hi", response_format: { json_schema: { schema: { model: WORD } } } },
    ],
    ["a function as chat had it", { input: "hi", functions: [{ parameters: { properties: { stop: WORD } } }] }],
    [
      "the name of a file",
      { input: user([{ type: "input_file", filename: WORD, file_data: "data:application/pdf;base64,AAAA" }]) },
    ],
  ])("sees %s", async (_, body) => {
    const minted = await mint();
    await guard(minted, { input_scanners: ["ban_keywords"], ban_keywords: [WORD], scan_assistant: true });
    const response = await post(minted, body);
    const seen = fixture.upstream.seen(WORD).length;
    expect({ status: response.status, code: await codeOf(response), seen }).toEqual({
      status: 400,
      code: "request_blocked",
      seen: 0,
    });
  });

  it.each(["function_call_output", "custom_tool_call_output"])("keeps back the result of a tool: %s", async (type) => {
    const minted = await mint();
    await guard(minted, { input_scanners: ["ban_keywords"], ban_keywords: [WORD] });
    for (const output of [`${minted.mark} ${WORD}`, [part(minted.mark), part(WORD)]])
      await (await post(minted, { input: [...user(minted.mark), { type, call_id: "c_1", output }] })).text();
    const sent = fixture.upstream.seen(minted.mark);
    expect({ calls: sent.length, told: sent.some(({ body }) => JSON.stringify(body).includes(WORD)) }).toEqual({
      calls: 2,
      told: false,
    });
  });
});

describe("an output guardrail", () => {
  it.each([false, true])("sees what the model says, with stream %s", { tags: ["check"] }, async (stream) => {
    const minted = await mint();
    await guard(minted, { output_scanners: ["ban_keywords"], ban_keywords: [stream ? "w1" : "hello"] });
    const response = await post(minted, { input: "hi", stream });
    expect(await codeOf(response)).toBe("response_blocked");
  });
});

describe("a model whose upstream fails", () => {
  it("is followed by one that is translated, and by none that cannot carry the request", {
    tags: ["check"],
  }, async () => {
    const translated = await mint();
    const native = await fixture.gateway.mint("http://127.0.0.1:9");
    await fixture.gateway.must<Model>("PATCH", `/models/${native.model.id}`, {
      fallback_models: [translated.model.model_name],
    });
    const answered = await post(native, { input: translated.mark });
    expect({ by: answered.headers.get("x-gateway-model"), status: answered.status }).toEqual({
      by: translated.model.model_name,
      status: 200,
    });
    expect(fixture.upstream.seen(translated.mark)[0]?.path).toBe("/v1/chat/completions");
    const refused = await post(native, { input: translated.mark, background: true });
    expect({ status: refused.status, code: await codeOf(refused) }).toEqual({ status: 502, code: "upstream_failed" });
    expect(fixture.upstream.seen(translated.mark)).toHaveLength(1);
  });

  it("is followed by one that has the API itself", { tags: ["check"] }, async () => {
    const translated = await fixture.gateway.mint("http://127.0.0.1:9", "plain", TRANSLATED);
    const native = await fixture.gateway.mint(store.baseOf(translated.mark));
    await fixture.gateway.must<Model>("PATCH", `/models/${translated.model.id}`, {
      fallback_models: [native.model.model_name],
    });
    const answered = await post(translated, { input: "hi", store: false });
    expect({ status: answered.status, path: store.seen(translated.mark)[0]?.path }).toEqual({
      status: 200,
      path: "/responses",
    });
  });
});

it("carries a heavy body, and answers a stream that is cached from the cache", { tags: ["check"] }, async () => {
  const minted = await mint("plain", { cache_enabled: true });
  const ask = async () => {
    const response = await post(minted, { input: `${minted.mark} ${"x".repeat(3_000_000)}`, stream: true });
    const last = dataOf(await response.text()).at(-1) ?? "";
    return { cache: response.headers.get("x-gateway-cache"), type: (JSON.parse(last) as { type: string }).type };
  };
  expect({ first: await ask(), second: await ask() }).toEqual({
    first: { cache: "miss", type: "response.completed" },
    second: { cache: "hit", type: "response.completed" },
  });
  expect(fixture.upstream.seen(minted.mark)).toHaveLength(1);
});

it("ends a stream whose key is disabled meanwhile with an error of its API", { tags: ["check"] }, async () => {
  const minted = await mint("chunks=2000,pace=20");
  const response = await post(minted, { input: minted.mark, stream: true });
  const reader = (response.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream()).getReader();
  let text = (await reader.read()).value ?? "";
  await fixture.gateway.must("PUT", `/keys/${minted.key.id}/disabled`, { disabled: true });
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    text += value;
  }
  expect(JSON.parse(dataOf(text).at(-1) ?? "{}")).toMatchObject({ type: "error", code: "api_key_disabled" });
});
