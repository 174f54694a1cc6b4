/** Requests that are bound by the budget of their end user too (docs/rules/budgets.md#end-users). */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { limitsWith } from "../../../test/harness/edge/budget/simulation.ts";
import { budgetGatewayOf, budgetRequestOf, needOf } from "../../../test/harness/edge/cell/budget-gateway.ts";
import { TestBudgets } from "../../../test/harness/edge/cell/test-budgets.ts";
import type { AdmissionRequest } from "../../domain/admission/rpc.ts";
import { endUserLimitsOf, endUsersOf } from "../../domain/budget/limits.ts";

beforeEach(() => vi.useFakeTimers());

const TENANT = "tenant-1";
const USERS = endUsersOf(TENANT);
const CAPS = { tenantTokens: 10_000, tokensPerMinute: 10_000 };

function endUser(name: string, tokens: number | null) {
  const end_user_budget = { tokens, cost_usd: null, period: null, started_at_ms: null };
  return endUserLimitsOf(name, { id: TENANT, name: "Acme", rev: 1, timezone: "UTC", end_user_budget });
}

const requestOf = (id: string, name: string, tokens = 100, limit: number | null = 250): AdmissionRequest => ({
  ...budgetRequestOf(id, limitsWith(CAPS), { ...needOf(tokens), nanoUsd: 0 }),
  endUserLimits: endUser(name, limit),
});

function world() {
  const budgets = new TestBudgets(Date.now);
  const cell = (name = "c") => budgetGatewayOf({ cell: name, budgetOf: (id) => budgets.budgetOf(id) });
  const read = (name: string) => {
    const limits = endUser(name, 250) ?? limitsWith({});
    const { account, reserved } = budgets.core(USERS).read("key", limits, Date.now());
    return { used: account.usedTokens, reserved: reserved.termTokens };
  };
  const ofTenant = () => {
    const { account, reserved } = budgets.core(TENANT).read("tenant", limitsWith(CAPS), Date.now());
    return { used: account.usedTokens, reserved: reserved.termTokens };
  };
  return { budgets, cell, read, ofTenant };
}

const idle = async () => await vi.advanceTimersByTimeAsync(40_000);

describe("the budget of an end user", () => {
  it("refuses that end user alone, and gives the tenant back what it had taken", async () => {
    const { cell, read, ofTenant } = world();
    const { gateway, verdicts } = cell();
    const first = requestOf("a1", "ann", 300);
    gateway.reserve(first);
    await vi.advanceTimersByTimeAsync(0);
    gateway.reserve(requestOf("a2", "ann"));
    gateway.reserve(requestOf("b1", "bob"));
    await vi.advanceTimersByTimeAsync(0);
    expect(verdicts.get("a1")?.kind).toBe("ok");
    expect(verdicts.get("b1")?.kind).toBe("ok");
    expect(verdicts.get("a2")).toMatchObject({
      kind: "refused",
      refusal: { code: "end_user_budget_exhausted", retryAfterMs: null, level: { limitTokens: 10_000 } },
    });
    gateway.settle(first, { tokens: 300, nanoUsd: 0 });
    gateway.settle(requestOf("b1", "bob"), { tokens: 40, nanoUsd: 0 });
    await idle();
    expect({ ann: read("ann"), bob: read("bob"), tenant: ofTenant(), timers: vi.getTimerCount() }).toEqual({
      ann: { used: 300, reserved: 0 },
      bob: { used: 40, reserved: 0 },
      tenant: { used: 340, reserved: 0 },
      timers: 0,
    });
  });

  it("is exact over two cells: their requests exceed it by one at most", async () => {
    const { cell, read } = world();
    const cells = [cell("one"), cell("two")];
    const served: AdmissionRequest[] = [];
    for (let round = 0; round < 40; round += 1) {
      const request = requestOf(`r${round}`, "ann", 10);
      const at = cells[round % 2];
      at?.gateway.reserve(request);
      await vi.advanceTimersByTimeAsync(100);
      if (at?.verdicts.get(request.requestId)?.kind !== "ok") continue;
      served.push(request);
      at?.gateway.settle(request, { tokens: 10, nanoUsd: 0 });
    }
    await idle();
    expect({ served: served.length, ...read("ann") }).toEqual({ served: 25, used: 250, reserved: 0 });
  });

  it("does not bind a request that names nobody, or of a tenant without one", async () => {
    const { cell } = world();
    const { gateway, verdicts } = cell();
    expect({ nobody: endUser("", 1), unlimited: endUser("ann", null) }).toEqual({ nobody: null, unlimited: null });
    for (const id of ["r1", "r2"]) gateway.reserve(requestOf(id, "", 300));
    await vi.advanceTimersByTimeAsync(0);
    expect([...verdicts.values()].map(({ kind }) => kind)).toEqual(["ok", "ok"]);
  });

  it("gets back what a client has left that waited for it", async () => {
    const { budgets, cell, read, ofTenant } = world();
    const { gateway, verdicts } = cell();
    const ledger = Promise.withResolvers<undefined>();
    budgets.ledger = ledger.promise;
    const request = requestOf("r1", "ann");
    gateway.expect(request);
    gateway.reserve(request);
    gateway.withdraw(request);
    ledger.resolve(undefined);
    await idle();
    expect({ verdict: verdicts.get("r1"), ann: read("ann"), tenant: ofTenant(), timers: vi.getTimerCount() }).toEqual({
      verdict: undefined,
      ann: { used: 0, reserved: 0 },
      tenant: { used: 0, reserved: 0 },
      timers: 0,
    });
  });

  it("is charged for a request whose tenant has lost the budget meanwhile", async () => {
    const { cell, read } = world();
    const { gateway } = cell();
    gateway.reserve(requestOf("r1", "ann"));
    await vi.advanceTimersByTimeAsync(0);
    gateway.settle(requestOf("r1", "ann", 100, null), { tokens: 70, nanoUsd: 0 });
    await idle();
    expect({ ann: read("ann"), timers: vi.getTimerCount() }).toEqual({ ann: { used: 70, reserved: 0 }, timers: 0 });
  });

  it.each([
    [true, { kind: "ok" }],
    [false, { kind: "refused", refusal: { code: "budget_check_failed" } }],
  ])("that cannot be read follows GATEWAY_FAIL_OPEN: %s", async (failOpen, verdict) => {
    const { budgets } = world();
    const { gateway, verdicts } = budgetGatewayOf({
      budgetOf: (id) => {
        budgets.reach = id === USERS ? "down" : "up";
        return budgets.budgetOf(id);
      },
      failOpen,
    });
    gateway.reserve(requestOf("r1", "ann"));
    await vi.advanceTimersByTimeAsync(2_000);
    expect(verdicts.get("r1")).toMatchObject(verdict);
  });
});
