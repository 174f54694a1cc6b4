/**
 * Prices of parts: tokens from a cache, tokens of reasoning, seconds of audio, as upstreams report them
 * (docs/rules/settlement-and-rows.md#cost, docs/rules/settlement-and-rows.md#parts-of-tokens).
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import { type HttpSink, startHttpSink } from "../harness/http-sink.ts";

const fixture = useGateway();
let upstream: HttpSink;

/** What an answer reports, by the word in the request that asks for it. */
const REPORTS: Readonly<Record<string, object>> = {
  openai: {
    choices: [],
    usage: {
      prompt_tokens: 1000,
      prompt_tokens_details: { cached_tokens: 800 },
      completion_tokens: 100,
      completion_tokens_details: { reasoning_tokens: 60 },
    },
  },
  anthropic: { content: [], usage: { input_tokens: 200, cache_read_input_tokens: 800, output_tokens: 100 } },
  boastful: {
    usage: { prompt_tokens: 10, prompt_tokens_details: { cached_tokens: 1e3 }, completion_tokens: 0 },
  },
  "x.wav": { text: "hello", usage: { type: "duration", seconds: 90 } },
};

beforeAll(async () => {
  upstream = await startHttpSink();
  upstream.answer = ({ body }) => {
    const report = Object.entries(REPORTS).find(([word]) => body.includes(word))?.[1] ?? {};
    return { headers: { "content-type": "application/json" }, body: JSON.stringify(report) };
  };
});
afterAll(async () => {
  await upstream.close();
});

it("bills each part at its own price, and at the plain price without one", async () => {
  const { gateway } = fixture;
  const minted = await gateway.mint(upstream.url, "plain", {
    input_cost_per_token: 0.001,
    output_cost_per_token: 0.01,
    cached_input_cost_per_token: 0.0001,
    reasoning_output_cost_per_token: 0.02,
    input_cost_per_second: 0.002,
  });
  const costOf = async (response: Response): Promise<number> => {
    await response.text();
    expect(response.status).toBe(200);
    return (await gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"))).cost_usd;
  };
  const chat = async (word: string): Promise<number> =>
    await costOf(await gateway.chat(minted, { body: { messages: [{ role: "user", content: word }] } }));
  expect(await chat("openai")).toBe(0.2 + 0.08 + 0.4 + 1.2);
  expect(await chat("anthropic")).toBe(0.2 + 0.08 + 1);
  expect(await chat("boastful")).toBe(0.001);

  const form = new FormData();
  form.set("model", minted.model.model_name);
  form.set("file", new File(["x"], "x.wav"));
  const headers = { authorization: `Bearer ${minted.secret}` };
  const init = { method: "POST", headers, body: form };
  expect(await costOf(await fetch(`${gateway.proxyUrl}/v1/audio/transcriptions`, init))).toBe(0.18);

  const { upstream_model, api_base } = minted.model;
  const plain = { cached_input_cost_per_token: null, reasoning_output_cost_per_token: null };
  await gateway.must("PUT", `/models/${minted.model.id}`, { upstream_model, api_base, ...plain });
  expect(await chat("openai")).toBe(2);
});
