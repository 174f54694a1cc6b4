/** A Cell's budgets with the real authority behind calls that fail, stay silent, or answer late. */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { zeroUsageRow } from "../../../shared/usage/usage-row.ts";
import { type Caps, limitsWith, thirtyDayMonthOf } from "../../../test/harness/edge/budget/simulation.ts";
import { RecordedGateway } from "../../../test/harness/edge/cell/budget-gateway.ts";
import { TestBudgets } from "../../../test/harness/edge/cell/test-budgets.ts";
import type { AdmissionRequest } from "../../domain/admission/rpc.ts";
import { FIRST_LIFE } from "../../domain/budget/cell-life.ts";

beforeEach(() => vi.useFakeTimers());

function requestOf(requestId: string, caps: Caps, tokens = 10): AdmissionRequest {
  return {
    requestId,
    tenant: { id: "tenant-1", name: "Acme", weight: 100, maxInFlight: null },
    group: { name: "g", weight: 1 },
    model: { name: "m", admissionWeight: 100, maxInFlight: null },
    costTokens: tokens,
    revs: [],
    openUntilMs: null,
    waitedMs: null,
    row: zeroUsageRow(requestId, 0),
    limits: limitsWith(caps),
    need: { bucketTokens: tokens, termTokens: tokens, nanoUsd: 0 },
    estimate: { inputTokens: 4, outputTokens: 6, costUsd: 0 },
  };
}

function world(failOpen: boolean) {
  const budgets = new TestBudgets(Date.now);
  const alerts: string[] = [];
  const gateway = new RecordedGateway({
    cell: "c",
    failOpen,
    now: Date.now,
    nextLife: () => FIRST_LIFE,
    monthOf: thirtyDayMonthOf,
    budgetOf: (tenantId) => budgets.budgetOf(tenantId),
    raise: (issue) => alerts.push(issue.issueKey),
  });
  return { budgets, verdicts: gateway.verdicts, alerts, gateway };
}

const CAPS = { tokensPerMinute: 100 };
const ALL_WAYS = [
  [{ tokensPerMinute: 100 }, "budget_check_failed", "redis_budget_reserve_failed"],
  [{ tenantTokens: 100 }, "budget_check_failed", "redis_budget_reserve_failed"],
  [{ keyTokens: 100 }, "key_budget_check_failed", "redis_key_budget_reserve_failed"],
] as const;

describe("a Cell's budgets", () => {
  it("decide on a request without caps in the same turn, and report what it used within 10 s", async () => {
    const { budgets, verdicts, gateway } = world(true);
    const request = requestOf("r1", {});
    gateway.reserve(request);
    expect(verdicts.get("r1")).toEqual({ kind: "ok", level: null });
    expect(budgets.calls).toBe(0);
    gateway.settle(request, { tokens: 7, nanoUsd: 3 });
    await vi.advanceTimersByTimeAsync(10_000);
    expect(budgets.core("tenant-1").read("tenant", request.limits, Date.now()).account).toMatchObject({
      usedTokens: 7,
      usedNanoUsd: 3,
    });
  });

  it("report what has ended and keep only what requests hold, before their process stops", async () => {
    const { budgets, gateway } = world(true);
    const [ended, running] = [requestOf("r1", { tenantTokens: 10_000 }), requestOf("r2", { tenantTokens: 10_000 })];
    for (const request of [ended, running]) {
      gateway.reserve(request);
      await vi.advanceTimersByTimeAsync(0);
    }
    gateway.settle(ended, { tokens: 7, nanoUsd: 3 });
    await gateway.reportAll();
    const read = () => budgets.core("tenant-1").read("tenant", ended.limits, Date.now());
    expect(read()).toMatchObject({ account: { usedTokens: 7, usedNanoUsd: 3 }, reserved: { termTokens: 10 } });
    gateway.settle(running, { tokens: 5, nanoUsd: 0 });
    await Promise.all([gateway.reportAll(), gateway.reportAll()]);
    expect(read()).toMatchObject({ account: { usedTokens: 12 }, reserved: { termTokens: 0 } });
  });

  it("are as they were when no budget object answers before a stop", async () => {
    const { budgets, gateway } = world(true);
    const request = requestOf("r1", { tenantTokens: 10_000 });
    gateway.reserve(request);
    await vi.advanceTimersByTimeAsync(0);
    gateway.settle(request, { tokens: 7, nanoUsd: 0 });
    budgets.reach = "silent";
    const reporting = gateway.reportAll();
    await vi.advanceTimersByTimeAsync(1_000);
    await reporting;
    budgets.reach = "up";
    await vi.advanceTimersByTimeAsync(10_000);
    expect(budgets.core("tenant-1").read("tenant", request.limits, Date.now())).toMatchObject({
      account: { usedTokens: 7 },
      reserved: { termTokens: 0 },
    });
  });

  it("fetch tokens while a request still waits for its slot", async () => {
    const { budgets, verdicts, gateway } = world(true);
    const request = requestOf("r1", CAPS, 60);
    gateway.expect(request);
    await vi.advanceTimersByTimeAsync(0);
    expect(budgets.calls).toBe(1);
    gateway.reserve(request);
    expect(verdicts.get("r1")).toEqual({
      kind: "ok",
      level: { limitTokens: 100, remainingTokens: 40, resetMs: 36_000 },
    });
  });

  it("tell the budget object of a lowered cap, and leave nothing behind when nothing answers", async () => {
    const { budgets, gateway } = world(true);
    const alerts = () => budgets.core("tenant-1").undelivered.map(({ issueKey }) => issueKey);
    const request = requestOf("r1", { tenantTokens: 100 });
    gateway.reserve(request);
    await vi.advanceTimersByTimeAsync(0);
    gateway.settle(request, { tokens: 7, nanoUsd: 0 });
    await vi.advanceTimersByTimeAsync(30_000);
    const lowered = limitsWith({ tenantTokens: 7, rev: 2 });
    budgets.reach = "down";
    await gateway.limitsChanged(lowered);
    expect(alerts()).toEqual([]);
    budgets.reach = "up";
    await gateway.limitsChanged(lowered);
    await vi.advanceTimersByTimeAsync(30_000);
    await gateway.limitsChanged(lowered);
    await vi.advanceTimersByTimeAsync(30_000);
    expect({ alerts: alerts(), timers: vi.getTimerCount() }).toEqual({
      alerts: ["term_budget_exhausted:tenant-1"],
      timers: 0,
    });
  });

  it("return everything when nothing is used, and forget an idle tenant", async () => {
    const { budgets, gateway } = world(true);
    const requests = [requestOf("r1", CAPS), requestOf("r2", CAPS), requestOf("r3", CAPS)];
    for (const request of requests) gateway.reserve(request);
    await vi.advanceTimersByTimeAsync(0);
    gateway.withdraw(requestOf("r1", CAPS));
    for (const request of requests.slice(1)) gateway.settle(request, { tokens: 0, nanoUsd: 0 });
    await vi.advanceTimersByTimeAsync(30_000);
    expect(budgets.core("tenant-1").buckets(limitsWith(CAPS), Date.now()).tenant.tokens.levelTokens).toBe(100);
    expect(budgets.core("tenant-1").read("tenant", limitsWith(CAPS), Date.now()).reserved).toEqual({
      bucketTokens: 0,
      requests: 0,
      termTokens: 0,
      nanoUsd: 0,
    });
    expect(vi.getTimerCount()).toBe(0);
  });

  it("retry once when the first call fails", async () => {
    const { budgets, verdicts, alerts, gateway } = world(false);
    budgets.failNext = 1;
    gateway.reserve(requestOf("r1", CAPS));
    await vi.advanceTimersByTimeAsync(0);
    expect({ kind: verdicts.get("r1")?.kind, calls: budgets.calls, alerts }).toEqual({
      kind: "ok",
      calls: 2,
      alerts: [],
    });
  });

  it.each(ALL_WAYS)("refuse with fail-closed when the object fails twice: %o", async (caps, code, key) => {
    const { budgets, verdicts, alerts, gateway } = world(false);
    budgets.reach = "down";
    gateway.reserve(requestOf("r1", caps));
    await vi.advanceTimersByTimeAsync(0);
    expect(verdicts.get("r1")).toEqual({ kind: "refused", refusal: { code, retryAfterMs: null, level: null } });
    expect({ alerts, unchecked: gateway.unchecked }).toEqual({ alerts: [`${key}_closed`], unchecked: 0 });
  });

  it.each(ALL_WAYS)("let through with fail-open when the object is silent for 1 s: %o", async (caps, _code, key) => {
    const { budgets, verdicts, alerts, gateway } = world(true);
    budgets.reach = "silent";
    gateway.reserve(requestOf("r1", caps));
    await vi.advanceTimersByTimeAsync(999);
    expect(verdicts.size).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    expect(verdicts.get("r1")).toEqual({ kind: "ok", level: null });
    expect({ alerts, unchecked: gateway.unchecked }).toEqual({ alerts: [`${key}_open`], unchecked: 1 });
  });

  it.each([true, false])(
    "refuse what the object refused though its first answer was lost (fail open: %s)",
    async (open) => {
      const { budgets, verdicts, alerts, gateway } = world(open);
      budgets.loseNext = 1;
      for (const id of ["r1", "r2"]) gateway.reserve(requestOf(id, { tenantTokens: 0 }));
      await vi.advanceTimersByTimeAsync(0);
      const refusal = { code: "tenant_budget_exhausted", retryAfterMs: null, level: null };
      for (const id of ["r1", "r2"]) expect(verdicts.get(id)).toEqual({ kind: "refused", refusal });
      expect({ alerts, unchecked: gateway.unchecked }).toEqual({
        alerts: [],
        unchecked: 0,
      });
    },
  );

  it("decide by the lease request for a key's own budget when it overtakes the tenant's", async () => {
    const { budgets, verdicts, alerts, gateway } = world(false);
    const keyed = requestOf("keyed", { tokensPerMinute: 1_000, keyTokens: 1_000 });
    const plain = requestOf("plain", { tokensPerMinute: 1_000 });
    const ledger = Promise.withResolvers<undefined>();
    budgets.ledger = ledger.promise;
    gateway.reserve(keyed);
    await vi.advanceTimersByTimeAsync(0);
    budgets.ledger = null;
    gateway.reserve({ ...plain, limits: { ...plain.limits, key: { ...plain.limits.key, id: "key-2" } } });
    await vi.advanceTimersByTimeAsync(0);
    expect([...verdicts.keys()]).toEqual(["plain"]);
    ledger.resolve(undefined);
    await vi.advanceTimersByTimeAsync(0);
    expect({ plain: verdicts.get("plain")?.kind, keyed: verdicts.get("keyed")?.kind, alerts }).toEqual({
      plain: "ok",
      keyed: "ok",
      alerts: [],
    });
  });

  it("charge what was let through unchecked once the object is back", async () => {
    const { budgets, gateway } = world(true);
    budgets.reach = "down";
    const request = requestOf("r1", { tenantTokens: 100 });
    gateway.reserve(request);
    await vi.advanceTimersByTimeAsync(0);
    gateway.settle(request, { tokens: 30, nanoUsd: 0 });
    await vi.advanceTimersByTimeAsync(5_000);
    budgets.reach = "up";
    await vi.advanceTimersByTimeAsync(5_000);
    expect(budgets.core("tenant-1").read("tenant", request.limits, Date.now()).account.usedTokens).toBe(30);
  });

  it("report settlements that cannot be delivered for 30 s, once per outage", async () => {
    const { budgets, alerts, gateway } = world(true);
    const request = requestOf("r1", { tokensPerMinute: 100, tenantTokens: 100, keyTokens: 50 });
    gateway.reserve(request);
    await vi.advanceTimersByTimeAsync(0);
    budgets.reach = "down";
    gateway.settle(request, { tokens: 5, nanoUsd: 0 });
    await vi.advanceTimersByTimeAsync(29_000);
    expect(alerts).toEqual([]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(alerts).toEqual(["redis_budget_reconcile_failed", "redis_key_term_usage_failed", "redis_term_usage_failed"]);
  });

  it("read an unknown level from the object, and return none if the object does not answer", async () => {
    const { budgets, gateway } = world(true);
    expect(await gateway.level(limitsWith(CAPS))).toEqual({ limitTokens: 100, remainingTokens: 100, resetMs: 0 });
    budgets.reach = "silent";
    const level = gateway.level(limitsWith(CAPS));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await level).toBeNull();
  });
});
