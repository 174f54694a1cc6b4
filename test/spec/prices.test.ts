/**
 * Prices of parts: tokens from a cache and into one, of reasoning, of audio and of images, seconds of audio, as upstreams report them
 * (docs/rules/settlement-and-rows.md#cost, docs/rules/settlement-and-rows.md#parts-of-tokens).
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import { type HttpSink, startHttpSink } from "../harness/http-sink.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();
let upstream: HttpSink;
/** The next answer waits for it. */
let holding: Promise<void> | null = null;

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
  writing: {
    content: [],
    usage: { input_tokens: 200, cache_creation_input_tokens: 1000, cache_read_input_tokens: 800, output_tokens: 100 },
  },
  spoken: {
    choices: [],
    usage: {
      prompt_tokens: 100,
      prompt_tokens_details: { audio_tokens: 90 },
      completion_tokens: 50,
      completion_tokens_details: { audio_tokens: 40 },
    },
  },
  "a cat": {
    data: [{ b64_json: "AAAA" }],
    usage: { input_tokens: 50, input_tokens_details: { text_tokens: 10, image_tokens: 40 }, output_tokens: 4160 },
  },
  "tokens.wav": {
    text: "hello",
    usage: {
      type: "tokens",
      input_tokens: 140,
      input_token_details: { text_tokens: 2, audio_tokens: 138 },
      output_tokens: 45,
    },
  },
  "x.wav": { text: "hello", usage: { type: "duration", seconds: 90 } },
};

beforeAll(async () => {
  upstream = await startHttpSink();
  upstream.answer = async ({ body }) => {
    const until = holding;
    holding = null;
    await until;
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

it("bills cache writes, audio and images at their own prices", async () => {
  const { gateway } = fixture;
  const minted = await gateway.mint(upstream.url, "plain", {
    input_cost_per_token: 0.001,
    output_cost_per_token: 0.002,
    cached_input_cost_per_token: 0.0001,
    cache_write_cost_per_token: 0.00125,
    audio_input_cost_per_token: 0.004,
    audio_output_cost_per_token: 0.008,
    image_input_cost_per_token: 0.003,
    image_output_cost_per_token: 0.005,
    cost_per_image: 1,
    input_cost_per_second: 1,
  });
  const rowOf = async (response: Response) => {
    await response.text();
    expect(response.status).toBe(200);
    return await gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"));
  };
  const chat = async (word: string): Promise<number> =>
    (await rowOf(await gateway.chat(minted, { body: { messages: [{ role: "user", content: word }] } }))).cost_usd;
  expect(await chat("writing")).toBe(0.2 + 1.25 + 0.08 + 0.2);
  expect(await chat("spoken")).toBe(0.01 + 0.36 + 0.02 + 0.32);

  const authorization = `Bearer ${minted.secret}`;
  const { model_name: model } = minted.model;
  const draw = async (): Promise<Response> =>
    await fetch(`${gateway.proxyUrl}/v1/images/generations`, {
      method: "POST",
      headers: { authorization, "content-type": "application/json" },
      body: JSON.stringify({ model, prompt: "a cat" }),
    });
  expect(await rowOf(await draw())).toMatchObject({
    input_tokens: 50,
    output_tokens: 4160,
    cost_usd: 0.01 + 0.12 + 20.8,
  });
  const form = new FormData();
  form.set("model", model);
  form.set("file", new File(["x"], "tokens.wav"));
  const init = { method: "POST", headers: { authorization }, body: form };
  const heard = await rowOf(await fetch(`${gateway.proxyUrl}/v1/audio/transcriptions`, init));
  expect(heard).toMatchObject({ input_tokens: 140, output_tokens: 45, cost_usd: 0.002 + 0.552 + 0.09 });

  // Two such images cost less than what is left. What is reserved for the first, the most that one can cost, is more.
  await gateway.must("PATCH", `/tenants/${minted.tenant.id}`, { budget_cost_usd: 70 });
  const held = Promise.withResolvers<void>();
  holding = held.promise;
  const first = draw();
  const drawn = (): number => upstream.asked.filter(({ url }) => url.endsWith("/images/generations")).length;
  await waitFor(drawn, (count) => count === 2);
  const refused = await draw();
  held.resolve();
  expect({ status: refused.status, body: await refused.text() }).toEqual({
    status: 403,
    body: expect.stringContaining("tenant_budget_exhausted"),
  });
  expect((await rowOf(await first)).cost_usd).toBe(0.01 + 0.12 + 20.8);
});

it("offers the public prices of a known model, with their source", async () => {
  const { gateway } = fixture;
  const { list } = await gateway.must<{ list: readonly { source: string; as_of: string; prices: object }[] }>(
    "GET",
    "/prices?model=claude-opus-4-5-20251101",
  );
  expect(list).toEqual([
    expect.objectContaining({
      source: expect.stringMatching(/^https:\/\/platform\.claude\.com\//),
      as_of: expect.stringMatching(/^\d{4}-\d{2}-\d{2}$/),
      prices: {
        input_cost_per_token: 0.000_005,
        cached_input_cost_per_token: 0.000_000_5,
        cache_write_cost_per_token: 0.000_006_25,
        output_cost_per_token: 0.000_025,
      },
    }),
  ]);
  expect(await gateway.must("GET", "/prices?model=nobody")).toEqual({ list: [] });
});
