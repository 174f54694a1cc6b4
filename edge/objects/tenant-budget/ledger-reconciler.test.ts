/** The check of a new budget object against a ledger that answers slowly. */
import { describe, expect, it, vi } from "vitest";
import { NOTHING_STORED, SimulatedDisk } from "../../../test/harness/edge/budget/simulated-disk.ts";
import { limitsWith, thirtyDayMonthOf } from "../../../test/harness/edge/budget/simulation.ts";
import { ledgerSum } from "../../adapters/ledger-sums.ts";
import { monthBounds, monthOf } from "../../adapters/zone-months.ts";
import { TenantBudgetAuthority } from "../../domain/budget/authority/tenant-budget-authority.ts";
import { type BudgetLimits, endUserLimitsOf } from "../../domain/budget/limits.ts";
import type { LedgerSum } from "../object-ports.ts";
import { LedgerReconciler } from "./ledger-reconciler.ts";

const STORE = { url: "http://ledger.test", db: "gateway", user: "u", password: "p" };
const PORTS = {
  now: () => Date.now(),
  monthOf,
  monthBounds,
  ledgerSum: async (...asked: Parameters<LedgerSum>) => await ledgerSum(STORE, ...asked),
};

it("is waited for by every call that decides before its answer, not only by the first", async () => {
  const asked = Promise.withResolvers<Response>();
  vi.stubGlobal("fetch", () => asked.promise);
  const core = new TenantBudgetAuthority(NOTHING_STORED, thirtyDayMonthOf, Date.now());
  const check = new LedgerReconciler(core, PORTS, () => undefined);
  const caps = limitsWith({ tenantTokens: 100 });
  const limits = { ...caps, tenant: { ...caps.tenant, id: crypto.randomUUID() } };
  const first = check.beforeDeciding(limits);
  expect(check.isFresh(limits, Date.now())).toBe(false);
  const second = check.beforeDeciding(limits);
  asked.resolve(new Response("70\t0\n"));
  await Promise.all([first, second]);
  expect(check.isFresh(limits, Date.now())).toBe(true);
  expect(core.read("tenant", limits, Date.now()).account.usedTokens).toBe(70);
});

it("returns what the ledger has when a counter without a cap is read", async () => {
  vi.stubGlobal("fetch", async () => new Response("70\t0\n"));
  const core = new TenantBudgetAuthority(NOTHING_STORED, thirtyDayMonthOf, Date.now());
  const check = new LedgerReconciler(core, PORTS, () => undefined);
  const limits = { ...limitsWith({}), tenant: { ...limitsWith({}).tenant, id: crypto.randomUUID() } };
  await check.beforeDeciding(limits);
  expect(core.read("tenant", limits, Date.now()).account.usedTokens).toBe(0);
  await check.beforeReading("tenant", limits);
  expect(core.read("tenant", limits, Date.now()).account.usedTokens).toBe(70);
});

it("is made again when a counter without a cap is read later, or gets a cap", async () => {
  vi.useFakeTimers();
  let sum = 0;
  vi.stubGlobal("fetch", async () => new Response(`${sum}\t0\n`));
  const core = new TenantBudgetAuthority(NOTHING_STORED, thirtyDayMonthOf, Date.now());
  const check = new LedgerReconciler(core, PORTS, () => undefined);
  const id = crypto.randomUUID();
  const limitsOf = (tenantTokens: number | null) => {
    const limits = limitsWith({ tenantTokens });
    return { ...limits, tenant: { ...limits.tenant, id } };
  };
  const used = () => core.read("tenant", limitsOf(null), Date.now()).account.usedTokens;
  await check.beforeReading("tenant", limitsOf(null));
  // a Cell that died has not reported it
  sum = 70;
  await vi.advanceTimersByTimeAsync(20_000);
  await check.beforeReading("tenant", limitsOf(null));
  const read = used();
  sum = 90;
  await check.beforeDeciding(limitsOf(100));
  expect({ read, decided: used() }).toEqual({ read: 70, decided: 90 });
});

it("reads many keys a few at a time, and says which it could not read", async () => {
  let [underWay, most] = [0, 0];
  const ledger: LedgerSum = async (_whose, id) => {
    underWay += 1;
    most = Math.max(most, underWay);
    await Promise.resolve();
    underWay -= 1;
    if (id === "key-7" || id === "key-30") throw new Error("away");
    return { tokens: 0, nanoUsd: 0 };
  };
  const core = new TenantBudgetAuthority(NOTHING_STORED, thirtyDayMonthOf, Date.now());
  const check = new LedgerReconciler(core, { ...PORTS, ledgerSum: ledger }, () => undefined);
  const { tenant, key } = limitsWith({});
  const keys = Array.from({ length: 40 }, (_, at) => ({ tenant, key: { ...key, id: `key-${at}` } }));
  const counters = [
    { whose: "tenant" as const, limits: { tenant, key } },
    ...keys.map((limits) => ({ whose: "key" as const, limits })),
  ];
  const unanswered = await check.recheckAfterDeath(counters);
  expect({ unanswered, isBounded: most <= 8 }).toEqual({ unanswered: ["key-7", "key-30"], isBounded: true });
});

it("tells its object of an answer for which nobody waits any more", async () => {
  vi.useFakeTimers();
  const changed = vi.fn();
  const ledger: LedgerSum = async () => {
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    return { tokens: 70, nanoUsd: 0 };
  };
  const core = new TenantBudgetAuthority(NOTHING_STORED, thirtyDayMonthOf, Date.now());
  const check = new LedgerReconciler(core, { ...PORTS, ledgerSum: ledger }, changed);
  const decided = check.beforeDeciding(limitsWith({ tenantTokens: 100 }));
  await vi.advanceTimersByTimeAsync(500);
  await decided;
  const early = changed.mock.calls.length;
  await vi.advanceTimersByTimeAsync(500);
  expect({ early, late: changed.mock.calls.length }).toEqual({ early: 0, late: 1 });
});

it("keeps an earlier answer when a later one does not come", async () => {
  let isUp = true;
  const ports = {
    ...PORTS,
    ledgerSum: async () => (isUp ? { tokens: 70, nanoUsd: 0 } : Promise.reject(new Error("away"))),
  };
  const core = new TenantBudgetAuthority(NOTHING_STORED, thirtyDayMonthOf, Date.now());
  const check = new LedgerReconciler(core, ports, () => undefined);
  const limits = limitsWith({ tenantTokens: 100 });
  await check.beforeDeciding(limits);
  isUp = false;
  expect(await check.recheck("tenant", limits)).toBe(false);
  expect(check.isFresh(limits, Date.now())).toBe(true);
});

describe("while the clock of its object is set", () => {
  const caps = limitsWith({ tenantTokens: 100 });
  const limits = { ...caps, tenant: { ...caps.tenant, id: "0f9f2c8e-6a1d-4b53-9f0c-0d2a5e6b7c81" } };
  const YEAR_MS = 31_536_000_000;

  it.each([3_600_000, -3_600_000])(
    "waits for a ledger that does not answer no longer than without a clock change: %d ms",
    async (jumpMs) => {
      vi.useFakeTimers();
      vi.stubGlobal("fetch", () => new Promise(() => undefined));
      const check = new LedgerReconciler(
        new TenantBudgetAuthority(NOTHING_STORED, thirtyDayMonthOf, Date.now()),
        PORTS,
        () => undefined,
      );
      let decided = 0;
      const decide = () => void check.beforeDeciding(limits).then(() => (decided += 1));
      decide();
      await vi.advanceTimersByTimeAsync(100);
      vi.setSystemTime(Date.now() + jumpMs);
      decide();
      await vi.advanceTimersByTimeAsync(400);
      expect(decided).toBe(2);
    },
  );

  it("reads the ledger again soon after a failure", async () => {
    vi.useFakeTimers();
    let asked = 0;
    vi.stubGlobal("fetch", async () => {
      asked += 1;
      throw new TypeError("away");
    });
    const check = new LedgerReconciler(
      new TenantBudgetAuthority(NOTHING_STORED, thirtyDayMonthOf, Date.now()),
      PORTS,
      () => undefined,
    );
    await check.beforeDeciding(limits);
    vi.setSystemTime(Date.now() - YEAR_MS);
    await check.beforeDeciding(limits);
    expect(asked).toBe(1);
    await vi.advanceTimersByTimeAsync(10_000);
    await check.beforeDeciding(limits);
    expect(asked).toBe(2);
  });
});

describe("the check of end users", () => {
  const { tenant } = limitsWith({});
  const id = crypto.randomUUID();
  const limitsOf = (name: string, rev = 1, period: "monthly" | "lifetime" = "lifetime") => {
    const end_user_budget = { tokens: 100, cost_usd: null, period, started_at_ms: null };
    return endUserLimitsOf(name, { id, name: tenant.name, rev, timezone: "UTC", end_user_budget }) ?? limitsWith({});
  };

  it("is made again when the budget is set again, because nobody counted without one", async () => {
    vi.useFakeTimers();
    const leftOutMs: number[] = [];
    let tokens = 10;
    const ledger: LedgerSum = async (_whose, _id, _sinceMs, untilMs) => {
      leftOutMs.push(Date.now() - untilMs);
      return { tokens, nanoUsd: 0 };
    };
    const core = new TenantBudgetAuthority(NOTHING_STORED, thirtyDayMonthOf, Date.now());
    const check = new LedgerReconciler(core, { ...PORTS, ledgerSum: ledger }, () => undefined);
    const used = async (limits: BudgetLimits) => {
      const isFresh = check.isFresh(limits, Date.now());
      await check.beforeDeciding(limits);
      return { isFresh, used: core.read("key", limits, Date.now()).account.usedTokens };
    };
    const first = await used(limitsOf("ann", 1));
    tokens = 50_000;
    const again = { first, restored: await used(limitsOf("ann", 3)), later: await used(limitsOf("ann", 3)) };
    // A Cell that does not know of the change yet.
    const older = await used(limitsOf("ann", 2));
    expect({ ...again, older, leftOutMs }).toEqual({
      first: { isFresh: false, used: 10 },
      restored: { isFresh: false, used: 50_000 },
      later: { isFresh: true, used: 50_000 },
      older: { isFresh: true, used: 50_000 },
      leftOutMs: [0, 20_000],
    });
  });

  it("is made once, however often the budget is read", async () => {
    const asked: string[] = [];
    const ledger: LedgerSum = async (_whose, keyId) => {
      asked.push(keyId);
      return { tokens: 10, nanoUsd: 0 };
    };
    const core = new TenantBudgetAuthority(NOTHING_STORED, thirtyDayMonthOf, Date.now());
    const check = new LedgerReconciler(core, { ...PORTS, ledgerSum: ledger }, () => undefined);
    for (let reads = 0; reads < 3; reads += 1) await check.beforeReading("key", limitsOf("ann"));
    const used = core.read("key", limitsOf("ann"), Date.now()).account.usedTokens;
    expect({ asked, used }).toEqual({ asked: [`${id}/ann`], used: 10 });
  });

  it("leaves out what Cells may still report of one who is known, also after a restart", async () => {
    vi.useFakeTimers();
    const leftOutMs: number[] = [];
    const ledger: LedgerSum = async (_whose, _id, _sinceMs, untilMs) => {
      leftOutMs.push(Date.now() - untilMs);
      return { tokens: 0, nanoUsd: 0 };
    };
    const disk = new SimulatedDisk();
    const decide = async (limits: BudgetLimits) => {
      const core = new TenantBudgetAuthority(disk.load().state, thirtyDayMonthOf, Date.now());
      await new LedgerReconciler(core, { ...PORTS, ledgerSum: ledger }, () => undefined).beforeDeciding(limits);
      disk.putCheckpoint(core.checkpoint());
    };
    await decide(limitsOf("ann", 1, "monthly"));
    await decide(limitsOf("ann", 2, "lifetime"));
    await decide(limitsOf("bob", 2, "lifetime"));
    expect(leftOutMs).toEqual([0, 20_000, 0]);
  });

  it("is forgotten above 10,000 of them, the one that began first, and that of no key or tenant", async () => {
    vi.useFakeTimers();
    const asked: string[] = [];
    const ledger: LedgerSum = async (whose, asks) => {
      asked.push(asks);
      if (whose === "key") throw new Error("away");
      return { tokens: 0, nanoUsd: 0 };
    };
    const core = new TenantBudgetAuthority(NOTHING_STORED, thirtyDayMonthOf, Date.now());
    const check = new LedgerReconciler(core, { ...PORTS, ledgerSum: ledger }, () => undefined);
    const caps = limitsWith({ tenantTokens: 100 });
    const decide = async (some: readonly BudgetLimits[]) => {
      for (const limits of some) await check.beforeDeciding(limits);
    };
    const users = Array.from({ length: 9_999 }, (_, at) => limitsOf(`user-${at}`));
    const [first, second] = [limitsOf("user-0"), limitsOf("user-1")];
    await decide([caps, ...users]);
    await vi.advanceTimersByTimeAsync(10_000);
    await decide([first, limitsOf("one more")]);
    asked.length = 0;
    await decide([caps, first, second]);
    expect(asked).toEqual([second.key.id]);
  });

  it("is made once, also by an object that restarts, and once more for another kind of period", async () => {
    const asked: unknown[] = [];
    const ledger: LedgerSum = async (...given) => {
      asked.push(given.slice(0, 2));
      return { tokens: 70, nanoUsd: 0 };
    };
    const disk = new SimulatedDisk();
    const started = () => {
      const core = new TenantBudgetAuthority(disk.load().state, thirtyDayMonthOf, Date.now());
      return { core, check: new LedgerReconciler(core, { ...PORTS, ledgerSum: ledger }, () => undefined) };
    };
    const limits = limitsOf("ann");
    const first = started();
    await first.check.beforeDeciding(limits);
    disk.putCheckpoint(first.core.checkpoint());
    const second = started();
    const isFresh = second.check.isFresh(limits, Date.now());
    await second.check.beforeDeciding(limits);
    const { usedTokens } = second.core.read("key", limits, Date.now()).account;
    expect({ isFresh, asked, usedTokens }).toEqual({ isFresh: true, asked: [["key", limits.key.id]], usedTokens: 70 });
    const monthly = {
      ...limits,
      key: { ...limits.key, rev: 2, term: { ...limits.key.term, period: "monthly" as const } },
    };
    expect(second.check.isFresh(monthly, Date.now())).toBe(false);
  });

  it("reads a few new ones at a time, and the others when they come again", async () => {
    vi.useFakeTimers();
    let reads = 0;
    const answers = Promise.withResolvers<undefined>();
    const ledger: LedgerSum = async () => {
      reads += 1;
      await answers.promise;
      return { tokens: 70, nanoUsd: 0 };
    };
    const core = new TenantBudgetAuthority(NOTHING_STORED, thirtyDayMonthOf, Date.now());
    const check = new LedgerReconciler(core, { ...PORTS, ledgerSum: ledger }, () => undefined);
    const everybody = Array.from({ length: 40 }, (_, at) => limitsOf(`user-${at}`));
    const decided = Promise.all(everybody.map(async (limits) => await check.beforeDeciding(limits)));
    await vi.advanceTimersByTimeAsync(400);
    await decided;
    expect({ reads }).toEqual({ reads: 8 });
    answers.resolve(undefined);
    await vi.advanceTimersByTimeAsync(10_000);
    const last = everybody.at(-1) ?? limitsOf("nobody");
    await check.beforeDeciding(last);
    expect({ reads, used: core.read("key", last, Date.now()).account.usedTokens }).toEqual({ reads: 9, used: 70 });
  });
});
