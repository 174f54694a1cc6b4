import { describe, expect, it } from "vitest";
import {
  BudgetSimulation,
  type Caps,
  limitsWith,
  ONE_REQUEST,
} from "../../../../test/harness/edge/budget/simulation.ts";
import { NO_AMOUNTS } from "../amounts.ts";
import type { ReservationVerdict } from "./verdict.ts";

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

describe("a cell's budget of one cell decides as if every request were sent to the authority", () => {
  it("429 when the bucket lacks the estimate, with the wait until it holds it", () => {
    const world = new BudgetSimulation(1);
    const caps = { tokensPerMinute: 600 };
    expect(tryRequest(world, caps, 500).verdict).toEqual({
      kind: "ok",
      level: { limitTokens: 600, remainingTokens: 100, resetMs: 50_000 },
    });
    expect(tryRequest(world, caps, 130).verdict).toEqual({
      kind: "refused",
      code: "token_budget_exceeded",
      retryAfterMs: 3_000,
      level: { limitTokens: 600, remainingTokens: 100, resetMs: 50_000 },
    });
    expect(tryRequest(world, caps, 100).verdict?.kind).toBe("ok");
    expect(tryRequest(world, caps, 10_000).verdict).toMatchObject({ retryAfterMs: 60_000 });
  });

  it("spends the last of a bucket whatever its pool still has", () => {
    const world = new BudgetSimulation(1);
    const sizes = [7, 90, 3, 200, 50, 1, 249];
    expect(sizes.map((size) => tryRequest(world, { tokensPerMinute: 600 }, size).verdict?.kind)).toEqual(
      sizes.map(() => "ok"),
    );
    expect(tryRequest(world, { tokensPerMinute: 600 }, 1).verdict?.kind).toBe("refused");
  });

  it("lets one request pass a term budget's end, and none after it", () => {
    const world = new BudgetSimulation(1);
    const verdicts = [60, 30, 20, 1].map((size) => tryRequest(world, { tenantTokens: 100 }, size).verdict);
    expect(verdicts.map((verdict) => verdict?.kind)).toEqual(["ok", "ok", "ok", "refused"]);
    expect(verdicts[3]).toEqual({ kind: "refused", code: "tenant_budget_exhausted", retryAfterMs: null, level: null });
  });

  it("charges what a running request without a reservation used, as debt", () => {
    const world = new BudgetSimulation(1);
    const caps = { tokensPerMinute: 600 };
    expect(tryRequest(world, caps, 500).verdict?.kind).toBe("ok");
    const cell = world.cell(0);
    cell.budget.admitUnchecked(
      { requestId: "sub-call", limits: limitsWith(caps), need: NO_AMOUNTS },
      world.clockOf(cell),
    );
    cell.budget.settle("sub-call", { tokens: 250, nanoUsd: 0 }, world.clockOf(cell));
    world.calm(10_000);
    expect(tryRequest(world, caps, 10).verdict).toMatchObject({ kind: "refused", retryAfterMs: 6_000 });
  });

  it.each([
    { now: "its key has a cap", caps: { tenantTokens: 1_000, keyTokens: 500 } },
    { now: "there is no cap any more", caps: {} },
  ])("keeps nothing of what a request expected under other limits, when $now", ({ caps }) => {
    const world = new BudgetSimulation(1);
    const cell = world.cell(0);
    const id = world.expect(cell, limitsWith({ tenantTokens: 1_000 }), need(10));
    world.calm(1_000);
    const limits = limitsWith({ ...caps, rev: 2 });
    world.reserve(cell, limits, need(10), { id, limits, need: need(10) });
    world.calm(1_000);
    world.settle(cell, id, { tokens: 10, nanoUsd: 0 });
    world.calm(30_000);
    world.checkpoint();
    world.calm(30_000);
    expect({ isIdle: cell.budget.idle }).toEqual({ isIdle: true });
  });

  it("charges what an unchecked request used although its count is no amount", () => {
    const world = new BudgetSimulation(1);
    const limits = limitsWith({ requestsPerMinute: 60, tenantTokens: 1_000 });
    const cell = world.cell(0);
    const counted = { requestId: "bad", limits, need: { ...NO_AMOUNTS, requests: Number.NaN } };
    cell.budget.admitUnchecked(counted, world.clockOf(cell));
    cell.budget.settle("bad", { tokens: 250, nanoUsd: 0 }, world.clockOf(cell));
    world.calm(10_000);
    const { usedTokens } = world.core.read("tenant", limits, world.coreMs).account;
    expect({ usedTokens, faults: cell.budget.takeFaults().length }).toEqual({ usedTokens: 250, faults: 1 });
  });

  it("gives back what other pools have leased under older limits of the tenant", () => {
    const world = new BudgetSimulation(1);
    const cell = world.cell(0);
    /** A request that ends at once. */
    const one = (caps: Caps): ReservationVerdict["kind"] | undefined => {
      const id = world.reserve(cell, limitsWith(caps), ONE_REQUEST);
      while (world.calls.length > 0) world.deliver(world.nextCall());
      world.settle(cell, id, { tokens: 1, nanoUsd: 0 });
      return world.verdicts.get(id)?.kind;
    };
    const keyed = { requestsPerMinute: 1_000, keyTokens: 1_000_000, rev: 1 };
    const before = [one(keyed), one(keyed)];
    const after = [one({ requestsPerMinute: 6, rev: 2 }), one({ requestsPerMinute: 6, rev: 2 })];
    expect({ before, after }).toEqual({ before: ["ok", "ok"], after: ["ok", "ok"] });
    world.calm(30_000);
    world.checkpoint();
    world.calm(30_000);
    expect({ isIdle: cell.budget.idle }).toEqual({ isIdle: true });
  });

  it("returns what a request did not use", () => {
    const world = new BudgetSimulation(1);
    const first = tryRequest(world, { tenantTokens: 100, tokensPerMinute: 100 }, 100);
    const cell = world.cell(0);
    expect(tryRequest(world, { tenantTokens: 100, tokensPerMinute: 100 }, 10).verdict?.kind).toBe("refused");
    world.settle(cell, first.id, { tokens: 0, nanoUsd: 0 });
    expect(tryRequest(world, { tenantTokens: 100, tokensPerMinute: 100 }, 100).verdict?.kind).toBe("ok");
  });

  it("refuses without a message for a moment after a refusal, unless the request fits by then", () => {
    const world = new BudgetSimulation(1);
    const caps = { tokensPerMinute: 60_000 };
    tryRequest(world, caps, 60_000);
    expect(tryRequest(world, caps, 100).verdict).toMatchObject({ kind: "refused", retryAfterMs: 100 });
    world.nowMs += 50;
    const later = world.reserve(world.cell(0), limitsWith(caps), need(100));
    expect(world.calls).toEqual([]);
    expect(world.verdicts.get(later)).toMatchObject({ kind: "refused", retryAfterMs: 50 });
    expect(tryRequest(world, caps, 50).verdict?.kind).toBe("ok");
    world.nowMs += 100;
    expect(tryRequest(world, caps, 100).verdict?.kind).toBe("ok");
  });

  it("asks for a lease again soon after a refusal, so that tokens from another cell count", () => {
    const world = new BudgetSimulation(2);
    const caps = { tenantTokens: 100 };
    const elsewhere = world.reserve(world.cell(1), limitsWith(caps), need(100));
    world.deliver(world.nextCall());
    expect(tryRequest(world, caps, 10).verdict?.kind).toBe("refused");
    world.settle(world.cell(1), elsewhere, { tokens: 0, nanoUsd: 0 });
    world.calm(3_000);
    expect(tryRequest(world, caps, 10).verdict?.kind).toBe("ok");
  });

  it.each([
    [{ tokensPerMinute: 10, keyTokens: 0, tenantTokens: 0 }, "token_budget_exceeded"],
    [{ tokensPerMinute: 100, keyTokens: 0, tenantTokens: 0 }, "key_budget_exhausted"],
    [{ tokensPerMinute: 100, keyTokens: 50, tenantTokens: 0 }, "tenant_budget_exhausted"],
    [{ tenantTokens: 0 }, "tenant_budget_exhausted"],
  ])("refuses in the order of docs/rules/budgets.md#one-decision: %o", (caps, code) => {
    expect(tryRequest(new BudgetSimulation(1), caps, 20).verdict).toMatchObject({ kind: "refused", code });
  });

  it("sends a new lease request when limits have changed, so that a new cap binds at once", () => {
    const world = new BudgetSimulation(1);
    expect(tryRequest(world, { tokensPerMinute: 10_000 }, 10).verdict?.kind).toBe("ok");
    expect(tryRequest(world, { tokensPerMinute: 10_000, tenantTokens: 0, rev: 2 }, 10).verdict).toMatchObject({
      code: "tenant_budget_exhausted",
    });
    expect(tryRequest(world, { tokensPerMinute: 10_000, rev: 3 }, 10).verdict?.kind).toBe("ok");
  });
});

describe("a cell's budget", () => {
  it("includes in the level what it settled while a lease was on its way", () => {
    const world = new BudgetSimulation(1);
    const caps = { tokensPerMinute: 600 };
    const first = tryRequest(world, caps, 400);
    const second = world.reserve(world.cell(0), limitsWith(caps), need(120));
    const lease = world.nextCall();
    world.settle(world.cell(0), first.id, { tokens: 100, nanoUsd: 0 });
    world.deliver(lease);
    expect(world.verdicts.get(second)).toMatchObject({ kind: "ok", level: { remainingTokens: 380 } });
    expect(world.cell(0).budget.level(limitsWith(caps), world.nowMs)?.remainingTokens).toBe(380);
  });

  it("has no level if none was reported lately", () => {
    const world = new BudgetSimulation(2);
    const caps = { tokensPerMinute: 600 };
    tryRequest(world, caps, 300);
    world.calm(30_000);
    world.reserve(world.cell(1), limitsWith(caps), need(550));
    world.calm(1_000);
    expect(world.cell(0).budget.level(limitsWith(caps), world.nowMs)).toBeUndefined();
  });

  it("needs no lease without caps, and reports what was used", () => {
    const world = new BudgetSimulation(1);
    const { id, verdict } = tryRequest(world, {}, 50);
    expect(verdict).toEqual({ kind: "ok", level: null });
    const cell = world.cell(0);
    world.settle(cell, id, { tokens: 33, nanoUsd: 5 });
    expect(cell?.budget.nextWakeMs()).toBe(world.nowMs + 10_000);
    world.calm(10_500);
    expect(world.core.read("key", limitsWith({}), world.nowMs).account.usedTokens).toBe(33);
  });

  it("has a lease ready for a request that waits for its slot", () => {
    const world = new BudgetSimulation(1);
    const cell = world.cell(0);
    const limits = limitsWith({ tokensPerMinute: 1_000 });
    world.run(cell, cell.budget.expect({ requestId: "q", limits, need: need(10) }, world.nowMs));
    world.deliver(world.nextCall());
    expect(cell.budget.reserve({ requestId: "q", limits, need: need(10) }, world.nowMs)).toMatchObject([
      { type: "decided", verdict: { kind: "ok" } },
    ]);
  });

  it("fails waiting requests with the capped budget's code if the authority does not answer", () => {
    for (const [caps, code] of [
      [{ tokensPerMinute: 100, keyTokens: 5 }, "budget_check_failed"],
      [{ keyTokens: 5 }, "key_budget_check_failed"],
    ] as const) {
      const world = new BudgetSimulation(1);
      const cell = world.cell(0);
      const ids = [1, 2].map(() => world.reserve(cell, limitsWith(caps), need(1)));
      world.fail(world.nextCall());
      expect(ids.map((id) => world.verdicts.get(id))).toEqual([
        { kind: "unavailable", code, isAdmitted: false },
        { kind: "unavailable", code, isAdmitted: false },
      ]);
      cell.budget.admitUnchecked({ requestId: "open", limits: limitsWith(caps), need: NO_AMOUNTS }, world.nowMs);
      cell.budget.settle("open", { tokens: 40, nanoUsd: 0 }, world.nowMs);
      world.calm(2_000);
      expect(world.core.read("key", limitsWith(caps), world.nowMs).account.usedTokens).toBe(40);
    }
  });

  it("takes reservations over from its earlier life, without counting them twice", () => {
    const world = new BudgetSimulation(1);
    const caps = { tenantTokens: 1_000 };
    const { id } = tryRequest(world, caps, 100);
    world.calm(21_000);
    const cell = world.cell(0);
    world.crashCell(cell, true);
    world.calm(2_000);
    expect(world.core.read("tenant", limitsWith(caps), world.nowMs).reserved.termTokens).toBe(100);
    world.settle(cell, id, { tokens: 80, nanoUsd: 0 });
    world.calm(2_000);
    expect(world.core.read("tenant", limitsWith(caps), world.nowMs)).toMatchObject({
      account: { usedTokens: 80 },
      reserved: NO_AMOUNTS,
    });
  });
});

describe("limits of a tenant and of its key per minute", () => {
  const one = (tokens = 1) => ({ ...need(tokens), requests: 1 });
  const ask = (world: BudgetSimulation, caps: Caps, tokens = 1, cell = world.cell(0)) => {
    const id = world.reserve(cell, limitsWith(caps), one(tokens));
    while (world.calls.length > 0) world.deliver(world.nextCall());
    return { id, verdict: world.verdicts.get(id) };
  };

  it.each([
    ["the tenant", { requestsPerMinute: 3 }],
    ["the key", { keyRequestsPerMinute: 3 }],
    ["the key, below its tenant,", { requestsPerMinute: 100, keyRequestsPerMinute: 3 }],
  ])("let as many requests pass as %s may send, from two cells", (_who, caps) => {
    const world = new BudgetSimulation(2);
    const verdicts = [0, 1, 0, 1].map((cell) => ask(world, caps, 1, world.cell(cell)).verdict);
    expect(verdicts.map((verdict) => verdict?.kind)).toEqual(["ok", "ok", "ok", "refused"]);
    expect(verdicts[3]).toMatchObject({
      code: "request_rate_exceeded",
      retryAfterMs: 20_000,
      level: { limitTokens: 0, requests: { limitTokens: 3, remainingTokens: 0, resetMs: 60_000 } },
    });
    world.calm(20_000);
    expect(ask(world, caps).verdict?.kind).toBe("ok");
  });

  it("refuse by a key's tokens as by its tenant's, and leave other keys alone", () => {
    const world = new BudgetSimulation(1);
    const caps = { tokensPerMinute: 10_000, keyTokensPerMinute: 600 };
    expect(ask(world, caps, 500).verdict).toMatchObject({ level: { limitTokens: 600, remainingTokens: 100 } });
    expect(ask(world, caps, 130).verdict).toMatchObject({ code: "token_budget_exceeded", retryAfterMs: 3_000 });
    const { tenant, key } = limitsWith(caps);
    const other = world.reserve(world.cell(0), { tenant, key: { ...key, id: "key-2" } }, one(600));
    while (world.calls.length > 0) world.deliver(world.nextCall());
    expect(world.verdicts.get(other)?.kind).toBe("ok");
  });

  it("count no request that another limit refuses, or that leaves before it is decided", () => {
    const world = new BudgetSimulation(1);
    const caps = { requestsPerMinute: 2, tokensPerMinute: 100 };
    expect(ask(world, caps, 500).verdict).toMatchObject({ code: "token_budget_exceeded" });
    const cell = world.cell(0);
    const leaving = world.expect(cell, limitsWith(caps), one());
    while (world.calls.length > 0) world.deliver(world.nextCall());
    world.withdraw(cell, leaving);
    expect([1, 2, 3].map(() => ask(world, caps).verdict?.kind)).toEqual(["ok", "ok", "refused"]);
  });

  it("count a request once however it ends", () => {
    const world = new BudgetSimulation(1);
    const caps = { requestsPerMinute: 2 };
    const failed = ask(world, caps);
    world.settle(world.cell(0), failed.id, { tokens: 0, nanoUsd: 0 });
    const lost = ask(world, caps);
    world.loseSight(world.cell(0), lost.id);
    for (const adrift of world.adrift.values()) world.comeBack(adrift);
    world.settle(world.cell(0), lost.id, { tokens: 9, nanoUsd: 0 });
    expect(ask(world, caps).verdict?.kind).toBe("refused");
    world.calm(30_000);
    expect(ask(world, caps).verdict?.kind).toBe("ok");
    expect(ask(world, caps).verdict?.kind).toBe("refused");
  });

  it("count what was let through unchecked, as debt", () => {
    const world = new BudgetSimulation(1);
    const caps = { requestsPerMinute: 2 };
    const cell = world.cell(0);
    for (const id of ["a", "b", "c"]) {
      cell.budget.admitUnchecked({ requestId: id, limits: limitsWith(caps), need: ONE_REQUEST }, world.clockOf(cell));
      cell.budget.settle(id, { tokens: 1, nanoUsd: 0 }, world.clockOf(cell));
    }
    world.calm(1_000);
    expect(ask(world, caps).verdict).toMatchObject({ kind: "refused", code: "request_rate_exceeded" });
    const { levelTokens } = world.core.buckets(limitsWith(caps), world.coreMs).tenant.requests;
    expect(levelTokens).toBeGreaterThanOrEqual(-1);
    expect(levelTokens).toBeLessThanOrEqual(-1 + 2 / 60);
  });

  it("take what is out on lease already from a bucket that is new", () => {
    const world = new BudgetSimulation(2);
    const [first, second] = [world.cell(0), world.cell(1)];
    const before = { keyTokensPerMinute: 8_000 };
    const running = ask(world, before, 100, first);
    const after = { ...before, tokensPerMinute: 1_500, rev: 2 };
    const { tenant } = limitsWith(after);
    const plain = { tenant, key: { ...limitsWith({ rev: 2 }).key, id: "key-2" } };
    world.reserve(second, plain, need(1));
    while (world.calls.length > 0) world.deliver(world.nextCall());
    world.settle(first, running.id, { tokens: 100, nanoUsd: 0 });
    world.calm(6_000);
    const { levelTokens } = world.core.buckets(plain, world.coreMs).tenant.tokens;
    expect(levelTokens).toBeLessThanOrEqual(1_500 - 101 + 150);
  });
});

describe("a Cell and a budget object of two releases", () => {
  /** A message as a release says it that knows a tenant's tokens per minute alone. */
  const older = <T>(message: T): T =>
    JSON.parse(
      JSON.stringify(message, (name, value: unknown) =>
        ["requests", "requestsPerMinute", "buckets"].includes(name) ? undefined : value,
      ),
    ) as T;
  const caps = { tokensPerMinute: 600, requestsPerMinute: 1 };

  it.each(["Cell", "object"])("agree on tokens when the %s is the older one", (which) => {
    const world = new BudgetSimulation(1);
    const cell = world.cell(0);
    const [limits, requests] = which === "Cell" ? [older(limitsWith(caps)), {}] : [limitsWith(caps), { requests: 1 }];
    const ask = (tokens: number) => {
      const id = world.reserve(cell, limits, { ...need(tokens), ...requests });
      for (let asks = 0; world.calls.length > 0 && asks < 5; asks += 1) {
        const { body } = world.nextCall();
        if (body.kind !== "lease") continue;
        const { answer } = world.core.lease(older(body.request), world.coreMs);
        world.run(cell, cell.budget.answered(body.request, older(answer), world.nowMs));
      }
      return world.verdicts.get(id);
    };
    expect({ first: ask(300), second: ask(200), third: ask(200) }).toMatchObject({
      first: { kind: "ok", level: { limitTokens: 600, remainingTokens: 300 } },
      second: { kind: "ok" },
      third: { kind: "refused", code: "token_budget_exceeded", retryAfterMs: 10_000 },
    });
    expect({ faults: cell.budget.takeFaults(), alerts: world.alerts }).toEqual({ faults: [], alerts: [] });
  });
});
