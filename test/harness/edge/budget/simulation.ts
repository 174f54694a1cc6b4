/**
 * A small world for tests of the budgets: one authority with its disk, some cells with their budgets, a ledger, clocks that a test
 * sets, and calls between them that a test delivers, repeats, delays or loses. What really happened is kept by {@link RealUsage}.
 */
import {
  type ActualUsage,
  type Amounts,
  minus,
  NO_AMOUNTS,
  NOTHING_USED,
} from "../../../../edge/domain/budget/amounts.ts";
import { TenantBudgetAuthority } from "../../../../edge/domain/budget/authority/tenant-budget-authority.ts";
import type { BudgetLimits } from "../../../../edge/domain/budget/limits.ts";
import type { LeaseAnswer, ReportAnswer } from "../../../../edge/domain/budget/messages/rpc.ts";
import type { BudgetRequest } from "../../../../edge/domain/budget/spender/lease-waiters.ts";
import type { BudgetEffect, ReservationVerdict } from "../../../../edge/domain/budget/spender/verdict.ts";
import { addTotals, RealUsage, totalsOf } from "./real-usage.ts";
import { NOTHING_STORED, SimulatedDisk } from "./simulated-disk.ts";
import {
  budgetsIn,
  type LostRequest,
  newCell,
  type PendingCall,
  type SimulatedCell,
  type SimulatedRequest,
} from "./simulation-parts.ts";

/**
 * Months of 30 days, the same in every zone; the month of 1970 is in the middle of the numbers that month names can
 * express.
 */
export const thirtyDayMonthOf = (lifeMs: number): string => String(5_000 + Math.floor(lifeMs / (30 * 86_400_000)));

/** What a request needs that reserves nothing and counts as a request. */
export const ONE_REQUEST: Amounts = { ...NO_AMOUNTS, requests: 1 };

function budgetRequest({ id, limits, need }: SimulatedRequest): BudgetRequest {
  return { requestId: id, limits, need };
}

export class BudgetSimulation {
  nowMs = 1_000_000;
  /** How far the authority's clock is from the world's time. */
  skewMs = 0;
  core = new TenantBudgetAuthority(NOTHING_STORED, thirtyDayMonthOf, this.nowMs);
  readonly #newBudget = budgetsIn(thirtyDayMonthOf);
  readonly cells: SimulatedCell[];
  calls: PendingCall[] = [];
  readonly verdicts = new Map<string, ReservationVerdict>();
  readonly alerts: string[] = [];
  readonly truth = new RealUsage();
  readonly disk = new SimulatedDisk();
  readonly adrift = new Map<string, LostRequest>();
  /** Hears of every admission and every end. */
  watch: RequestWatch | null = null;
  /** How much time the authority's clock has shown to pass: only this can refill its bucket. */
  refilledMs = 0;
  #coreSeenMs = this.nowMs;
  #requests = 0;

  constructor(cells: number) {
    this.cells = Array.from({ length: cells }, (_, index) => newCell(`cell-${index}`, this.#newBudget));
  }

  cell(index: number): SimulatedCell {
    const cell = this.cells[index % this.cells.length];
    if (cell === undefined) throw new Error("a world without cells");
    return cell;
  }

  /** Takes the oldest call off the wire. */
  nextCall(): PendingCall {
    const call = this.calls.shift();
    if (call === undefined) throw new Error("nothing was said");
    return call;
  }

  get coreMs(): number {
    const clockMs = this.nowMs + this.skewMs;
    this.refilledMs += Math.max(0, clockMs - this.#coreSeenMs);
    this.#coreSeenMs = clockMs;
    return clockMs;
  }

  clockOf(cell: SimulatedCell): number {
    return this.nowMs + cell.skewMs;
  }

  /** Sum of what live requests hold, those of dead cells included. */
  get drawn() {
    const live = this.cells.flatMap((cell) => [...cell.live.values()]);
    return live
      .filter(({ charged }) => charged === undefined)
      .reduce((sum, { need }) => addTotals(sum, totalsOf(need)), this.truth.orphans);
  }

  #request(limits: BudgetLimits, need: Amounts): SimulatedRequest {
    this.truth.asked(need);
    this.#requests += 1;
    return { id: `r${this.#requests}`, limits, need };
  }

  /** A request that waits for its slot. */
  expect(cell: SimulatedCell, limits: BudgetLimits, need: Amounts): string {
    const live = this.#request(limits, need);
    cell.expected.set(live.id, live);
    this.run(cell, cell.budget.expect(budgetRequest(live), this.clockOf(cell)));
    return live.id;
  }

  /** A request gets its slot, or it is a request that gets one at once. */
  reserve(cell: SimulatedCell, limits: BudgetLimits, need: Amounts, expected?: SimulatedRequest): string {
    const live = expected ?? this.#request(limits, need);
    cell.expected.delete(live.id);
    cell.waiting.set(live.id, live);
    this.run(cell, cell.budget.reserve(budgetRequest(live), this.clockOf(cell)));
    return live.id;
  }

  /** A request leaves before it has drawn. */
  withdraw(cell: SimulatedCell, id: string): void {
    cell.expected.delete(id);
    cell.waiting.delete(id);
    this.run(cell, cell.budget.withdraw(id, this.clockOf(cell)));
  }

  settle(cell: SimulatedCell, id: string, used: ActualUsage): void {
    const live = cell.live.get(id);
    if (live === undefined) return;
    cell.live.delete(id);
    const before = live.charged ?? NOTHING_USED;
    this.watch?.ended(cell, live, used);
    const reported = live.sameLife === true ? minus(used, before) : used;
    cell.budget.settle(id, reported, this.clockOf(cell));
    cell.budget.settle(id, reported, this.clockOf(cell));
    this.truth.ended(live.need, used, before);
    this.run(cell, cell.budget.tick(this.clockOf(cell)));
  }

  /** Usage without a reservation. */
  charge(cell: SimulatedCell, limits: BudgetLimits, used: ActualUsage): void {
    const request = this.#request(limits, NO_AMOUNTS);
    const { id } = request;
    this.watch?.ended(cell, request, used);
    cell.budget.admitUnchecked({ requestId: id, limits, need: ONE_REQUEST }, this.clockOf(cell));
    cell.budget.settle(id, used, this.clockOf(cell));
    this.truth.ended(NO_AMOUNTS, used, NOTHING_USED);
  }

  /** A Cell loses contact with a request, and settles it by what it had drawn. */
  loseSight(cell: SimulatedCell, id: string): void {
    const live = cell.live.get(id);
    if (live === undefined) return;
    cell.live.delete(id);
    const used = { tokens: live.need.termTokens, nanoUsd: live.need.nanoUsd };
    const before = live.charged ?? NOTHING_USED;
    cell.budget.settle(id, live.sameLife === true ? minus(used, before) : used, this.clockOf(cell), true);
    this.truth.ended(live.need, used, before);
    this.adrift.set(id, { live: { ...live, charged: used }, cell, life: cell.life });
  }

  /** It comes back to its cell, which may be another life of it by now. */
  comeBack({ live, cell, life }: LostRequest): void {
    const { id } = live;
    this.adrift.delete(id);
    const sameLife = life === cell.life;
    if (sameLife) cell.budget.readmit(budgetRequest(live), this.clockOf(cell));
    else cell.budget.adopt(budgetRequest(live), this.clockOf(cell));
    cell.live.set(id, { ...live, sameLife });
  }

  advance(ms: number): void {
    this.nowMs += ms;
    this.core.tick(this.coreMs);
    this.#deliverAlerts();
    for (const cell of this.cells) this.run(cell, cell.budget.tick(this.clockOf(cell)));
  }

  run(cell: SimulatedCell, effects: readonly BudgetEffect[]): void {
    for (const effect of effects) {
      const { budget } = cell;
      if (effect.type === "ask") {
        this.calls.push({ cell, budget, body: { kind: "lease", request: effect.request }, open: true });
      } else if (effect.type === "report") {
        this.calls.push({ cell, budget, body: { kind: "report", report: effect.report }, open: true });
      } else {
        this.#decided(cell, effect.requestId, effect.verdict);
      }
    }
  }

  /** The authority sees a call. A lease it denies must leave everything as it was. */
  process(call: PendingCall): LeaseAnswer | ReportAnswer {
    if (call.body.kind === "report") {
      const answer = this.core.report(call.body.report, this.coreMs);
      this.#deliverAlerts();
      return answer;
    }
    const { request } = call.body;
    this.core.report(request.report, this.coreMs);
    const before = this.facts(request.limits);
    const { answer, grants } = this.core.lease(request, this.coreMs);
    if (grants !== null) this.disk.putGrants(grants);
    this.#deliverAlerts();
    if (answer.verdict.kind !== "granted" && this.facts(request.limits) !== before)
      throw new Error("a denial changed something");
    return answer;
  }

  #deliverAlerts(): void {
    const alerts = this.core.undelivered;
    this.alerts.push(...alerts.map(({ id }) => id));
    this.core.delivered(alerts);
  }

  facts(limits: BudgetLimits): string {
    const { core, coreMs } = this;
    return JSON.stringify([
      core.read("tenant", limits, coreMs),
      core.read("key", limits, coreMs),
      core.buckets(limits, coreMs),
    ]);
  }

  /** The caller gets the answer; the call may still be repeated to the authority. */
  deliver(call: PendingCall): void {
    const answer = this.process(call);
    if (!call.open) return;
    call.open = false;
    const { body, budget, cell } = call;
    if (budget !== cell.budget) return;
    const effects =
      body.kind === "lease"
        ? budget.answered(body.request, answer as LeaseAnswer, this.clockOf(cell))
        : budget.reported(body.report, answer as ReportAnswer, this.clockOf(cell));
    this.run(cell, effects);
  }

  /** The caller gives up; the authority may or may not see the call, now or later. */
  fail(call: PendingCall): void {
    if (!call.open) return;
    call.open = false;
    const { body, budget, cell } = call;
    if (budget !== cell.budget) return;
    const nowMs = this.clockOf(cell);
    const { kind } = body;
    this.run(
      cell,
      kind === "lease" ? budget.answered(body.request, null, nowMs) : budget.reported(body.report, null, nowMs),
    );
  }

  checkpoint(): void {
    this.disk.putCheckpoint(this.core.checkpoint());
  }

  crashAuthority(): void {
    this.core = new TenantBudgetAuthority(this.disk.load().state, thirtyDayMonthOf, this.coreMs);
  }

  /**
   * A Cell dies with its budgets. Its requests continue in its next life, or end without a report: only the ledger has
   * them.
   */
  crashCell(cell: SimulatedCell, adopts: boolean): void {
    cell.life += 1;
    cell.budget = this.#newBudget(cell.name, cell.life);
    cell.waiting.clear();
    cell.expected.clear();
    const lives = [...cell.live.values()];
    cell.live.clear();
    for (const live of lives) {
      if (adopts) {
        cell.live.set(live.id, { ...live, sameLife: false });
        cell.budget.adopt(budgetRequest(live), this.clockOf(cell));
      } else if (live.charged === undefined) this.truth.spentUnheard(live.need);
    }
  }

  /** The authority asks the ledger about all counters that await it. */
  askLedger(limits: BudgetLimits): void {
    if (this.core.countersAwaitingLedger(this.coreMs).length === 0) return;
    for (const whose of ["tenant", "key"] as const) {
      const { account } = this.core.read(whose, limits, this.coreMs);
      this.core.applyLedgerSum(whose, limits, account.tag, this.truth.ledgerSum, this.coreMs);
    }
    this.core.ledgerSettled();
  }

  /** Delivers everything in order and lets time pass, until nothing more is sent. */
  calm(ms: number): void {
    const until = this.nowMs + ms;
    while (this.nowMs < until) {
      while (this.calls.length > 0) this.deliver(this.nextCall());
      this.advance(250);
    }
  }

  #decided(cell: SimulatedCell, id: string, verdict: ReservationVerdict): void {
    const waiting = cell.waiting.get(id);
    if (waiting === undefined) throw new Error(`${id} was decided twice`);
    cell.waiting.delete(id);
    this.verdicts.set(id, verdict);
    if (verdict.kind !== "ok") return;
    cell.live.set(id, waiting);
    this.truth.admitted += waiting.need.requests ?? 0;
    this.watch?.admitted(cell, waiting);
  }
}

export interface RequestWatch {
  /** A request has drawn its need. */
  admitted(cell: SimulatedCell, request: SimulatedRequest): void;
  /** It ended, and used this much in all. */
  ended(cell: SimulatedCell, request: SimulatedRequest, used: ActualUsage): void;
}

export interface Caps {
  readonly tokensPerMinute?: number;
  readonly requestsPerMinute?: number;
  readonly keyTokensPerMinute?: number;
  readonly keyRequestsPerMinute?: number;
  readonly tenantTokens?: number | null;
  readonly tenantNanoUsd?: number | null;
  readonly keyTokens?: number | null;
  readonly keyNanoUsd?: number | null;
  readonly rev?: number;
}

export function limitsWith(caps: Caps): BudgetLimits {
  const rev = caps.rev ?? 1;
  const term = { period: null, startedAtMs: null } as const;
  return {
    tenant: {
      id: "tenant-1",
      name: "Acme",
      rev,
      timezone: "UTC",
      tokensPerMinute: caps.tokensPerMinute ?? 0,
      requestsPerMinute: caps.requestsPerMinute ?? 0,
      term: { ...term, tokens: caps.tenantTokens ?? null, nanoUsd: caps.tenantNanoUsd ?? null },
    },
    key: {
      id: "key-1",
      label: "main",
      rev,
      tokensPerMinute: caps.keyTokensPerMinute ?? 0,
      requestsPerMinute: caps.keyRequestsPerMinute ?? 0,
      term: { ...term, tokens: caps.keyTokens ?? null, nanoUsd: caps.keyNanoUsd ?? null },
    },
  };
}
