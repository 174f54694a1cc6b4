/**
 * The TenantBudget object on its own disk: what survives a restart, what a repeated call gets, and what the alarm writes.
 */
import { env, evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import type { Bindings } from "../../edge/bindings.ts";
import { type BudgetLimits, endUserLimitsOf, NO_KEY } from "../../edge/domain/budget/limits.ts";
import type {
  BudgetReport,
  LeaseReport,
  LeaseRequest,
  TenantBudgetApi,
} from "../../edge/domain/budget/messages/rpc.ts";
import type { LedgerObject } from "../../edge/objects/ledger/ledger.ts";
import { TenantBudgetObject } from "../../edge/objects/tenant-budget/tenant-budget.ts";
import { limitsWith } from "../harness/edge/budget/simulation.ts";
import { waitFor } from "../harness/wait-for.ts";

const { LEDGER } = env as unknown as { LEDGER: DurableObjectNamespace<LedgerObject> };
const namespace = (env as unknown as { TENANT_BUDGET: DurableObjectNamespace<TenantBudgetObject> }).TENANT_BUDGET;

const EMPTY: BudgetReport = { cell: "a", life: 1, sequence: 1, leases: [], open: [], alertsSeen: [] };

function leaseRequest(limits: BudgetLimits, tokens: number, n: number): LeaseRequest {
  const need = { bucketTokens: tokens, termTokens: tokens, nanoUsd: tokens };
  const open = Array.from({ length: n }, (_, at) => at + 1);
  return { report: { ...EMPTY, sequence: n - 1, open }, limits, pool: null, n, need, want: need };
}

/** A report of usage for which nothing was reserved. */
function spend(limits: BudgetLimits, tokens: number): BudgetReport {
  const granted = { bucketTokens: 0, termTokens: 0, nanoUsd: 0 };
  const used = [{ limits, tags: { tenant: "l:0", key: "l:0" }, used: { tokens, nanoUsd: tokens } }];
  const opened = { as: "counted", granted, from: null } as const;
  const lease = { n: 100, pool: null, released: granted, used, ended: true, opened, request: null };
  return { ...EMPTY, sequence: 101, leases: [lease], open: [1, 100] };
}

/** A report that ends a lease without use: all of it comes back. */
function end(limits: BudgetLimits, n: number, tokens: number): BudgetReport {
  const released = { bucketTokens: tokens, termTokens: tokens, nanoUsd: tokens };
  const used = [{ limits, tags: { tenant: "l:0", key: "l:0" }, used: { tokens, nanoUsd: tokens } }];
  const lease = { n, pool: null, released, used, ended: true, opened: null, request: null };
  return { ...EMPTY, sequence: n + 2, leases: [lease], open: [n] };
}

const tenant = (): DurableObjectStub<TenantBudgetObject> => namespace.getByName(crypto.randomUUID());

describe("TenantBudget", () => {
  it("answers a repeated lease request with the same lease, debited once", async () => {
    const stub = tenant();
    const limits = limitsWith({ tokensPerMinute: 1_000 });
    const first = await stub.lease(leaseRequest(limits, 600, 1));
    expect(first.verdict).toEqual({
      kind: "granted",
      grant: { bucketTokens: 600, requests: 0, termTokens: 600, nanoUsd: 600 },
      ttlMs: 2_000,
      ample: false,
    });
    expect((await stub.lease(leaseRequest(limits, 600, 1))).verdict).toEqual(first.verdict);
    expect((await stub.lease(leaseRequest(limits, 600, 2))).verdict).toEqual({ kind: "refused", reason: "rate" });
  });

  it("decides a key's lease request that another pool's request overtakes", async () => {
    const stub = tenant();
    const capped = limitsWith({ tokensPerMinute: 1_000, keyTokens: 1_000 });
    const keyed = { ...capped, key: { ...capped.key, id: crypto.randomUUID() } };
    const answers = await Promise.all([
      stub.lease({ ...leaseRequest(keyed, 10, 1), pool: keyed.key.id }),
      stub.lease(leaseRequest(limitsWith({ tokensPerMinute: 1_000 }), 10, 2)),
    ]);
    expect(answers.map(({ verdict }) => verdict.kind)).toEqual(["granted", "granted"]);
  });

  it("keeps outstanding leases through an eviction without a checkpoint", async () => {
    const stub = tenant();
    const limits = limitsWith({ tokensPerMinute: 1_000 });
    const first = await stub.lease(leaseRequest(limits, 900, 1));
    await evictDurableObject(stub);
    expect((await stub.lease(leaseRequest(limits, 900, 1))).verdict).toEqual(first.verdict);
    expect((await stub.lease(leaseRequest(limits, 900, 2))).verdict).toEqual({ kind: "refused", reason: "rate" });
  });

  it("acknowledges a cell's report only after the alarm stored it, and counts a repeat once", async () => {
    const stub = tenant();
    const limits = limitsWith({});
    const usedTokens = async () => (await stub.usage("tenant", limits, null)).used_tokens;
    const sendReport = async () => await stub.report(spend(limits, 70));
    expect(await sendReport()).toEqual({ stored: 0, alerts: [] });
    await evictDurableObject(stub);
    expect(await usedTokens()).toBe(0);
    expect(await sendReport()).toEqual({ stored: 0, alerts: [] });
    expect(await sendReport()).toEqual({ stored: 0, alerts: [] });
    expect(await runDurableObjectAlarm(stub)).toBe(true);
    expect(await sendReport()).toEqual({ stored: 101, alerts: [] });
    await evictDurableObject(stub);
    expect(await sendReport()).toEqual({ stored: 101, alerts: [] });
    const usage = await stub.usage("tenant", limits, null);
    expect({ used_tokens: usage.used_tokens, used_cost_usd: usage.used_cost_usd, state: usage.state }).toEqual({
      used_tokens: 70,
      used_cost_usd: 7e-8,
      state: "none",
    });
  });

  it("writes no row for a report, and one row for all leases of a pool until the alarm", async () => {
    const stub = tenant();
    const rows = async () =>
      await runInDurableObject(stub, (_instance: TenantBudgetApi, state) => {
        const { sql } = state.storage;
        return ["keys", "grants"].map((table) => sql.exec(`SELECT count(*) AS n FROM ${table}`).one()["n"]);
      });
    await stub.report(spend(limitsWith({}), 5));
    expect(await rows()).toEqual([0, 0]);
    const limits = limitsWith({ tokensPerMinute: 1_000 });
    for (const n of [102, 103, 104])
      await stub.lease({ ...leaseRequest(limits, 5, n), report: { ...EMPTY, sequence: 101, open: [n] } });
    expect(await rows()).toEqual([0, 1]);
    await evictDurableObject(stub);
    expect((await stub.usage("tenant", limits, null)).reserved_tokens).toBe(15);
  });

  it("writes no row with more than 200 leases, and keeps those that it has written", async () => {
    const stub = tenant();
    const limits = limitsWith({ tokensPerMinute: 1_000_000 });
    for (let n = 1; n <= 250; n += 1) await stub.lease(leaseRequest(limits, 3, n));
    const longest = await runInDurableObject(stub, (_instance: TenantBudgetApi, state) =>
      Math.max(
        ...Array.from(state.storage.sql.exec<{ value: string }>("SELECT value FROM grants"), ({ value }) => {
          const { leases } = JSON.parse(value) as { leases: readonly unknown[] };
          return leases.length;
        }),
      ),
    );
    await evictDurableObject(stub);
    const { reserved_tokens } = await stub.usage("tenant", limits, null);
    expect({ isShort: longest <= 200, reserved_tokens }).toEqual({ isShort: true, reserved_tokens: 750 });
  });

  it("keeps more leases than one row can hold, and fewer rows again when the leases have ended", {
    tags: ["check"],
  }, async () => {
    const stub = tenant();
    const limits = limitsWith({ tenantTokens: 100_000, keyTokens: 100_000 });
    const need = { bucketTokens: 0, termTokens: 1, nanoUsd: 1 };
    const word = (n: number, ended: boolean): LeaseReport => ({
      n,
      pool: n % 2 === 0 ? null : limits.key.id,
      released: ended ? need : { bucketTokens: 0, termTokens: 0, nanoUsd: 0 },
      used: [],
      ended,
      opened: { as: "adopted", granted: need, from: null },
      request: { id: `r${n}`, goesOn: !ended },
    });
    const numbers = Array.from({ length: 16_000 }, (_, at) => at + 1);
    const reportAt = (sequence: number, ended: boolean): BudgetReport => ({
      ...EMPTY,
      sequence,
      leases: numbers.map((n) => word(n, ended)),
    });
    const reserved = async () => (await stub.usage("tenant", limits, null)).reserved_tokens;
    const rows = async () =>
      await runInDurableObject(stub, (_instance: TenantBudgetApi, state) => {
        const { sql } = state.storage;
        const { size, n } = sql.exec("SELECT max(length(value)) AS size, count(*) AS n FROM meta").one();
        return { small: Number(size) < 2_000_000, many: Number(n) };
      });
    expect(await reserved()).toBe(0);
    await stub.report(reportAt(40_000, false));
    expect(await runDurableObjectAlarm(stub)).toBe(true);
    const before = await rows();
    expect({ small: before.small, isSplit: before.many > 8 }).toEqual({ small: true, isSplit: true });
    await evictDurableObject(stub);
    expect(await reserved()).toBe(16_000);
    await stub.report(reportAt(60_000, true));
    expect(await runDurableObjectAlarm(stub)).toBe(true);
    expect(await rows()).toEqual({ small: true, many: 3 });
    await evictDurableObject(stub);
    expect(await reserved()).toBe(0);
  });

  it("reads and rebuilds a tenant without a key, and stores no counter for the missing key", async () => {
    const stub = tenant();
    const alone = { ...limitsWith({ tenantTokens: 100 }), key: NO_KEY };
    expect(await stub.usage("tenant", alone, null)).toMatchObject({ used_tokens: 0, remaining_tokens: 100 });
    await stub.report(spend(limitsWith({ tenantTokens: 100 }), 30));
    await stub.rebuild("tenant", alone);
    expect(await stub.usage("tenant", alone, null)).toMatchObject({ used_tokens: 30, remaining_tokens: 70 });
    expect(await runDurableObjectAlarm(stub)).toBe(true);
    await runInDurableObject(stub, (_instance: TenantBudgetApi, state) => {
      const ids = state.storage.sql.exec("SELECT * FROM keys").toArray();
      expect(ids).toHaveLength(1);
    });
  });

  it("neither checks nor keeps an end user who is unknown when one is only read", async () => {
    const stub = tenant();
    const end_user_budget = { tokens: 100, cost_usd: null, period: "lifetime" as const, started_at_ms: null };
    const { id, name } = limitsWith({}).tenant;
    const limits = endUserLimitsOf("ann", { id, name, rev: 1, timezone: "UTC", end_user_budget });
    if (limits === null) throw new Error("the tenant has a budget of end users");
    const unknown = [await stub.endUserUsage(limits, null), await stub.endUserUsage(limits, null)];
    await stub.report(spend(limits, 30));
    expect({ unknown, known: await stub.endUserUsage(limits, null) }).toMatchObject({
      unknown: [null, null],
      known: { used_tokens: 30, remaining_tokens: 70 },
    });
  });

  it("decides under a term budget while the ledger is unreachable, and a usage read shows it", async () => {
    const stub = tenant();
    const limits = limitsWith({ tenantTokens: 100 });
    expect((await stub.lease(leaseRequest(limits, 60, 1))).verdict.kind).toBe("granted");
    expect(await stub.usage("tenant", limits, null)).toMatchObject({
      budget_tokens: 100,
      used_tokens: 0,
      reserved_tokens: 60,
      remaining_tokens: 40,
      ratio: 0,
      state: "ok",
    });
    await stub.report(end(limits, 1, 100));
    expect(await stub.usage("tenant", limits, null)).toMatchObject({
      reserved_tokens: 0,
      ratio: 1,
      state: "exhausted",
    });
  });

  it("holds what a dead Cell had on lease until the rows of that Cell are in the ledger", {
    tags: ["check"],
  }, async () => {
    let nowMs = 1_000_000;
    let [hasShipped, isAway] = [false, true];
    const asked: string[] = [];
    const reserved: number[] = [];
    await runInDurableObject(tenant(), async (_object, state) => {
      const object = new TenantBudgetObject(state, env as unknown as Bindings, {
        now: () => nowMs,
        log: { event: () => undefined },
        monthOf: () => "2026-11",
        monthBounds: () => ({ startMs: 0, endMs: 1e15 }),
        ledgerSum: async () => ({ tokens: hasShipped ? 60 : 0, nanoUsd: 0 }),
        hasShippedRows: async (cell, endedBeforeMs) => {
          asked.push(`${cell} ${endedBeforeMs}`);
          if (isAway) throw new Error("away");
          return hasShipped;
        },
        deliverAlerts: async () => undefined,
      });
      const limits = limitsWith({ tenantTokens: 100 });
      const look = async (): Promise<void> => {
        await object.alarm();
        const { used_tokens, reserved_tokens } = await object.usage("tenant", limits, null);
        reserved.push(used_tokens + reserved_tokens);
      };
      await object.lease(leaseRequest(limits, 60, 1));
      await object.report({ ...EMPTY, life: 2 });
      nowMs += 31_000;
      await look();
      isAway = false;
      await look();
      hasShipped = true;
      await look();
    });
    // of a Ledger that does not answer, the question is repeated once
    expect({ asked, reserved }).toEqual({ asked: Array(4).fill("a 1001000"), reserved: [60, 60, 60] });
  });

  it("ends its alarm although the Ledger that is to get its alerts hangs", { tags: ["check"] }, async () => {
    let called = 0;
    await runInDurableObject(tenant(), async (_object, state) => {
      const object = new TenantBudgetObject(state, env as unknown as Bindings, {
        now: Date.now,
        log: { event: () => undefined },
        monthOf: () => "2026-11",
        monthBounds: () => ({ startMs: 0, endMs: 1e15 }),
        ledgerSum: async () => ({ tokens: 0, nanoUsd: 0 }),
        hasShippedRows: async () => true,
        deliverAlerts: async () => {
          called += 1;
          await new Promise(() => undefined);
        },
      });
      await object.report(spend(limitsWith({ tenantTokens: 10 }), 20));
      await object.alarm();
    });
    expect(called).toBe(1);
  });

  it("delivers by its alarm an alert that no message of a cell has caused, and does so once", {
    tags: ["check"],
  }, async () => {
    const stub = tenant();
    const cell = `cell-${crypto.randomUUID()}`;
    const ledger = LEDGER.getByName(`${cell}:0`);
    await stub.report({ ...spend(limitsWith({ tenantTokens: 1_000 }), 100), cell });
    expect(await stub.usage("tenant", limitsWith({ tenantTokens: 100, rev: 2 }), null)).toMatchObject({ ratio: 1 });
    const raised = async () => (await ledger.alerts(null)).alerts;
    const [alert, ...others] = await waitFor(raised, (alerts) => alerts.length > 0);
    expect({ alert, others }).toMatchObject({
      alert: {
        issueKey: "term_budget_exhausted:tenant-1",
        title: "Tenant budget exhausted",
        detail: '"Acme": 100 of 100 tokens (lifetime)',
      },
      others: [],
    });
  });
});
