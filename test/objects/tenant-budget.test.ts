/** The TenantBudget object on its own disk: what survives, what a retry gets, what the alarm writes. */
import { env, evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import type { LeaseRequest, Report, TenantBudgetApi } from "../../edge/domain/budget/api.ts";
import { type BudgetLimits, NO_KEY } from "../../edge/domain/budget/limits.ts";
import { limitsWith } from "../../edge/domain/budget/testing/world.ts";
import type { TenantBudget } from "../../edge/objects/tenant-budget.ts";

const namespace = (env as unknown as { TENANT_BUDGET: DurableObjectNamespace<TenantBudget> }).TENANT_BUDGET;

const EMPTY: Report = { cell: "a", epoch: 1, base: 0, through: 0, batches: [], alertsSeen: [] };

function ask(limits: BudgetLimits, tokens: number, n: number, report: Report = EMPTY): LeaseRequest {
  const need = { bucketTokens: tokens, termTokens: tokens, nanoUsd: tokens };
  return { report, limits, purse: null, n, need, want: need };
}

function spend(limits: BudgetLimits, tokens: number, sequence = 1): Report {
  const released = { bucketTokens: tokens, termTokens: tokens, nanoUsd: tokens };
  const tags = { tenant: "l:0", key: "l:0" };
  const line = { purse: null, limits, tags, released, used: { tokens, nanoUsd: tokens }, kind: "settled" as const };
  return { ...EMPTY, through: sequence, batches: [{ sequence, lines: [line], ends: [] }] };
}

const tenant = (): DurableObjectStub<TenantBudget> => namespace.getByName(crypto.randomUUID());

describe("TenantBudget", () => {
  it("answers a repeated ask with the same lease, debited once", async () => {
    const stub = tenant();
    const limits = limitsWith({ tokensPerMinute: 1_000 });
    const first = await stub.lease(ask(limits, 600, 1));
    expect(first.verdict).toEqual({
      kind: "granted",
      grant: { bucketTokens: 600, termTokens: 600, nanoUsd: 600 },
      ttlMs: 2_000,
    });
    expect((await stub.lease(ask(limits, 600, 1))).verdict).toEqual(first.verdict);
    expect((await stub.lease(ask(limits, 600, 2))).verdict).toEqual({ kind: "refused", reason: "rate" });
  });

  it("keeps what is out on lease through an eviction without a checkpoint", async () => {
    const stub = tenant();
    const limits = limitsWith({ tokensPerMinute: 1_000 });
    const first = await stub.lease(ask(limits, 900, 1));
    await evictDurableObject(stub);
    expect((await stub.lease(ask(limits, 900, 1))).verdict).toEqual(first.verdict);
    expect((await stub.lease(ask(limits, 900, 2))).verdict).toEqual({ kind: "refused", reason: "rate" });
  });

  it("tells a cell what is stored only after the alarm, and asks for what it lost", async () => {
    const stub = tenant();
    const limits = limitsWith({});
    expect(await stub.settleBatch(spend(limits, 70))).toEqual({ applied: 1, durable: 0, alerts: [] });
    await evictDurableObject(stub);
    const later: Report = { ...EMPTY, through: 1 };
    expect(await stub.settleBatch(later)).toEqual({ applied: 0, durable: 0, alerts: [] });
    await stub.settleBatch(spend(limits, 70));
    expect(await stub.settleBatch(spend(limits, 70))).toMatchObject({ applied: 1 });
    expect(await runDurableObjectAlarm(stub)).toBe(true);
    await evictDurableObject(stub);
    expect(await stub.settleBatch(later)).toEqual({ applied: 1, durable: 1, alerts: [] });
    const usage = await stub.usage("tenant", limits, null);
    expect([usage.used_tokens, usage.used_cost_usd, usage.state]).toEqual([70, 7e-8, "none"]);
  });

  it("writes no row for a settlement", async () => {
    const stub = tenant();
    await stub.settleBatch(spend(limitsWith({}), 5));
    await runInDurableObject(stub, (_instance: TenantBudgetApi, state) => {
      const count = (table: string): unknown => state.storage.sql.exec(`SELECT count(*) AS n FROM ${table}`).one()["n"];
      expect([count("keys"), count("epochs"), count("grants")]).toEqual([0, 0, 0]);
    });
  });

  it("is read and rebuilt for a tenant alone without keeping a counter of no key", async () => {
    const stub = tenant();
    const alone = { ...limitsWith({ tenantTokens: 100 }), key: NO_KEY };
    expect(await stub.usage("tenant", alone, null)).toMatchObject({ used_tokens: 0, remaining_tokens: 100 });
    await stub.settleBatch(spend(limitsWith({ tenantTokens: 100 }), 30));
    await stub.rebuild("tenant", alone);
    expect(await stub.usage("tenant", alone, null)).toMatchObject({ used_tokens: 30, remaining_tokens: 70 });
    expect(await runDurableObjectAlarm(stub)).toBe(true);
    await runInDurableObject(stub, (_instance: TenantBudgetApi, state) => {
      const ids = state.storage.sql.exec("SELECT * FROM keys").toArray();
      expect(ids).toHaveLength(1);
    });
  });

  it("decides under a term budget while the ledger is out of reach, and reads it as decided", async () => {
    const stub = tenant();
    const limits = limitsWith({ tenantTokens: 100 });
    expect((await stub.lease(ask(limits, 60, 1))).verdict.kind).toBe("granted");
    expect(await stub.usage("tenant", limits, null)).toMatchObject({
      budget_tokens: 100,
      used_tokens: 0,
      reserved_tokens: 60,
      remaining_tokens: 40,
      ratio: 0,
      state: "ok",
    });
    const answer = await stub.settleBatch(spend(limits, 100));
    expect(answer.alerts.map((alert) => alert.issueKey)).toEqual([
      "term_budget_warn:tenant-1",
      "term_budget_exhausted:tenant-1",
    ]);
    expect(answer.alerts[1]).toMatchObject({
      title: "Tenant budget exhausted",
      detail: "Acme: 100 of 100 tokens (lifetime)",
    });
    expect(await stub.usage("tenant", limits, null)).toMatchObject({
      reserved_tokens: 0,
      ratio: 1,
      state: "exhausted",
    });
  });
});
