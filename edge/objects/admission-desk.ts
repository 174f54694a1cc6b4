/**
 * The Cell's front desk: who holds a slot, who waits for a slot or for tokens, and what happens at the end of each. Slots
 * are the scheduler's decision, tokens the budget's; this file keeps the people they decide about. Invariant: every request
 * is in `#seats` from its arrival until its one settlement, and what it holds is given back in the same turn as the seat is
 * given up - before any await. A request that asks again (its first answer was lost) takes the place of its earlier seat,
 * whose permit then means nothing.
 */
import type { UsageRow } from "../../shared/usage-row.ts";
import type { Ask, BudgetRefusal, Decision, Settlement } from "../domain/ask.ts";
import { type Actual, nanoUsdOf } from "../domain/budget/amounts.ts";
import { type BudgetLimits, newerLimits } from "../domain/budget/limits.ts";
import type { BucketLevel } from "../domain/budget/token-bucket.ts";
import { orphanedSettlement, type SlotTaken, settledRow } from "../domain/cell/permit-end.ts";
import type { Arrival, Scheduler, SchedulerEvent } from "../domain/fairshare/types.ts";
import type { UpstreamOutcomes } from "../domain/upstream-outcomes.ts";

/** One arrival. Only the desk reads it; a permit just hands it back. */
export interface Seat {
  ask: Ask;
  readonly arrivedMs: number;
  /** Null while the scheduler has not granted one. */
  slot: SlotTaken | null;
  decision: Decision | null;
  /** The slot was lent to its isolate, and is lent again under this id when the request ends; null: it comes back. */
  lentId: string | null;
  /** An earlier permit of it was abandoned: there is a row already, and this is charged for it; null: no. */
  readonly charged: Actual | null;
  /** Its holder calls the upstream: a grant in the answer to the ask is used at once, a later one when the holder says so. */
  inUse: boolean;
  readonly waiters: { resolve(decision: Decision): void; reject(error: Error): void }[];
}

/** What the budgets say to a request whose turn has come. */
export type BudgetVerdict =
  | { readonly kind: "ok"; readonly level: BucketLevel | null }
  | { readonly kind: "refused"; readonly refusal: BudgetRefusal };

/** The budgets, as the desk sees them (design §7). Calls return at once; verdicts come by {@link AdmissionDesk.judged}. */
export interface BudgetGate {
  /** The request waits for a slot; its tokens may be fetched meanwhile. */
  expect(ask: Ask): void;
  /** The request has its slot: draw, all or nothing. The verdict may come before this returns. */
  reserve(ask: Ask): void;
  /** The request left before a verdict. */
  withdraw(ask: Ask): void;
  /** The request ended after it was let through. `goesOn`: its permit was lost, and it may be adopted by a later Cell. */
  settle(ask: Ask, used: Actual, goesOn?: boolean): void;
  /** The request was let through by an earlier life of this Cell. */
  adopt(ask: Ask): void;
  /** The request was settled when its permit was lost, and goes on: what it uses is charged at its end. */
  readmit(ask: Ask): void;
  /** The request draws on an allowance; without effect on a request that has drawn already. */
  carve(loanId: string, ask: Ask): void;
}

export interface DeskOptions {
  readonly cell: string;
  readonly scheduler: Scheduler;
  readonly budget: BudgetGate;
  readonly now: () => number;
  /** Takes a completed row on its way; resolves when it is durable. `orphan`: its Worker may have sent a row of its own. */
  readonly complete: (row: UsageRow, orphan: boolean, upstream?: UpstreamOutcomes) => Promise<void>;
  /** Told after every change of what is held or waits. */
  readonly changed: () => void;
}

/** Enough for all that a cell lets run at once. */
const ABANDONED_KEPT = 10_000;
const NOTHING_USED: Actual = { tokens: 0, nanoUsd: 0 };

export class AdmissionDesk {
  readonly #options: DeskOptions;
  readonly #seats = new Map<string, Seat>();
  readonly #events: SchedulerEvent[] = [];
  /** Requests that held a slot when their permit was lost, the latest. */
  readonly #abandoned = new Map<string, Actual>();
  #applying = false;

  constructor(options: DeskOptions) {
    this.#options = options;
  }

  /** Seats a request; its seat has a decision when one was made in this turn, else it waits. */
  arrive(ask: Ask): Seat {
    const seat = this.#take(ask, null);
    this.apply({ type: "arrive", arrival: arrivalOf(ask) });
    if (seat.slot === null) this.#options.budget.expect(ask);
    if (seat.decision?.verdict === "granted") seat.inUse = true;
    return seat;
  }

  /** Counts a slot that was in use before this Cell started. */
  adopt(ask: Ask): Seat {
    const held = this.#seats.get(ask.requestId);
    if (held?.decision?.verdict === "granted") return this.#reseat(held);
    const admission = ask.row.admission === "queued" ? "queued" : "fast";
    const slot = { admission, queueWaitMs: ask.row.queue_wait_ms } as const;
    const seat = this.#take(ask, slot);
    seat.decision = { verdict: "granted", grant: { ...slot, level: null } };
    seat.inUse = true;
    if (seat.charged !== null) this.#options.budget.readmit(ask);
    else this.#options.budget.adopt(ask);
    this.apply({ type: "adopt", arrival: arrivalOf(ask) });
    return seat;
  }

  /** A request took a lent slot and part of an allowance. False: it has a seat already; what it took is to come back. */
  occupy(lentId: string, loanId: string, ask: Ask): boolean {
    this.#options.budget.carve(loanId, ask);
    if (this.#seats.has(ask.requestId)) return false;
    const slot = { admission: "fast", queueWaitMs: 0 } as const;
    const seat = this.#take(ask, slot);
    seat.decision = { verdict: "granted", grant: { ...slot, level: null } };
    seat.inUse = true;
    seat.lentId = lentId;
    this.apply({ type: "occupy", lentId, arrival: arrivalOf(ask) });
    return true;
  }

  /** The end of a request that ran on a lent slot, or did so once. A row without a seat may have come before. */
  async endLent(requestId: string, settlement: Settlement, orphan: boolean): Promise<void> {
    const seat = this.#seats.get(requestId);
    if (seat !== undefined) await this.settle(seat, settlement, orphan || seat.charged !== null);
    else await this.#options.complete({ ...settlement.row, cell: this.#options.cell }, true, settlement.upstream);
  }

  /** The code of a request on a lent slot is gone. */
  abandonLent(requestId: string): void {
    const seat = this.#seats.get(requestId);
    if (seat !== undefined) this.abandon(seat);
  }

  /** Applies an event and asks the budgets of those whom it grants; a refusal frees its slot for the next in turn. */
  apply(event: SchedulerEvent): void {
    this.#events.push(event);
    if (this.#applying) return;
    this.#applying = true;
    try {
      for (let next = this.#events.shift(); next !== undefined; next = this.#events.shift()) {
        for (const { requestId, admission, queueWaitMs } of this.#options.scheduler.apply(next, this.#options.now())) {
          const seat = this.#seats.get(requestId);
          if (seat === undefined) continue;
          seat.slot = { admission, queueWaitMs: Math.round(queueWaitMs) };
          this.#options.budget.reserve(seat.ask);
        }
      }
    } finally {
      this.#applying = false;
    }
    this.#options.changed();
  }

  /** New limits of a tenant or key bind who waits for his slot already. */
  learn(news: Partial<BudgetLimits>): void {
    const { budget } = this.#options;
    for (const seat of this.#seats.values()) {
      const limits = newerLimits(seat.ask.limits, news);
      if (seat.slot !== null || limits === seat.ask.limits) continue;
      budget.withdraw(seat.ask);
      seat.ask = { ...seat.ask, limits };
      budget.expect(seat.ask);
    }
  }

  /** Takes the budgets' verdict on a request that holds its slot. One that left meanwhile is not told. */
  judged(requestId: string, verdict: BudgetVerdict): void {
    const seat = this.#seats.get(requestId);
    if (seat === undefined || seat.slot === null || seat.decision !== null) return;
    const decision: Decision =
      verdict.kind === "ok"
        ? { verdict: "granted", grant: { ...seat.slot, level: verdict.level } }
        : { verdict: "refused", refusal: verdict.refusal };
    seat.decision = decision;
    for (const waiter of seat.waiters.splice(0)) waiter.resolve(decision);
    if (decision.verdict === "refused") this.apply({ type: "release", requestId, actualTokens: 0 });
  }

  async decision(seat: Seat): Promise<Decision> {
    if (!this.#isSeated(seat)) throw new Error("the permit has ended");
    if (seat.decision !== null) return seat.decision;
    return await new Promise<Decision>((resolve, reject) => seat.waiters.push({ resolve, reject }));
  }

  inUse(seat: Seat): void {
    seat.inUse = true;
  }

  async settle(seat: Seat, settlement: Settlement, orphan = seat.charged !== null): Promise<void> {
    if (!this.#leave(seat, usedBy(settlement))) return;
    const queuedMs = Math.max(0, Math.round(this.#options.now() - seat.arrivedMs));
    const row = settledRow(settlement, seat.slot, this.#options.cell, queuedMs);
    await this.#options.complete(row, orphan, settlement.upstream);
  }

  abandon(seat: Seat): void {
    const nowMs = this.#options.now();
    const granted = seat.decision?.verdict === "granted";
    const state = { granted, upstreamCalled: seat.inUse, arrivedMs: seat.arrivedMs };
    const settlement = orphanedSettlement(seat.ask, state, nowMs);
    if (!this.#leave(seat, usedBy(settlement), true)) return;
    if (granted) this.#remember(seat.ask.requestId, larger(usedBy(settlement), seat.charged));
    const row = settledRow(settlement, seat.slot, this.#options.cell, Math.max(0, Math.round(nowMs - seat.arrivedMs)));
    // Whoever only waited has nothing to settle; whoever was told a decision may have handed its row in by another way.
    void this.#options.complete(row, seat.decision !== null).catch(() => undefined);
  }

  /** The request was settled by another way than its permit: what it held comes back, its permit writes no row. */
  settledElsewhere(row: UsageRow): void {
    const seat = this.#seats.get(row.request_id);
    if (seat !== undefined) this.#leave(seat, usedBy({ row, actualTokens: row.total_tokens }));
  }

  get seated(): number {
    return this.#seats.size;
  }

  #take(ask: Ask, slot: SlotTaken | null): Seat {
    const earlier = this.#seats.get(ask.requestId);
    if (earlier !== undefined) this.#leave(earlier, NOTHING_USED);
    const charged = this.#abandoned.get(ask.requestId) ?? null;
    this.#abandoned.delete(ask.requestId);
    const seat: Seat = {
      ask,
      arrivedMs: this.#options.now(),
      slot,
      decision: null,
      lentId: null,
      charged,
      inUse: false,
      waiters: [],
    };
    this.#seats.set(ask.requestId, seat);
    return seat;
  }

  /** A slot that was never lost goes on under a new permit; the earlier one means nothing any more. */
  #reseat(held: Seat): Seat {
    const seat: Seat = { ...held, lentId: null, inUse: true, waiters: [] };
    this.#seats.set(seat.ask.requestId, seat);
    return seat;
  }

  /** Whoever lost the way to this Cell, and not the request, may come back and adopt it. */
  #remember(requestId: string, charged: Actual): void {
    this.#abandoned.set(requestId, charged);
    if (this.#abandoned.size <= ABANDONED_KEPT) return;
    const [oldest] = this.#abandoned.keys();
    if (oldest !== undefined) this.#abandoned.delete(oldest);
  }

  #isSeated(seat: Seat): boolean {
    return this.#seats.get(seat.ask.requestId) === seat;
  }

  /** True for the one caller that ends the seat. */
  #leave(seat: Seat, used: Actual, goesOn = false): boolean {
    const { requestId } = seat.ask;
    if (!this.#isSeated(seat)) return false;
    this.#seats.delete(requestId);
    for (const waiter of seat.waiters.splice(0)) waiter.reject(new Error("the permit has ended"));
    const { budget } = this.#options;
    if (seat.decision === null) budget.withdraw(seat.ask);
    else if (seat.decision.verdict === "granted") budget.settle(seat.ask, beyond(used, seat.charged), goesOn);
    const { lentId } = seat;
    if (lentId !== null) this.apply({ type: "vacate", requestId, actualTokens: used.tokens, lentId });
    else if (seat.slot === null) this.apply({ type: "leave", requestId });
    else if (seat.decision?.verdict !== "refused")
      this.apply({ type: "release", requestId, actualTokens: used.tokens });
    else this.#options.changed();
    return true;
  }
}

function usedBy({ row, actualTokens }: Settlement): Actual {
  return { tokens: actualTokens, nanoUsd: nanoUsdOf(row.cost_usd) };
}

function larger(used: Actual, charged: Actual | null): Actual {
  if (charged === null) return used;
  return { tokens: Math.max(used.tokens, charged.tokens), nanoUsd: Math.max(used.nanoUsd, charged.nanoUsd) };
}

/** What is to be charged of what a request used, where its lost permit has been charged already. */
function beyond(used: Actual, charged: Actual | null): Actual {
  if (charged === null) return used;
  return {
    tokens: Math.max(0, used.tokens - charged.tokens),
    nanoUsd: Math.max(0, used.nanoUsd - charged.nanoUsd),
  };
}

function arrivalOf(ask: Ask): Arrival {
  const { requestId, tenant, group, model, costTokens } = ask;
  return { requestId, tenant, group, model, costTokens };
}
