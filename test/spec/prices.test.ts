/**
 * Prices of parts: tokens from a cache and into one, of reasoning, of audio and of images, seconds of audio, as upstreams report them
 * (docs/rules/settlement-and-rows.md#cost, docs/rules/settlement-and-rows.md#parts-of-tokens).
 *
 * @module-tag check
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { UsageLog } from "../../shared/schema/usage.ts";
import { useGateway } from "../harness/fixture.ts";
import { type HttpSink, startHttpSink } from "../harness/http-sink.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();
let upstream: HttpSink;
/** The next answer waits for it. */
let holding: Promise<void> | null = null;

/** What an answer reports, by the word in the request that asks for it. */
const REPORTS: Record<string, object> = {
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
  "verbose.wav": { text: "hello", duration: "7200.5", segments: [] },
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

  const heard = async (file: string): Promise<number> => {
    const form = new FormData();
    form.set("model", minted.model.model_name);
    form.set("file", new File(["x"], file));
    const headers = { authorization: `Bearer ${minted.secret}` };
    const init = { method: "POST", headers, body: form };
    return await costOf(await fetch(`${gateway.proxyUrl}/v1/audio/transcriptions`, init));
  };
  expect(await heard("x.wav")).toBe(0.18);
  expect(await heard("verbose.wav")).toBe(14.401);

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
  const chat = async (word: string) =>
    await rowOf(await gateway.chat(minted, { body: { messages: [{ role: "user", content: word }] } }));
  expect(await chat("writing")).toMatchObject({
    input_tokens: 2000,
    cached_tokens: 800,
    cache_write_tokens: 1000,
    cost_usd: 0.2 + 1.25 + 0.08 + 0.2,
  });
  expect(await chat("spoken")).toMatchObject({
    audio_input_tokens: 90,
    audio_output_tokens: 40,
    cost_usd: 0.01 + 0.36 + 0.02 + 0.32,
  });

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
    image_input_tokens: 40,
    image_output_tokens: 4160,
    cost_usd: 0.01 + 0.12 + 20.8,
  });
  const form = new FormData();
  form.set("model", model);
  form.set("file", new File(["x"], "tokens.wav"));
  const init = { method: "POST", headers: { authorization }, body: form };
  const heard = await rowOf(await fetch(`${gateway.proxyUrl}/v1/audio/transcriptions`, init));
  expect(heard).toMatchObject({
    input_tokens: 140,
    output_tokens: 45,
    audio_input_tokens: 138,
    cost_usd: 0.002 + 0.552 + 0.09,
  });

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

/** The cost that the rules give the tokens of a row: each part at its price, as far as there are tokens left. */
function costByParts(row: UsageLog, prices: Readonly<Record<string, number>>): number {
  const side = (whole: number, plain: string, parts: readonly (readonly [count: number, price: string])[]): number => {
    let [left, microUsd] = [whole, 0];
    for (const [count, price] of parts) {
      const priced = prices[price] === undefined ? 0 : Math.min(count, left);
      microUsd += priced * Math.round((prices[price] ?? 0) * 1e6);
      left -= priced;
    }
    return microUsd + left * Math.round((prices[plain] ?? 0) * 1e6);
  };
  const input = side(row.input_tokens, "input_cost_per_token", [
    [row.cached_tokens, "cached_input_cost_per_token"],
    [row.cache_write_tokens, "cache_write_cost_per_token"],
    [row.audio_input_tokens, "audio_input_cost_per_token"],
    [row.image_input_tokens, "image_input_cost_per_token"],
  ]);
  const output = side(row.output_tokens, "output_cost_per_token", [
    [row.reasoning_tokens, "reasoning_output_cost_per_token"],
    [row.audio_output_tokens, "audio_output_cost_per_token"],
    [row.image_output_tokens, "image_output_cost_per_token"],
  ]);
  return (input + output) / 1e6;
}

describe("the cost of a row follows from its parts and the prices", () => {
  const prices = {
    input_cost_per_token: 0.001,
    output_cost_per_token: 0.002,
    cache_write_cost_per_token: 0.003,
    audio_input_cost_per_token: 0.005,
    image_input_cost_per_token: 0.007,
    audio_output_cost_per_token: 0.011,
    image_output_cost_per_token: 0.013,
  };
  const close = (usd: number): number => expect.closeTo(usd, 9) as number;
  const whole = { prompt_tokens: 100, completion_tokens: 50 };
  const NONE = {
    cached_tokens: 0,
    cache_write_tokens: 0,
    audio_input_tokens: 0,
    image_input_tokens: 0,
    reasoning_tokens: 0,
    audio_output_tokens: 0,
    image_output_tokens: 0,
  };

  it.each<[string, object, object, object]>([
    [
      "of parts that are apart",
      { cached_tokens: 10, cache_write_tokens: 20, audio_tokens: 30, image_tokens: 5 },
      { reasoning_tokens: 5, audio_tokens: 20, image_tokens: 7 },
      {
        cached_tokens: 10,
        cache_write_tokens: 20,
        audio_input_tokens: 30,
        image_input_tokens: 5,
        reasoning_tokens: 5,
        audio_output_tokens: 20,
        image_output_tokens: 7,
        cost_usd: close(45 * 0.001 + 20 * 0.003 + 30 * 0.005 + 5 * 0.007 + 23 * 0.002 + 20 * 0.011 + 7 * 0.013),
      },
    ],
    [
      "of parts that overlap",
      { cached_tokens: 90, cache_write_tokens: 60, audio_tokens: 90, image_tokens: 30 },
      { audio_tokens: 30, image_tokens: 50 },
      {
        cached_tokens: 90,
        cache_write_tokens: 60,
        audio_input_tokens: 90,
        image_input_tokens: 30,
        audio_output_tokens: 30,
        image_output_tokens: 50,
        cost_usd: close(60 * 0.003 + 40 * 0.005 + 30 * 0.011 + 20 * 0.013),
      },
    ],
    [
      "of parts larger than their whole",
      { audio_tokens: 101, image_tokens: 4000 },
      { audio_tokens: 51, image_tokens: 4000 },
      {
        audio_input_tokens: 100,
        image_input_tokens: 100,
        audio_output_tokens: 50,
        image_output_tokens: 50,
        cost_usd: close(100 * 0.005 + 50 * 0.011),
      },
    ],
    [
      "of parts that are negative or have a fraction",
      { cache_write_tokens: -20, audio_tokens: 2.5, image_tokens: "9" },
      { audio_tokens: -1, image_tokens: null },
      { cost_usd: close(100 * 0.001 + 50 * 0.002) },
    ],
  ])("%s", async (_, ofInput, ofOutput, expected) => {
    const { gateway } = fixture;
    const minted = await gateway.mint(upstream.url, "plain", prices);
    REPORTS["given"] = {
      choices: [],
      usage: { ...whole, prompt_tokens_details: ofInput, completion_tokens_details: ofOutput },
    };
    const answer = await gateway.chat(minted, { body: { messages: [{ role: "user", content: "given" }] } });
    await answer.text();
    const row = await gateway.row(minted.tenant.id, answer.headers.get("x-gateway-request-id"));
    expect(row).toMatchObject({ input_tokens: 100, output_tokens: 50, ...NONE, ...expected });
    expect(row.cost_usd).toBeCloseTo(costByParts(row, prices), 9);
  });

  it("of a part that cannot be true, which leaves the estimate without parts", async () => {
    const { gateway } = fixture;
    const minted = await gateway.mint(upstream.url, "plain", prices);
    REPORTS["given"] = { choices: [], usage: { ...whole, completion_tokens_details: { image_tokens: 1e30 } } };
    const body = { messages: [{ role: "user", content: "given" }], max_tokens: 7 };
    const answer = await gateway.chat(minted, { body });
    await answer.text();
    const row = await gateway.row(minted.tenant.id, answer.headers.get("x-gateway-request-id"));
    expect(row).toMatchObject({ ...NONE, input_tokens: 5, output_tokens: 7, cost_usd: close(5 * 0.001 + 7 * 0.002) });
  });

  it("in the list, in one row and in CSV", async () => {
    const { gateway } = fixture;
    const minted = await gateway.mint(upstream.url, "plain", prices);
    const answer = await gateway.chat(minted, { body: { messages: [{ role: "user", content: "spoken" }] } });
    await answer.text();
    const id = String(answer.headers.get("x-gateway-request-id"));
    const listed = await gateway.row(minted.tenant.id, id);
    const detail = await gateway.must<UsageLog>("GET", `/usage/logs/${id}`);
    const csv = await gateway.admin("GET", `/usage/logs?tenant_id=${minted.tenant.id}&format=csv`);
    const [head = "", line = ""] = (await csv.text()).split("\r\n");
    const cells = line.split(",");
    const exported = Object.fromEntries(head.split(",").map((name, at) => [name, Number(cells[at])]));
    const expected = { ...NONE, audio_input_tokens: 90, audio_output_tokens: 40 };
    expect({ listed, detail, exported }).toMatchObject({ listed: expected, detail: expected, exported: expected });
    const spent = await gateway.must<readonly { readonly total_cost: number }[]>(
      "GET",
      `/costs?tenant_id=${minted.tenant.id}`,
    );
    expect(spent.map(({ total_cost }) => total_cost)).toEqual([expect.closeTo(costByParts(listed, prices), 9)]);
  });
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
