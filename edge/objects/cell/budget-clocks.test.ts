/**
 * A Cell's budgets while clocks are set (docs/rules/budgets.md#lives-of-a-cell): the budget object accepts a Cell that
 * starts while its clock is behind, and no timer fires too often or too late.
 */
import fc from "fast-check";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { limitsWith } from "../../../test/harness/edge/budget/simulation.ts";
import { budgetGatewayOf, budgetRequestOf, needOf } from "../../../test/harness/edge/cell/budget-gateway.ts";
import { TestBudgets } from "../../../test/harness/edge/cell/test-budgets.ts";
import { lifeAfter } from "../../domain/budget/cell-life.ts";

beforeEach(() => vi.useFakeTimers());

describe("a life of a Cell whose clock is behind that of the one before", () => {
  it("is accepted: its requests are checked, and what they use is charged", async () => {
    const budgets = new TestBudgets(Date.now);
    let stored: string | null = null;
    const nextLife = () => {
      stored = String(lifeAfter(stored));
      return Number(stored);
    };
    const limits = limitsWith({ tenantTokens: 1_000 });
    const hourMs = 3_600_000;
    for (const [life, behindMs] of [0, hourMs, 400 * 24 * hourMs].entries()) {
      const { gateway, verdicts, alerts } = budgetGatewayOf({
        budgetOf: (tenantId) => budgets.budgetOf(tenantId),
        now: () => Date.now() - behindMs,
        nextLife,
      });
      const request = budgetRequestOf(`r${life}`, limits, needOf(50));
      gateway.reserve(request);
      await vi.advanceTimersByTimeAsync(0);
      expect({ verdict: verdicts.get(request.requestId), alerts }).toEqual({
        verdict: { kind: "ok", level: null },
        alerts: [],
      });
      gateway.settle(request, { tokens: 7, nanoUsd: 0 });
      await vi.advanceTimersByTimeAsync(11_000);
      const { account } = budgets.core("tenant-1").read("tenant", limits, Date.now());
      expect(account.usedTokens).toBe(7 * (life + 1));
    }
  });

  it("or is set back while a tenant is idle, is accepted as well", async () => {
    const budgets = new TestBudgets(Date.now);
    let behindMs = 0;
    const { gateway, verdicts } = budgetGatewayOf({
      budgetOf: (tenantId) => budgets.budgetOf(tenantId),
      now: () => Date.now() - behindMs,
    });
    const limits = limitsWith({ tenantTokens: 1_000 });
    const other = { ...limits, tenant: { ...limits.tenant, id: "tenant-2" } };
    for (const [id, given] of [
      ["r1", limits],
      ["r2", other],
      ["r3", limits],
    ] as const) {
      const request = budgetRequestOf(id, given, needOf(50));
      gateway.reserve(request);
      await vi.advanceTimersByTimeAsync(0);
      expect(verdicts.get(id)?.kind).toBe("ok");
      gateway.settle(request, { tokens: 7, nanoUsd: 0 });
      await vi.advanceTimersByTimeAsync(30_000);
      expect(vi.getTimerCount()).toBe(0);
      if (id === "r2") behindMs = 3_600_000;
    }
    expect(budgets.core("tenant-1").read("tenant", limits, Date.now()).account.usedTokens).toBe(14);
  });
});

describe("a Cell's timers", () => {
  it("are few, and everything is given back in time, while its clock is set", async () => {
    const jumps = fc.array(fc.constantFrom(-31_536_000_000, -5_000, -1, 1, 5_000, 31_536_000_000), { maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(jumps, fc.nat(2_000), async (list, waitMs) => {
        vi.clearAllTimers();
        const budgets = new TestBudgets(Date.now);
        let skewMs = 0;
        let readings = 0;
        const { gateway } = budgetGatewayOf({
          budgetOf: (tenantId) => budgets.budgetOf(tenantId),
          now: () => {
            readings += 1;
            return Date.now() + skewMs;
          },
        });
        const limits = limitsWith({ tokensPerMinute: 100_000 });
        for (const [at, jump] of list.entries()) {
          const request = budgetRequestOf(`r${at}`, limits, needOf(10));
          gateway.reserve(request);
          await vi.advanceTimersByTimeAsync(waitMs);
          skewMs += jump;
          gateway.settle(request, { tokens: 10, nanoUsd: 0 });
        }
        await vi.advanceTimersByTimeAsync(45_000);
        expect(budgets.core("tenant-1").read("tenant", limits, Date.now())).toMatchObject({
          account: { usedTokens: 10 * list.length },
          reserved: { bucketTokens: 0, termTokens: 0 },
        });
        expect(vi.getTimerCount()).toBe(0);
        expect(readings).toBeLessThanOrEqual(200 + 60 * list.length);
      }),
    );
  });
});
