/**
 * A budget object that neither answers nor fails (docs/rules/budgets.md#unreachable): no request waits for it longer
 * than the deadline.
 *
 * @module-tag check
 */
import { env, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import type { LedgerObject } from "../../edge/objects/ledger/ledger.ts";
import type { TenantBudgetObject } from "../../edge/objects/tenant-budget/tenant-budget.ts";
import { waitFor } from "../harness/wait-for.ts";
import { CrashScene } from "./crash-scene.ts";

const { TENANT_BUDGET, LEDGER } = env as unknown as {
  TENANT_BUDGET: DurableObjectNamespace<TenantBudgetObject>;
  LEDGER: DurableObjectNamespace<LedgerObject>;
};

/** Holds back every call to an object until the returned function is called. */
async function silence(tenantId: string): Promise<() => Promise<void>> {
  const silent = { on: true, begun: false };
  const held = runInDurableObject(TENANT_BUDGET.getByName(tenantId), async (_budget, state) => {
    await state.blockConcurrencyWhile(async () => {
      silent.begun = true;
      while (silent.on) await scheduler.wait(5);
    });
  });
  await waitFor(() => silent.begun, Boolean);
  return async () => {
    silent.on = false;
    await held;
  };
}

describe("a budget object that is silent", () => {
  it("is not waited for: the request is served, reported, and charged once the object answers", async () => {
    const scene = await CrashScene.open();
    const speak = await silence(scene.tenantId);
    expect(await scene.run()).toBe(200);
    await speak();
    const [row] = await scene.rows();
    expect(row?.["status_code"]).toBe(200);
    await waitFor(
      async () => await scene.usedTokens(),
      (used) => used === row?.["total_tokens"],
    );
    const raised = await waitFor(
      async () => await LEDGER.getByName(`${scene.name}:0`).alerts(null),
      ({ alerts }) => alerts.length > 0,
    );
    expect(raised.alerts.map((alert) => alert.issueKey)).toContain("redis_budget_reserve_failed_open");
  });

  it("reserves nothing for a client that leaves while a lease is requested for it", async () => {
    const scene = await CrashScene.open();
    const speak = await silence(scene.tenantId);
    scene.cell.afterAdmit = () => scene.client.abort();
    expect(await scene.run()).toBeNull();
    await scene.emptied();
    await speak();
    expect(await scene.rows()).toMatchObject([{ status_code: 499, total_tokens: 0, cost_usd: 0 }]);
    expect(await scene.usedTokens()).toBe(0);
    expect(scene.world.upstreamCalls).toEqual([]);
  });
});
