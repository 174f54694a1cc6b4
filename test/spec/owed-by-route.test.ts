/**
 * What answers owe by the kind of their route, when an upstream reports little or nothing
 * (docs/rules/settlement-and-rows.md#tokens-owed, docs/rules/settlement-and-rows.md#what-was-seen).
 *
 * @module-tag check
 */
import { describe, expect, it } from "vitest";
import type { UsageLog } from "../../shared/schema/usage.ts";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { startHttpSink } from "../harness/http-sink.ts";
import { mainRows } from "../harness/main-rows.ts";
import { useStarted } from "../harness/use-started.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();
const upstream = useStarted(startHttpSink);

async function served(minted: Minted, path: string, body: object): Promise<UsageLog> {
  const response = await fetch(`${fixture.gateway.proxyUrl}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${minted.secret}`, "content-type": "application/json" },
    body: JSON.stringify({ model: minted.model.model_name, ...body }),
  });
  await response.text();
  expect(response.status).toBe(200);
  return await fixture.gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"));
}

describe("a route that creates no text", () => {
  const text = "x".repeat(40);
  mainRows(2)([
    ["/v1/rerank", { query: text, documents: [text] }, { usage: { total_tokens: 62 } }, 62],
    ["/v1/moderations", { input: text }, { results: [] }, 10],
    ["/v1/rerank", { query: text, documents: [text] }, { results: [] }, 20],
    ["/v1/score", { text_1: text, text_2: [text] }, { data: [] }, 20],
    ["/v1/classify", { input: text }, { data: [] }, 10],
    ["/v1/embeddings", { input: text }, { data: [], usage: { total_tokens: 62 } }, 62],
  ])("%s owes input only (case %#)", async (path, body, answer, inputTokens) => {
    const minted = await fixture.gateway.mint(upstream().url);
    upstream().answer = () => ({ headers: { "content-type": "application/json" }, body: JSON.stringify(answer) });
    expect(await served(minted, path, body)).toMatchObject({
      input_tokens: inputTokens,
      output_tokens: 0,
      cost_usd: inputTokens * 0.001,
    });
  });
});

mainRows(1)([
  ["/v1/messages/count_tokens", { input_tokens: 50_000 }],
  ["/v1/tokenize", { count: 9, tokens: [1, 2, 3] }],
  ["/v1/detokenize", { prompt: "hello" }],
])("%s owes nothing, and takes nothing of a tenant's minute", async (path, answer) => {
  const minted = await fixture.gateway.mint(upstream().url);
  // One token would be enough to have the next request refused.
  await fixture.gateway.must("PUT", `/tenants/${minted.tenant.id}/quota`, { tokens_per_minute: 1 });
  upstream().answer = () => ({ headers: { "content-type": "application/json" }, body: JSON.stringify(answer) });
  for (let round = 0; round < 3; round += 1) {
    const row = await served(minted, path, {
      messages: [{ role: "user", content: "x".repeat(4_000) }],
      prompt: "hello",
    });
    expect(row).toMatchObject({ total_tokens: 0, cost_usd: 0 });
  }
});

const much = "x".repeat(8_000);
const ONE = { max_new_tokens: 1 };
mainRows(2)([
  ["a text", { text: much, sampling_params: ONE }, "application/json", JSON.stringify({ text: much }), 2000, 2000],
  [
    "a report of its server",
    { text: much, sampling_params: ONE },
    "application/json",
    JSON.stringify({ text: much, meta_info: { prompt_tokens: 3000, completion_tokens: 2500 } }),
    3000,
    2500,
  ],
  ["plain text", { inputs: much, parameters: ONE }, "text/plain", much, 2000, 2000],
  ["lines", { inputs: "x", parameters: ONE }, "application/x-ndjson", '{"a":"b"}\n'.repeat(30), 1, 30],
  [
    "events",
    { input_ids: [1, 2, 3], sampling_params: ONE },
    "text/event-stream",
    'data: {"output_ids":[7]}\n\n'.repeat(30),
    3,
    30,
  ],
  ["no text", { inputs: "x", parameters: ONE }, "audio/wav", much, 1, 1],
])("an answer of no known form owes %s", async (_, given, type, body, inputTokens, outputTokens) => {
  const minted = await fixture.gateway.mint(upstream().url);
  upstream().answer = () => ({ headers: { "content-type": type }, body });
  const row = await served(minted, "/generate", { ...given, max_tokens: 1 });
  expect(row).toMatchObject({ input_tokens: inputTokens, output_tokens: outputTokens });
});

it("a limit under the name of a model server is estimated", async () => {
  const minted = await fixture.gateway.mint(upstream().url);
  upstream().answer = () => ({ headers: { "content-type": "application/json" }, body: JSON.stringify({ text: "a" }) });
  const given = { text: "hi", max_tokens: 1, sampling_params: { max_new_tokens: 100_000 } };
  expect(await served(minted, "/generate", given)).toMatchObject({ estimated_tokens: 8_193 });
});

it("a stream that is left owes the texts of its tools", async () => {
  const minted = await fixture.gateway.mint(fixture.upstream.url, "chunks=10000,pace=10");
  const leaving = new AbortController();
  const response = await fixture.gateway.chat(minted, {
    stream: true,
    signal: leaving.signal,
    body: { max_tokens: 50, tools: [{ type: "function", function: { name: "f", description: "x".repeat(80_000) } }] },
  });
  await response.body?.getReader().read();
  leaving.abort();
  const [row] = await waitFor(
    async () => await fixture.gateway.rows(minted.tenant.id),
    (found) => found.length === 1,
  );
  expect(row?.input_tokens).toBeGreaterThan(20_000);
});

it("a stream that is left after 10 tokens owes these, not the stated limit", async () => {
  const minted = await fixture.gateway.mint(fixture.upstream.url, "chunks=10000,pace=10");
  const leaving = new AbortController();
  const response = await fixture.gateway.chat(minted, {
    stream: true,
    signal: leaving.signal,
    body: { max_tokens: 8_000, messages: [{ role: "user", content: "x".repeat(40) }] },
  });
  let text = "";
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk;
    if (text.split('"content":').length > 10) break;
  }
  leaving.abort();
  const [row] = await waitFor(
    async () => await fixture.gateway.rows(minted.tenant.id),
    (found) => found.length === 1,
  );
  expect(row).toMatchObject({ status_code: 499, input_tokens: 14 });
  expect(row?.output_tokens).toBeGreaterThanOrEqual(10);
  expect(row?.output_tokens).toBeLessThan(4_000);
});

const heard = `data: ${JSON.stringify({ type: "transcript.text.delta", delta: "x".repeat(40) })}\n\n`;
it.each([
  ["whose answer has no place for its length", "text/plain", "hello", 0],
  ["that is streamed without a report", "text/event-stream", heard, 10],
])("a transcription %s owes the minute that was reserved, and what was seen", async (_, type, answer, outputTokens) => {
  const minted = await fixture.gateway.mint(upstream().url, "plain", { input_cost_per_second: 0.002 });
  upstream().answer = () => ({ headers: { "content-type": type }, body: answer });
  const body = new FormData();
  body.set("model", minted.model.model_name);
  body.set("file", new File(["x"], "x.wav"));
  const headers = { authorization: `Bearer ${minted.secret}` };
  const url = `${fixture.gateway.proxyUrl}/v1/audio/transcriptions`;
  const response = await fetch(url, { method: "POST", headers, body });
  expect(await response.text()).toBe(answer);
  const row = await fixture.gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"));
  expect(row).toMatchObject({ input_seconds: 60, cost_usd: 0.12, output_tokens: outputTokens });
});

it.each([{}, { input: null }])("a speech without a text is refused: %j", async (given) => {
  const minted = await fixture.gateway.mint(upstream().url);
  const response = await fetch(`${fixture.gateway.proxyUrl}/v1/audio/speech`, {
    method: "POST",
    headers: { authorization: `Bearer ${minted.secret}`, "content-type": "application/json" },
    body: JSON.stringify({ model: minted.model.model_name, voice: "v", ...given }),
  });
  expect({ status: response.status, body: await response.json() }).toMatchObject({
    status: 400,
    body: { error: { param: "input", message: "input must be a string" } },
  });
});
