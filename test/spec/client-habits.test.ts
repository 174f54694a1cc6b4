/**
 * What clients of other gateways and providers are used to (docs/rules/routes.md#paths-of-azure,
 * docs/rules/headers.md#from-a-browser, docs/rules/authentication.md#credentials, docs/rules/budgets.md#limits-of-the-caller),
 * on a stack of its own, because some of it is configured.
 *
 * @module-tag check
 */
import { AzureOpenAI } from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Stack } from "../../infra/local/stack.ts";
import { Gateway, type Minted } from "../harness/gateway.ts";
import { startTestStack } from "../harness/test-stack.ts";
import { startTestUpstream, type TestUpstream } from "../harness/test-upstream.ts";
import { mintAt, useRouteUpstream } from "../harness/upstream-routes.ts";
import { waitFor } from "../harness/wait-for.ts";

const PAGE = "https://app.example.com";

const routes = useRouteUpstream();
let upstream: TestUpstream;
let stack: Stack;
let gateway: Gateway;

beforeAll(async () => {
  upstream = await startTestUpstream();
  stack = await startTestStack({ GATEWAY_CORS_ORIGINS: PAGE, GATEWAY_MODERATION_MODEL: "moderator" });
  gateway = new Gateway(stack);
});
afterAll(async () => {
  await stack.stop();
  await upstream.close();
});

/** A call with a body is a POST. */
async function call(minted: Minted, path: string, body?: string): Promise<Response> {
  const headers = { authorization: `Bearer ${minted.secret}`, "content-type": "application/json" };
  return await fetch(`${gateway.proxyUrl}${path}`, { headers, ...(body !== undefined && { method: "POST", body }) });
}

describe("Azure's SDK", () => {
  it("is served: its path, its key header and its query", async () => {
    const minted = await mintAt(gateway, routes);
    const client = new AzureOpenAI({
      endpoint: gateway.proxyUrl,
      apiKey: minted.secret,
      apiVersion: "2024-10-21",
      maxRetries: 0,
    });
    const answer = await client.chat.completions.create({
      model: minted.model.model_name,
      messages: [{ role: "user", content: "hello" }],
    });
    expect(answer.object).toBe("chat.completion");
    expect(routes.seen(minted.mark)).toMatchObject([
      { path: "/v1/chat/completions", json: { model: "upstream-name" } },
    ]);
    expect(routes.seen(minted.mark)[0]?.headers).not.toHaveProperty("api-key");
  });

  it("names the model in the path, whatever the body says, and a list must have it", async () => {
    const minted = await mintAt(gateway, routes);
    const path = `/openai/deployments/${minted.model.model_name}/embeddings?api-version=1`;
    for (const body of [{ input: "a" }, { input: "a", model: "other" }])
      expect((await call(minted, path, JSON.stringify(body))).status).toBe(200);
    expect(routes.seen(minted.mark)).toMatchObject([
      { path: "/v1/embeddings", json: { input: "a", model: "upstream-name" } },
      { path: "/v1/embeddings", json: { input: "a", model: "upstream-name" } },
    ]);
    const empty = await call(minted, path, "{}");
    expect({ status: empty.status, body: await empty.json() }).toMatchObject({
      status: 400,
      body: { error: { code: "model_required" } },
    });
    await gateway.must("PATCH", `/tenants/${minted.tenant.id}/allowlist`, { allowed_models: ["other"] });
    const refused = await call(minted, path, '{"input":"a","model":"other"}');
    expect({ status: refused.status, body: await refused.json() }).toMatchObject({
      status: 403,
      body: { error: { code: "model_not_permitted" } },
    });
  });

  it("lists models below /openai/v1", async () => {
    const minted = await mintAt(gateway, routes);
    const response = await call(minted, "/openai/v1/models?api-version=preview");
    expect(await response.json()).toMatchObject({ object: "list" });
  });
});

describe("a page in a browser", () => {
  it("of an allowed origin may call and read, after its preflight", async () => {
    const minted = await gateway.mint(upstream.url);
    const asked = await fetch(`${gateway.proxyUrl}/v1/chat/completions`, {
      method: "OPTIONS",
      headers: {
        origin: PAGE,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type",
      },
    });
    expect({ status: asked.status, ...Object.fromEntries(asked.headers) }).toMatchObject({
      status: 204,
      "access-control-allow-origin": PAGE,
      "access-control-allow-headers": "authorization,content-type",
      vary: "origin",
    });
    const answer = await gateway.chat(minted, { headers: { origin: PAGE }, stream: true });
    expect(await answer.text()).toContain("[DONE]");
    const refused = await fetch(`${gateway.proxyUrl}/v1/models`, { headers: { origin: PAGE } });
    for (const { headers } of [answer, refused])
      expect(Object.fromEntries(headers)).toMatchObject({
        "access-control-allow-origin": PAGE,
        "access-control-expose-headers": "*",
      });
    expect(refused.status).toBe(401);
  });

  it("of another origin may not", async () => {
    const minted = await gateway.mint(upstream.url);
    const headers = { origin: "https://evil.example", "access-control-request-method": "POST" };
    const asked = await fetch(`${gateway.proxyUrl}/v1/models`, { method: "OPTIONS", headers });
    const answer = await gateway.chat(minted, { headers: { origin: headers.origin } });
    expect({ asked: asked.status, answer: answer.status }).toEqual({ asked: 401, answer: 200 });
    for (const response of [asked, answer]) expect(response.headers.has("access-control-allow-origin")).toBe(false);
  });
});

describe("a moderation without a model", () => {
  it("goes to the model that the operator has set, once that is registered", async () => {
    const minted = await mintAt(gateway, routes);
    const post = async () => await call(minted, "/v1/moderations", '{"input":"a"}');
    expect((await post()).status).toBe(404);
    await gateway.must("POST", "/models", {
      model_name: "moderator",
      upstream_model: "omni",
      api_base: routes.baseOf(minted.mark),
    });
    expect((await post()).status).toBe(200);
    expect(routes.seen(minted.mark)).toMatchObject([{ path: "/v1/moderations", json: { input: "a", model: "omni" } }]);
  });
});

it.each([
  ["/v2/rerank", { query: "a", documents: ["b"] }],
  ["/tokenize", { prompt: "a" }],
  ["/score", { text_1: "a", text_2: "b" }],
])("%s is at the root of a server whose api_base ends in /v1", async (path, body) => {
  const minted = await mintAt(gateway, routes);
  const sent = JSON.stringify({ model: minted.model.model_name, ...body });
  await call(minted, path, sent);
  expect(routes.seen(minted.mark)).toMatchObject([{ path }]);
});

it.each(["no-store", "max-age=0, no-cache"])("a request with cache-control: %s bypasses the cache", async (control) => {
  const minted = await gateway.mint(upstream.url, "plain", { cache_enabled: true });
  const cacheOf = async (headers: Record<string, string>) => {
    const response = await gateway.chat(minted, { headers });
    await response.text();
    return response.headers.get("x-gateway-cache");
  };
  expect(await cacheOf({ "cache-control": control })).toBe(null);
  expect(await cacheOf({})).toBe("miss");
  await waitFor(
    async () => await cacheOf({}),
    (cache) => cache === "hit",
  );
  expect(await cacheOf({ "cache-control": control })).toBe(null);
});

describe("GET /v1/limits", () => {
  it("tells a caller its budgets, its limits per minute, and what is left", async () => {
    const minted = await gateway.mint(upstream.url);
    expect(await (await call(minted, "/v1/limits")).json()).toEqual({
      object: "limits",
      tenant: { tokens_per_minute: 0, requests_per_minute: 0, budget: null },
      key: { tokens_per_minute: 0, requests_per_minute: 0, budget: null },
      end_user: { user: null, budget: null },
      per_minute: { tokens: null, requests: null },
    });
    await gateway.must("PUT", `/tenants/${minted.tenant.id}/quota`, { tokens_per_minute: 10_000 });
    await gateway.must("PATCH", `/tenants/${minted.tenant.id}/budget`, {
      budget_period: "lifetime",
      budget_tokens: 1_000,
    });
    await (await gateway.chat(minted)).text();
    const limits = await waitFor(
      async () => (await (await call(minted, "/v1/limits")).json()) as { tenant: { budget: { used_tokens: number } } },
      ({ tenant }) => tenant.budget.used_tokens === 33,
    );
    expect(limits).toMatchObject({
      tenant: { tokens_per_minute: 10_000, budget: { budget_tokens: 1_000, remaining_tokens: 967, state: "ok" } },
      key: { budget: null },
      per_minute: { tokens: { limit: 10_000 }, requests: null },
    });
  });

  it("tells what the end user who is named has left, else the caps of each", async () => {
    const minted = await gateway.mint(upstream.url);
    await gateway.must("PATCH", `/tenants/${minted.tenant.id}/budget`, {
      end_user_budget_period: "monthly",
      end_user_budget_tokens: 1_000,
    });
    await (await gateway.chat(minted, { body: { user: "ann b\u00e9" } })).text();
    const endUser = async (query: string) => {
      const { end_user } = (await (await call(minted, `/v1/limits${query}`)).json()) as {
        end_user: { user: string | null; budget: { used_tokens?: number } };
      };
      return end_user;
    };
    const caps = { budget_period: "monthly", budget_tokens: 1_000, budget_cost_usd: null };
    const ann = await waitFor(
      async () => await endUser(`?user=${encodeURIComponent(" ann b\u00e9 ")}`),
      ({ budget }) => budget.used_tokens === 33,
    );
    const left = { used_tokens: 33, remaining_tokens: 967, period_end_ms: expect.any(Number) };
    const bob = await endUser("?safety_identifier=bob");
    expect({ ann, bob, nobody: await endUser("?user=%20") }).toEqual({
      ann: { user: "ann b\u00e9", budget: expect.objectContaining({ ...caps, ...left, state: "ok" }) },
      bob: { user: "bob", budget: caps },
      nobody: { user: null, budget: caps },
    });
  });

  it("answers 401 without a key", async () => {
    expect((await fetch(`${gateway.proxyUrl}/v1/limits`)).status).toBe(401);
  });
});
