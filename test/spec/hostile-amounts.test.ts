/**
 * One request does not stop the data plane, whatever numbers it states (docs/rules/budgets.md#amounts): under budgets
 * in tokens or money, of a tenant or of a key, and with a priced model. Afterwards all other requests are still
 * answered.
 */
import { describe, expect, it } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { mainRows } from "../harness/main-rows.ts";
import { storePrices } from "../harness/stored-prices.ts";

const fixture = useGateway();

/** Far more than the slowest answer of a healthy gateway; a gateway in an endless loop never answers. */
const ANSWERS_WITHIN_MS = 20_000;

const WAYS = [
  ["a tenant's USD cap", async ({ tenant }: Minted) => await budgetOf(`/tenants/${tenant.id}/budget`, "PATCH")],
  ["a key's USD cap", async ({ key }: Minted) => await budgetOf(`/keys/${key.id}`, "PUT")],
  [
    "tokens per minute alone",
    async ({ tenant }: Minted) =>
      void (await fixture.gateway.must("PUT", `/tenants/${tenant.id}/quota`, { tokens_per_minute: 1_000_000 })),
  ],
] as const;

async function budgetOf(path: string, method: string): Promise<void> {
  await fixture.gateway.must(method, path, { budget_tokens: null, budget_cost_usd: 100, budget_period: "lifetime" });
}

async function statusOf(minted: Minted, maxTokens: number): Promise<number> {
  const signal = AbortSignal.timeout(ANSWERS_WITHIN_MS);
  const response = await fixture.gateway.chat(minted, { body: { max_tokens: maxTokens }, signal });
  await response.arrayBuffer();
  return response.status;
}

async function everythingAnswers(other: Minted): Promise<void> {
  const signal = AbortSignal.timeout(ANSWERS_WITHIN_MS);
  const health = await fetch(`${fixture.gateway.proxyUrl}/health`, { signal });
  expect({ status: health.status, body: await health.text() }).toEqual({ status: 200, body: "ok" });
  expect((await fixture.gateway.admin("GET", "/stats?cell=local")).status).toBe(200);
  expect(await statusOf(other, 5)).toBe(200);
}

describe("one request does not stop the data plane", () => {
  mainRows(1)(WAYS)("with max_tokens 1e308 under %s", async (_name, limit) => {
    const hostile = await fixture.gateway.mint(fixture.upstream.url);
    const other = await fixture.gateway.mint(fixture.upstream.url);
    await limit(hostile);
    expect(await statusOf(hostile, 1e308)).toBeLessThan(500);
    await everythingAnswers(other);
    expect(await statusOf(hostile, 5)).toBe(200);
  });

  it("with a price of 1e308 under the highest USD cap", { tags: ["check"] }, async () => {
    const dear = { input_cost_per_token: 1e308, output_cost_per_token: 1e308 };
    const hostile = await fixture.gateway.mint(fixture.upstream.url);
    await storePrices(fixture.gateway, hostile.model.id, dear);
    const other = await fixture.gateway.mint(fixture.upstream.url);
    const caps = { budget_tokens: null, budget_cost_usd: 9_007_199, budget_period: "lifetime" };
    await fixture.gateway.must("PATCH", `/tenants/${hostile.tenant.id}/budget`, caps);
    expect(await statusOf(hostile, 2_147_483_647)).toBe(200);
    await everythingAnswers(other);
    expect(await statusOf(hostile, 5)).toBe(403);
  });

  it("with the smallest price that a number can hold", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "plain", {
      input_cost_per_token: 5e-324,
      output_cost_per_token: 5e-324,
    });
    await budgetOf(`/tenants/${minted.tenant.id}/budget`, "PATCH");
    expect(await statusOf(minted, 5)).toBe(200);
    expect(await fixture.gateway.must("GET", `/tenants/${minted.tenant.id}/budget/usage`)).toMatchObject({
      remaining_cost_usd: 100,
      state: "ok",
    });
  });

  mainRows(1)([
    ["an answer", {}],
    ["a stream", { stream: true }],
  ])("with %s that reports 1e30 tokens", async (_name, options) => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "in=1e30,out=1e30");
    await budgetOf(`/tenants/${minted.tenant.id}/budget`, "PATCH");
    const response = await fixture.gateway.chat(minted, { body: { max_tokens: 5 }, ...options });
    await response.text();
    const row = await fixture.gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"));
    expect({ status: row.status_code, tokens: row.total_tokens }).toEqual({
      status: 200,
      tokens: row.estimated_tokens,
    });
    expect(await statusOf(minted, 5)).toBe(200);
  });
});
