/** The used part of a budget, as the budget objects count it (docs/rules/budgets.md#usage-read). */
import { describe, expect, it } from "vitest";
import type { BudgetUsage, TenantBudgetUsage } from "../../shared/schema/budget.ts";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();
/** One request to the test upstream: 11 input tokens, 22 output tokens, at 0.001 and 0.01 USD. */
const TOKENS = 33;
const USD = 0.231;
const DAY_MS = 86_400_000;
const START = "2026-01-02T03:04:05.000Z";
const NONE = {
  budget_period: null,
  period_start: null,
  period_end: null,
  budget_tokens: null,
  budget_cost_usd: null,
  used_tokens: 0,
  used_cost_usd: 0,
  reserved_tokens: 0,
  reserved_cost_usd: 0,
  remaining_tokens: null,
  remaining_cost_usd: null,
  ratio: null,
  state: "none",
  tokens_per_day: null,
  cost_usd_per_day: null,
  runs_out_at: null,
  runs_out_by: null,
  limit_to_last: null,
  per_day_to_last: null,
};

async function ofTenant({ tenant }: Minted): Promise<BudgetUsage> {
  return await fixture.gateway.must<BudgetUsage>("GET", `/tenants/${tenant.id}/budget/usage`);
}

async function ofKey({ key }: Minted): Promise<BudgetUsage> {
  return await fixture.gateway.must<BudgetUsage>("GET", `/keys/${key.id}/budget/usage`);
}

async function serve(minted: Minted): Promise<void> {
  const response = await fixture.gateway.chat(minted);
  await response.text();
  expect(response.status).toBe(200);
}

/** The usage once nothing is reserved any more and this much is used. */
async function settled(read: () => Promise<BudgetUsage>, tokens: number): Promise<BudgetUsage> {
  return await waitFor(
    read,
    (usage) => usage.used_tokens === tokens && usage.reserved_tokens + usage.reserved_cost_usd === 0,
  );
}

describe.concurrent("the usage of a budget", () => {
  it("is complete and zero for a tenant that has no budget and sent no request", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    expect({ ofTenant: await ofTenant(minted), ofKey: await ofKey(minted) }).toEqual({ ofTenant: NONE, ofKey: NONE });
  });

  it("is counted for tenant and key without a budget too", { tags: ["check"] }, async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    await serve(minted);
    const used = { ...NONE, used_tokens: TOKENS, used_cost_usd: USD };
    for (const read of [ofTenant, ofKey]) {
      const { tokens_per_day, cost_usd_per_day, ...rest } = await settled(async () => await read(minted), TOKENS);
      // the first day counts as a whole one
      expect(tokens_per_day).toBeCloseTo(TOKENS, 1);
      expect(cost_usd_per_day).toBeCloseTo(USD, 3);
      expect({ ...rest, tokens_per_day: null, cost_usd_per_day: null }).toEqual(used);
    }
  });

  it("says what is left of a tenant's budget, whose term ends with its access", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    const path = `/tenants/${minted.tenant.id}`;
    const active_until = "2099-01-01T00:00:00.000Z";
    await fixture.gateway.must("PATCH", `${path}/schedule`, { active_until });
    const budget = { budget_tokens: 1000, budget_cost_usd: 2.31, budget_period: "term", budget_started_at: START };
    await fixture.gateway.must("PATCH", `${path}/budget`, budget);
    await serve(minted);
    await serve(minted);
    const { tokens_per_day, cost_usd_per_day, runs_out_at, limit_to_last, per_day_to_last, ...usage } = await settled(
      async () => await ofTenant(minted),
      2 * TOKENS,
    );
    const daysLeft = (Date.parse(active_until) - Date.now()) / DAY_MS;
    // a fifth of the money was used, all of it today, so it lasts four more days
    expect((Date.parse(runs_out_at ?? "") - Date.now()) / DAY_MS).toBeCloseTo(4, 1);
    expect(tokens_per_day).toBeCloseTo(2 * TOKENS, 1);
    expect(cost_usd_per_day).toBeCloseTo(2 * USD, 3);
    expect((limit_to_last ?? 0) / daysLeft).toBeCloseTo(2 * USD, 2);
    expect(per_day_to_last).toBeCloseTo(1.848 / daysLeft, 5);
    expect(usage).toEqual({
      runs_out_by: "cost_usd",
      budget_period: "term",
      period_start: START,
      period_end: active_until,
      budget_tokens: 1000,
      budget_cost_usd: 2.31,
      used_tokens: 2 * TOKENS,
      used_cost_usd: 2 * USD,
      reserved_tokens: 0,
      reserved_cost_usd: 0,
      remaining_tokens: 1000 - 2 * TOKENS,
      remaining_cost_usd: 1.848,
      ratio: 0.2,
      state: "ok",
    });
    const listed = await fixture.gateway.must<readonly TenantBudgetUsage[]>("GET", "/budgets?limit=1000");
    expect(listed.find(({ tenant_id }) => tenant_id === minted.tenant.id)).toMatchObject({
      tenant_name: minted.tenant.name,
      timezone: "UTC",
      used_tokens: 2 * TOKENS,
      runs_out_by: "cost_usd",
    });
    await fixture.gateway.must("PATCH", `${path}/budget`, { ...budget, budget_tokens: 80 });
    expect(await ofTenant(minted)).toMatchObject({ remaining_tokens: 14, ratio: 0.825, state: "warned" });
    await fixture.gateway.must("PATCH", `${path}/budget`, { ...budget, budget_tokens: 0 });
    expect(await ofTenant(minted)).toMatchObject({ remaining_tokens: 0, ratio: 1, state: "exhausted" });
  });

  it("of a key is its own, under its own caps and the tenant's month", { tags: ["check"] }, async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    await fixture.gateway.must("PUT", `/tenants/${minted.tenant.id}`, { timezone: "Pacific/Auckland" });
    await fixture.gateway.must("PUT", `/keys/${minted.key.id}`, { budget_tokens: 66, budget_period: "monthly" });
    await serve(minted);
    const usage = await settled(async () => await ofKey(minted), TOKENS);
    expect(usage).toMatchObject({
      budget_period: "monthly",
      budget_tokens: 66,
      budget_cost_usd: null,
      remaining_tokens: 33,
      remaining_cost_usd: null,
      ratio: 0.5,
      state: "ok",
    });
    const auckland = new Intl.DateTimeFormat("en", { timeZone: "Pacific/Auckland", day: "numeric", hour: "numeric" });
    for (const bound of [usage.period_start, usage.period_end])
      expect(auckland.format(new Date(bound ?? ""))).toBe("1, 12 AM");
    expect(await settled(async () => await ofTenant(minted), TOKENS)).toMatchObject({
      budget_period: null,
      used_tokens: TOKENS,
      used_cost_usd: USD,
    });
  });
});
