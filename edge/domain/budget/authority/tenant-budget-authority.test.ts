/** The authority by example: Cells that fall silent or die, lost answers, and crashes of its own. */
import { describe, expect, it } from "vitest";
import {
  BudgetSimulation,
  type Caps,
  limitsWith,
  thirtyDayMonthOf,
} from "../../../../test/harness/edge/budget/simulation.ts";
import { NO_AMOUNTS } from "../amounts.ts";
import type { ReservationVerdict } from "../spender/verdict.ts";
import { readStored } from "./stored.ts";
import { TenantBudgetAuthority } from "./tenant-budget-authority.ts";

const need = (tokens: number) => ({ bucketTokens: tokens, termTokens: tokens, nanoUsd: 0 });

/** One request in a world where every message arrives at once. */
function tryRequest(
  world: BudgetSimulation,
  caps: Caps,
  tokens: number,
): { id: string; verdict: ReservationVerdict | undefined } {
  const id = world.reserve(world.cell(0), limitsWith(caps), need(tokens));
  while (world.calls.length > 0) world.deliver(world.nextCall());
  return { id, verdict: world.verdicts.get(id) };
}

describe("the authority, while the ledger is asked about a cell that fell silent", () => {
  it.each([
    ["forgets what it held when it stays silent", false, 0],
    ["keeps what it holds when it is heard of meanwhile", true, 60],
  ])("%s", (_name, speaks, reserved) => {
    const world = new BudgetSimulation(1);
    const limits = limitsWith({ tenantTokens: 100 });
    tryRequest(world, { tenantTokens: 100 }, 60);
    // Its reports are under way for a long time.
    for (let second = 0; second < 60; second += 1) world.advance(1_000);
    expect(world.core.countersAwaitingLedger(world.coreMs)).toHaveLength(1);
    if (speaks) world.deliver(world.nextCall());
    world.core.ledgerSettled();
    expect(world.core.read("tenant", limits, world.coreMs).reserved.termTokens).toBe(reserved);
  });
});

describe("the authority", () => {
  it("stores nothing for a report that it already has, or for an older one that arrives late", () => {
    const world = new BudgetSimulation(1);
    const { id } = tryRequest(world, { tenantTokens: 1_000 }, 60);
    tryRequest(world, { tenantTokens: 1_000 }, 60);
    world.settle(world.cell(0), id, { tokens: 7, nanoUsd: 0 });
    const reports = [0, 1].map(() => {
      world.advance(20_000);
      const report = world.nextCall();
      world.fail(report);
      return report;
    });
    const newest = reports.at(-1);
    if (newest === undefined) throw new Error("nothing was said");
    world.process(newest);
    world.checkpoint();
    for (const report of [...reports, newest]) world.process(report);
    expect(world.core.dirty).toBe(false);
    expect(world.core.read("tenant", limitsWith({}), world.coreMs).account.usedTokens).toBe(7);
  });

  it("reserves late use of a lease that the ledger was asked about, and asks it again", () => {
    const world = new BudgetSimulation(1);
    const limits = limitsWith({ tenantTokens: 100 });
    const { id } = tryRequest(world, { tenantTokens: 100 }, 60);
    for (let second = 0; second < 60; second += 1) world.advance(1_000);
    expect(world.core.countersAwaitingLedger(world.coreMs)).toHaveLength(1);
    world.core.applyLedgerSum("tenant", limits, "l:0", { tokens: 40, nanoUsd: 0 }, world.coreMs);
    world.core.ledgerSettled();
    world.settle(world.cell(0), id, { tokens: 40, nanoUsd: 0 });
    world.calm(5_000);
    const read = () => world.core.read("tenant", limits, world.coreMs);
    expect(read()).toMatchObject({ account: { usedTokens: 40 }, reserved: { termTokens: 40 } });
    world.calm(31_000);
    world.askLedger(limits);
    expect(read()).toMatchObject({ account: { usedTokens: 40 }, reserved: { termTokens: 0 } });
  });

  it("takes back a lease that its cell does not know, because the answer to its request was lost", () => {
    const world = new BudgetSimulation(1);
    const caps = { tokensPerMinute: 600, tenantTokens: 1_000 };
    const limits = limitsWith(caps);
    world.reserve(world.cell(0), limits, need(500));
    const { body } = world.nextCall();
    if (body.kind !== "lease") throw new Error("no lease was asked for");
    const { n, report } = body.request;
    world.core.lease(body.request, world.coreMs);
    const later = { ...report, leases: [] };
    world.core.report({ ...later, sequence: report.sequence + 1, open: [n] }, world.coreMs);
    expect(world.core.read("tenant", limits, world.coreMs).reserved.termTokens).toBe(500);
    world.core.report({ ...later, sequence: n, open: [] }, world.coreMs);
    expect(world.core.read("tenant", limits, world.coreMs).reserved.termTokens).toBe(500);
    world.core.report({ ...later, sequence: report.sequence + 2, open: [] }, world.coreMs);
    expect(world.core.read("tenant", limits, world.coreMs).reserved).toEqual(NO_AMOUNTS);
    expect(world.core.buckets(limits, world.coreMs).tenant.tokens.levelTokens).toBe(600);
    expect(world.core.lease(body.request, world.coreMs).answer.verdict).toEqual({ kind: "stale" });
  });
});

describe("a lease request that arrives after its cell has given it up", () => {
  it("is granted nothing, whatever else the cell still waits for", () => {
    const { core, coreMs } = new BudgetSimulation(1);
    const limits = limitsWith({ tenantTokens: 1_000 });
    const report = (sequence: number, open: readonly number[]) => {
      return { cell: "c", life: 1, sequence, leases: [], open, alertsSeen: [] };
    };
    core.report(report(4, [1]), coreMs);
    const verdictOf = (n: number, pool: string | null) =>
      core.lease({ report: report(0, [1, 3]), limits, pool, n, need: need(1), want: need(1) }, coreMs).answer.verdict;
    expect(verdictOf(3, null)).toEqual({ kind: "stale" });
    expect(verdictOf(1, "key-1").kind).toBe("granted");
  });
});

describe("tens of thousands of requests whose cell is reset twice", () => {
  it("are taken over in a number of steps proportional to theirs", { tags: ["check"] }, () => {
    const world = new BudgetSimulation(1);
    const cell = world.cell(0);
    const limits = limitsWith({ tenantTokens: 1e9 });
    const count = 30_000;
    for (let at = 0; at < count; at += 1) tryRequest(world, { tenantTokens: 1e9 }, 1);
    for (let reset = 0; reset < 2; reset += 1) {
      world.crashCell(cell, true);
      for (let at = 0; at < count; at += 1) cell.budget.nextWakeMs();
      world.calm(40_000);
      // From then on the requests of this life have no leases but their own.
      world.askLedger(limits);
      expect(world.core.read("tenant", limits, world.coreMs).reserved.termTokens).toBe(count);
    }
  });
});

/**
 * Whose counters the ledger is asked about if only alarms arrive. The object is unloaded between alarms, and starts from the
 * disk.
 */
function askedByAlarms(world: BudgetSimulation): readonly string[] {
  world.crashAuthority();
  for (let alarms = 0; alarms < 10; alarms += 1) {
    const wakeMs = world.core.nextWakeMs();
    if (wakeMs === null) return [];
    world.nowMs = wakeMs - world.skewMs;
    world.crashAuthority();
    world.core.tick(world.coreMs);
    const awaited = world.core.countersAwaitingLedger(world.coreMs);
    if (awaited.length > 0) return awaited.map(({ whose }) => whose);
    if (world.core.dirty) world.checkpoint();
  }
  return [];
}

describe("the authority after a crash", () => {
  it("does not grant again what was requested before its checkpoint, granted after it, and ended", () => {
    const world = new BudgetSimulation(1);
    const limits = limitsWith({ tenantTokens: 1_000 });
    const report = { cell: "c", life: 1, sequence: 0, leases: [], open: [1], alertsSeen: [] };
    const request = { report, limits, pool: null, n: 1, need: need(1), want: need(1) };
    world.core.report(report, world.coreMs);
    world.checkpoint();
    const { answer, grants } = world.core.lease(request, world.coreMs);
    if (answer.verdict.kind !== "granted" || grants === null) throw new Error("nothing was granted");
    world.disk.putGrants(grants);
    world.crashAuthority();
    const released = answer.verdict.grant;
    const over = { n: 1, pool: null, released, used: [], ended: true, opened: null, request: null };
    world.core.report({ ...report, sequence: 2, leases: [over] }, world.coreMs);
    world.checkpoint();
    expect(world.core.lease(request, world.coreMs).answer.verdict).toEqual({ kind: "stale" });
  });

  it("refuses a lease that a newer one of its pool overtook, and grants one of another pool", () => {
    const world = new BudgetSimulation(1);
    const limits = limitsWith({ tenantTokens: 1_000 });
    const verdictOf = (n: number, pool: string | null, open: readonly number[]) => {
      const report = { cell: "c", life: 1, sequence: 0, leases: [], open, alertsSeen: [] };
      const request = { report, limits, pool, n, need: need(1), want: need(1) };
      const { answer, grants } = world.core.lease(request, world.coreMs);
      if (grants !== null) world.disk.putGrants(grants);
      return answer.verdict.kind;
    };
    expect(verdictOf(3, null, [2, 3])).toBe("granted");
    world.crashAuthority();
    expect({ overtaken: verdictOf(1, null, [1]), otherPool: verdictOf(2, "key-1", [2]) }).toEqual({
      overtaken: "stale",
      otherPool: "granted",
    });
  });

  it("restores no spent token, however often grants since its checkpoint were returned", () => {
    const world = new BudgetSimulation(1);
    const caps = { tokensPerMinute: 300 };
    const spent = tryRequest(world, caps, 100);
    world.settle(world.cell(0), spent.id, { tokens: 100, nanoUsd: 0 });
    for (let turn = 0; turn < 10; turn += 1) {
      const { id } = tryRequest(world, caps, 150);
      world.settle(world.cell(0), id, { tokens: 0, nanoUsd: 0 });
    }
    world.crashAuthority();
    expect(tryRequest(world, caps, 200).verdict?.kind).toBe("ok");
    expect(world.core.buckets(limitsWith(caps), world.coreMs).tenant.tokens.levelTokens).toBe(0);
  });

  it("counts nothing twice for a life of a cell that it has forgotten", () => {
    const world = new BudgetSimulation(1);
    const { id } = tryRequest(world, {}, 50);
    world.settle(world.cell(0), id, { tokens: 7, nanoUsd: 0 });
    world.advance(10_000);
    const late = world.nextCall();
    world.process(late);
    world.crashCell(world.cell(0), false);
    world.reserve(world.cell(0), limitsWith({ tenantTokens: 1_000, rev: 2 }), need(1));
    world.process(world.nextCall());
    world.checkpoint();
    world.crashAuthority();
    world.process(late);
    expect(world.core.read("tenant", limitsWith({}), world.coreMs).account.usedTokens).toBe(7);
  });

  it.each([
    ["the tenant", { tenantTokens: 100 }, ["tenant"]],
    ["the key too", { tenantTokens: 100, keyTokens: 80 }, ["tenant", "key"]],
  ])("asks the ledger about what a dead cell held without any message: about %s", (_name, caps, whose) => {
    const world = new BudgetSimulation(1);
    tryRequest(world, caps, 60);
    // Nothing but the lease is on the disk.
    const beganMs = world.nowMs;
    expect(askedByAlarms(world)).toEqual(whose);
    // It lives 2 s, its Cell may be late by 5 s, its rows by 30 s.
    expect(world.nowMs - beganMs).toBe(37_000);
    world.core.ledgerSettled();
    expect(world.core.read("tenant", limitsWith(caps), world.coreMs).reserved).toEqual(NO_AMOUNTS);
  });

  it("asks the ledger about the running requests of a cell that was silent for 15 minutes", () => {
    const world = new BudgetSimulation(1);
    const caps = { tenantTokens: 100_000 };
    const { id } = tryRequest(world, caps, 60);
    world.calm(60_000);
    const late = tryRequest(world, caps, 60);
    world.settle(world.cell(0), late.id, { tokens: 60, nanoUsd: 0 });
    world.calm(60_000);
    world.checkpoint();
    const beganMs = world.nowMs;
    expect(askedByAlarms(world)).toEqual(["tenant"]);
    expect(world.cell(0).live.has(id)).toBe(true);
    const minutes = (world.nowMs - beganMs) / 60_000;
    expect({ isLate: minutes > 21, isEarly: minutes < 14 }).toEqual({ isLate: false, isEarly: false });
  });
});

describe("the alerts of a term budget", () => {
  /** A world in which a tenant of one cell has used 90 tokens of its cap of 1,000. */
  function usedNinety(): BudgetSimulation {
    const world = new BudgetSimulation(1);
    const { id } = tryRequest(world, { tenantTokens: 1_000, keyTokens: 1_000 }, 90);
    world.settle(world.cell(0), id, { tokens: 90, nanoUsd: 0 });
    world.calm(15_000);
    expect(world.alerts).toEqual([]);
    return world;
  }
  /** A request under other caps, with any verdict, and the new alerts. */
  function alertsUnder(world: BudgetSimulation, caps: Caps): readonly string[] {
    const before = world.alerts.length;
    tryRequest(world, caps, 1);
    world.calm(15_000);
    return world.alerts.slice(before);
  }

  it.each([
    ["at what is used", 90],
    ["below what is used", 10],
    ["to 0", 0],
  ])("say exhausted when the cap is set %s", (_where, tenantTokens) => {
    const world = usedNinety();
    const exhausted = ["term_budget_exhausted:tenant-1@l:0"];
    expect(alertsUnder(world, { tenantTokens, keyTokens: 1_000, rev: 2 })).toEqual(exhausted);
    expect(alertsUnder(world, { tenantTokens, keyTokens: 1_000, rev: 3 })).toEqual([]);
  });

  it("say the same of a key's cap, also when its tenant's cap does not change", () => {
    const exhausted = ["key_term_budget_exhausted:key-1@l:0"];
    expect(alertsUnder(usedNinety(), { tenantTokens: 1_000, keyTokens: 50, rev: 2 })).toEqual(exhausted);
  });

  it("warn when the cap is set so that four fifths of it are used", () => {
    const warn = ["term_budget_warn:tenant-1@l:0"];
    expect(alertsUnder(usedNinety(), { tenantTokens: 110, keyTokens: 1_000, rev: 2 })).toEqual(warn);
  });

  it("come again in the same period when a raised cap is used up too", () => {
    const world = usedNinety();
    alertsUnder(world, { tenantTokens: 90, keyTokens: 1_000, rev: 2 });
    const caps = { tenantTokens: 200, keyTokens: 1_000, rev: 3 };
    expect(alertsUnder(world, caps)).toEqual([]);
    const { id } = tryRequest(world, caps, 80);
    world.settle(world.cell(0), id, { tokens: 80, nanoUsd: 0 });
    expect(alertsUnder(world, caps)).toEqual(["term_budget_warn:tenant-1@l:0#3"]);
    const last = tryRequest(world, caps, 30);
    world.settle(world.cell(0), last.id, { tokens: 30, nanoUsd: 0 });
    expect(alertsUnder(world, caps)).toEqual(["term_budget_exhausted:tenant-1@l:0#3"]);
  });

  it("come again after a restart of the authority only for what was armed again before", () => {
    const world = usedNinety();
    alertsUnder(world, { tenantTokens: 90, keyTokens: 1_000, rev: 2 });
    alertsUnder(world, { tenantTokens: 100, keyTokens: 1_000, rev: 3 });
    world.checkpoint();
    world.crashAuthority();
    expect(alertsUnder(world, { tenantTokens: 100, keyTokens: 1_000, rev: 3 })).toEqual([]);
    const exhausted = ["term_budget_exhausted:tenant-1@l:0#3"];
    expect(alertsUnder(world, { tenantTokens: 20, keyTokens: 1_000, rev: 4 })).toEqual(exhausted);
  });

  it("are evaluated when the ledger raises what is used", () => {
    const world = usedNinety();
    const caps = { tenantTokens: 1_000, keyTokens: 1_000 };
    world.core.applyLedgerSum("tenant", limitsWith(caps), "l:0", { tokens: 850, nanoUsd: 0 }, world.coreMs);
    expect(alertsUnder(world, caps)).toEqual(["term_budget_warn:tenant-1@l:0"]);
  });
});

describe("a budget of 200,000 tokens whose requests use 5,000 of 15", () => {
  it("warns before it is exhausted, and says how much is used", () => {
    const world = new BudgetSimulation(1);
    const caps = { tenantTokens: 200_000 };
    const [warnedAt, exhaustedAt] = ["warn", "exhausted"].map((level) => {
      const has = () => world.alerts.includes(`term_budget_${level}:tenant-1@l:0`);
      while (!has()) {
        const { id, verdict } = tryRequest(world, caps, 15);
        if (verdict?.kind !== "ok") throw new Error(`no alert of ${level}`);
        world.settle(world.cell(0), id, { tokens: 5_000, nanoUsd: 0 });
        world.calm(250);
      }
      return world.truth.settledSum.tokens;
    });
    expect({ isWarned: warnedAt !== undefined && warnedAt <= 180_000, exhaustedAt }).toEqual({
      isWarned: true,
      exhaustedAt: 200_000,
    });
  });
});

describe("the buckets of a tenant and its key", () => {
  const caps = { tokensPerMinute: 600, requestsPerMinute: 6, keyTokensPerMinute: 300, keyRequestsPerMinute: 3 };
  const levels = (world: BudgetSimulation) => {
    const { tenant, key } = world.core.buckets(limitsWith(caps), world.coreMs);
    const of = (buckets: typeof tenant | null) => [buckets?.tokens.levelTokens, buckets?.requests.levelTokens];
    return { tenant: of(tenant), key: of(key) };
  };
  const ask = (world: BudgetSimulation) => {
    const id = world.reserve(world.cell(0), limitsWith(caps), { ...need(50), requests: 1 });
    while (world.calls.length > 0) world.deliver(world.nextCall());
    return id;
  };

  it.each([
    ["before the first checkpoint", (_world: BudgetSimulation) => undefined],
    ["after a checkpoint", (world: BudgetSimulation) => world.checkpoint()],
  ])("are as they were after a crash %s", (_when, meanwhile) => {
    const world = new BudgetSimulation(1);
    ask(world);
    meanwhile(world);
    ask(world);
    const before = levels(world);
    expect(before).toEqual({ tenant: [500, 4], key: [200, 1] });
    world.crashAuthority();
    expect(levels(world)).toEqual(before);
  });

  it("count as empty when the row that has them cannot be read", () => {
    const world = new BudgetSimulation(1);
    ask(world);
    world.checkpoint();
    const { state, damaged } = readStored({ ...world.disk.rows, keys: ["{"] });
    expect(damaged).toBe(1);
    world.core = new TenantBudgetAuthority(state, thirtyDayMonthOf, world.nowMs);
    expect(levels(world)).toEqual({ tenant: [550, 5], key: [0, 0] });
  });

  it("are those of an older release where it had them, and new otherwise", () => {
    const world = new BudgetSimulation(1);
    ask(world);
    world.checkpoint();
    const withoutRates = (row: string) => JSON.stringify({ ...(JSON.parse(row) as object), rates: undefined });
    const { tenant, keys, ...rows } = world.disk.rows;
    const older = { ...rows, tenant: withoutRates(tenant ?? ""), keys: keys.map(withoutRates), grants: [] };
    world.core = new TenantBudgetAuthority(readStored(older).state, thirtyDayMonthOf, world.nowMs);
    // Outstanding leases were deducted from a new bucket too.
    expect(levels(world)).toEqual({ tenant: [550, 5], key: [250, 2] });
  });
});
