/**
 * A Cell's side of one tenant's budgets: its pools of leases, the reservations that live requests drew from them, and what it
 * has not reported yet. It decides only by what it has leased; the authority is TenantBudgetAuthority. Pure: it returns the
 * messages to send as effects; the Cell sends them and passes the answers back.
 *
 * How a Cell uses it (one per tenant id; drop it when {@link CellBudget.idle}):
 * 1. The scheduler queued the request: `expect`, so that a lease is there when the slot is.
 * 2. The scheduler granted the slot: `reserve`. The slot is taken until its `decided` effect comes, at once or later. ok:
 * continue. Otherwise return the slot, undo the charge, and answer `code`.
 * 3. The request left before the verdict: `withdraw`. It ended: `settle` with its use; zero is a full refund.
 * 4. A request continues that an earlier life of the Cell had admitted: `adopt`. A request was lost: `settle` with `goesOn`,
 * and `readmit` when it comes back.
 * 5. Effect `ask`: call TenantBudget.lease, then `answered`. Effect `report`: call TenantBudget.report, then `reported`. Keep one
 * timer at {@link CellBudget.nextWakeMs} and call `tick`.
 * 6. After every call: report the faults that {@link CellBudget.takeFaults} returns.
 *
 * `nowMs` is the reading of the Cell's clock. It decides period tags. Durations are measured by MonotonicClock, so that setting
 * the clock does not change them. A number that is not an amount (docs/rules/budgets.md#amounts) is refused where it enters: it
 * is never held, reported or compared.
 */

import { IndexedHeap } from "../../../../shared/fairshare/indexed-heap.ts";
import { isAmount } from "../../../../shared/money/amount.ts";
import { type ActualUsage, AMOUNTS, type Amounts, countsIn, NO_AMOUNTS, NOTHING_USED, USED } from "../amounts.ts";
import { type BudgetLimits, countedBy, LIMITS, needsLease, poolOf, unavailableCode } from "../limits.ts";
import {
  type BudgetReport,
  isLeaseAnswer,
  type LeaseAnswer,
  type LeaseRequest,
  REPORT_ANSWER,
  type ReportAnswer,
} from "../messages/rpc.ts";
import { MonotonicClock } from "../monotonic-clock.ts";
import { faultIn, isOf, record } from "../shapes.ts";
import { type MonthOf, tagsOf } from "../term-budget.ts";
import { type BucketLevel, retryAfterMs } from "../token-bucket.ts";
import { Charges, type Reservation } from "./charges.ts";
import { KnownBuckets } from "./known-buckets.ts";
import { LeasePool } from "./lease-pool.ts";
import { type LeaseHolder, LeaseReports } from "./lease-reports.ts";
import { type BudgetRequest, type LeaseOutcome, type LeaseWaiter, TypicalUse } from "./lease-waiters.ts";
import { type AmountFault, type BudgetEffect, isRateRefusal, type ReservationVerdict, refusalCode } from "./verdict.ts";

/** The values of a counted request that must be valid. */
const ASKED = record({ need: AMOUNTS, limits: LIMITS });

const INVALID: ReservationVerdict = { kind: "invalid", code: "budget_check_failed" };

interface CellBudgetOptions {
  readonly monthOf: MonthOf;
  /** Requests continue unchecked while the authority does not answer (GATEWAY_FAIL_OPEN). */
  readonly failOpen: boolean;
}

export class CellBudget {
  readonly #reports: LeaseReports;
  /** Those that have something to do, and the same by when that is due. */
  readonly #pools = new Map<string | null, LeasePool>();
  readonly #due = new IndexedHeap<LeasePool>((a, b) => (a.endsAtMs < b.endsAtMs ? -1 : 1));
  /** Pools with a change that has not been acted upon yet. */
  readonly #stirred = new Set<LeasePool>();
  /** By id of a request: where it waits, or is expected. */
  readonly #waitsIn = new Map<string, LeasePool>();
  /** Of all pools, because a pool lives only as long as it has something to do. */
  readonly #typical = new TypicalUse();
  readonly #buckets: KnownBuckets;
  readonly #charges: Charges;
  readonly #reservations = new Map<string, Reservation>();
  readonly #time = new MonotonicClock();
  readonly #monthOf: MonthOf;
  readonly #failOpen: boolean;
  /** The newest revision of the tenant whose limits a request came with. */
  #tenantRev = 0;
  #faults: AmountFault[] = [];

  constructor(holder: LeaseHolder, { monthOf, failOpen }: CellBudgetOptions) {
    this.#reports = new LeaseReports(holder);
    this.#buckets = new KnownBuckets(this.#reports.gains, this.#reports.free);
    this.#charges = new Charges(this.#reports, this.#typical, this.#pools);
    this.#monthOf = monthOf;
    this.#failOpen = failOpen;
  }

  /** True when nothing is held, no request waits, and everything has been reported and stored. */
  get idle(): boolean {
    return this.#reservations.size === 0 && this.#reports.empty && this.#pools.size === 0;
  }

  /** Since when settlements cannot be delivered, and for how long (docs/rules/budgets.md#unreachable). */
  undelivered(nowMs: number): { readonly outage: number; readonly forMs: number } | null {
    const sinceMs = this.#reports.failingSinceMs;
    return sinceMs === null ? null : { outage: sinceMs, forMs: this.#time.at(nowMs) - sinceMs };
  }

  /** Faults since the last call: refused because a number in them was not an amount. */
  takeFaults(): readonly AmountFault[] {
    const faults = this.#faults;
    if (faults.length > 0) this.#faults = [];
    return faults;
  }

  /** Notes a request that waits for its slot. Decides nothing. */
  expect(request: BudgetRequest, nowMs: number): readonly BudgetEffect[] {
    const { limits } = request;
    // A fault is refused later, when the request reserves.
    if (faultIn(ASKED, request) !== null || !needsLease(limits)) return [];
    const atMs = this.#time.at(nowMs);
    const pool = this.#enter(request, atMs);
    pool.waiting.expect(this.#waiter(request, nowMs));
    return this.#pump(pool, atMs);
  }

  /** Draws for a request that has its slot: from all buckets and budgets at once, or from none of them. */
  reserve(request: BudgetRequest, nowMs: number): readonly BudgetEffect[] {
    const { requestId, limits } = request;
    this.#forget(requestId);
    if (this.#isFault(faultIn(ASKED, request), "the request is rejected")) {
      return [{ type: "decided", requestId, verdict: INVALID }];
    }
    const waiter = this.#waiter(request, nowMs);
    if (!needsLease(limits)) {
      this.#hold(waiter, null);
      return [{ type: "decided", requestId, verdict: { kind: "ok", level: null } }];
    }
    const atMs = this.#time.at(nowMs);
    const pool = this.#enter(request, atMs);
    pool.waiting.wait(waiter);
    const effects = this.#pump(pool, atMs);
    const renewal = pool.renewal(waiter, atMs);
    return renewal === null ? effects : [...effects, this.#ask(renewal)];
  }

  /** Ends a request that no longer wants what it expected, waits for, or has drawn. */
  withdraw(requestId: string, nowMs: number): readonly BudgetEffect[] {
    this.#forget(requestId);
    this.settle(requestId, NOTHING_USED, nowMs);
    return this.tick(nowMs);
  }

  /** Admits a request without a check: nothing is reserved, and its use is charged when it ends, at the amount it counts as. */
  admitUnchecked(request: BudgetRequest, nowMs: number): void {
    if (this.#isFault(faultIn(LIMITS, request.limits, "limits"), "what the request uses is not charged")) return;
    const isCounted = !this.#isFault(faultIn(ASKED, request), "it counts as no request");
    this.#holdUnchecked(this.#waiter(isCounted ? request : { ...request, need: NO_AMOUNTS }, nowMs));
  }

  /** Takes back a request that was settled in this life: when it ends, it is charged for its use since then. */
  readmit(request: BudgetRequest, nowMs: number): void {
    if (this.#isFault(faultIn(LIMITS, request.limits, "limits"), "what the request uses is not charged")) return;
    this.#hold(this.#waiter({ ...request, need: NO_AMOUNTS }, nowMs), null, "readmitted");
  }

  adopt(request: BudgetRequest, nowMs: number): void {
    if (this.#isFault(faultIn(ASKED, request), "nothing is reserved for the request that continues")) {
      this.admitUnchecked({ ...request, need: NO_AMOUNTS }, nowMs);
      return;
    }
    const waiter = this.#waiter(request, nowMs);
    const lease = needsLease(request.limits) ? this.#charges.adopt(waiter, this.#time.at(nowMs)) : null;
    this.#hold(waiter, lease, "adopted");
  }

  /**
   * Ends a reservation with its use; only the first call counts. `goesOn`: the Cell lost contact with the request, which may
   * still run. It may come back (`readmit`) or be adopted by a later life; then it is charged only for what it used beyond
   * this.
   */
  settle(requestId: string, used: ActualUsage, nowMs: number, goesOn = false): void {
    const reservation = this.#reservations.get(requestId);
    if (reservation === undefined) return;
    this.#reservations.delete(requestId);
    const fault = this.#isFault(faultIn(USED, used, "used"), "the request is charged as reserved");
    const { lease, waiter } = reservation;
    const charged = fault ? usedOrReserved(used, lease === null ? NO_AMOUNTS : waiter.need) : used;
    this.#charges.end(reservation, { ...countsIn(waiter.need), ...charged }, goesOn, this.#time.at(nowMs));
    const pool = this.#pools.get(poolOf(waiter.limits));
    if (pool !== undefined) this.#stir(pool);
  }

  /** Takes the answer to a lease request. Null: none came in time; an invalid answer counts as none. */
  answered(request: LeaseRequest, answer: LeaseAnswer | null, nowMs: number): readonly BudgetEffect[] {
    const atMs = this.#time.at(nowMs);
    const heard = answer !== null && isLeaseAnswer(answer, request) ? answer : null;
    if (heard !== answer) this.#isFault("the budget object's answer to an ask", "it counts as no answer");
    if (heard?.verdict.kind === "invalid")
      this.#isFault(`${heard.verdict.field} of an ask`, "the requests that wait are rejected");
    if (heard !== null) this.#buckets.answered(request, heard, atMs);
    this.#reports.answered(request.report, heard?.report ?? null, atMs);
    const pool = this.#pool(request.pool);
    const decided = this.#decided(pool.answered(request.n, heard, atMs), atMs);
    return [...decided, ...this.#pump(pool, atMs), ...this.tick(nowMs)];
  }

  /** Takes the answer to a report, as {@link answered} does. */
  reported(report: BudgetReport, answer: ReportAnswer | null, nowMs: number): readonly BudgetEffect[] {
    const heard = answer !== null && isOf(REPORT_ANSWER, answer) ? answer : null;
    if (heard !== answer) this.#isFault("the budget object's answer to a report", "it counts as no answer");
    this.#reports.isReporting = false;
    this.#reports.answered(report, heard, this.#time.at(nowMs));
    return this.tick(nowMs);
  }

  /** Returns what has ended, and reports what is due. */
  tick(nowMs: number): readonly BudgetEffect[] {
    const atMs = this.#time.at(nowMs);
    const effects: BudgetEffect[] = [];
    for (const pool of this.#stirred) effects.push(...this.#pump(pool, atMs));
    for (let pool = this.#due.peek(); pool !== undefined && pool.endsAtMs <= atMs; pool = this.#due.peek()) {
      pool.expire(atMs);
      effects.push(...this.#pump(pool, atMs));
    }
    if ((this.#reports.nextMs() ?? Infinity) > atMs) return effects;
    this.#reports.isReporting = true;
    return [...effects, { type: "report", report: this.#reports.report(atMs) }];
  }

  /** Returns the rest of every lease, and what to report before the process stops, whatever is under way; null: nothing. */
  rest(nowMs: number): BudgetReport | null {
    const atMs = this.#time.at(nowMs);
    for (const pool of this.#pools.values()) {
      pool.giveBack(atMs);
      this.#stir(pool);
    }
    return this.#reports.empty ? null : this.#reports.report(atMs);
  }

  /** When to call {@link tick} next, by the last reading of the Cell's clock; null: not before something happens. */
  nextWakeMs(): number | null {
    const nextMs = Math.min(this.#reports.nextMs() ?? Infinity, this.#due.peek()?.endsAtMs ?? Infinity);
    return nextMs === Infinity ? null : this.#time.clockAt(nextMs);
  }

  /**
   * The authority's level plus what is free here (docs/rules/budgets.md#leases). Undefined: not known here; call
   * TenantBudget.level.
   */
  level(limits: BudgetLimits, nowMs: number): BucketLevel | null | undefined {
    return this.#buckets.level(limits, this.#time.at(nowMs));
  }

  /** The pool in which a request waits from now on: its limits may have changed since it was expected, and with them its pool. */
  #enter({ requestId, limits }: BudgetRequest, atMs: number): LeasePool {
    this.#forget(requestId);
    if (limits.tenant.rev > this.#tenantRev) {
      this.#tenantRev = limits.tenant.rev;
      for (const pool of this.#pools.values()) {
        pool.giveBackOlder(limits, atMs);
        this.#stir(pool);
      }
    }
    const pool = this.#pool(poolOf(limits));
    this.#waitsIn.set(requestId, pool);
    return pool;
  }

  #forget(requestId: string): void {
    const pool = this.#waitsIn.get(requestId);
    if (pool === undefined) return;
    pool.waiting.forget(requestId);
    this.#waitsIn.delete(requestId);
    this.#stir(pool);
  }

  /** A request in the periods of the clock's `nowMs`. */
  #waiter({ requestId, limits, need }: BudgetRequest, nowMs: number): LeaseWaiter {
    return { requestId, limits, tags: tagsOf(limits, nowMs, this.#monthOf), need: countedBy(limits, need) };
  }

  /** Notes that a request holds its need of a lease. Without a lease it holds nothing and is only charged when it ends. */
  #hold(waiter: LeaseWaiter, lease: Reservation["lease"], origin: Reservation["origin"] = "drawn"): void {
    this.#reservations.set(waiter.requestId, { waiter, lease, origin });
  }

  #holdUnchecked(waiter: LeaseWaiter): void {
    this.#hold({ ...waiter, need: { ...NO_AMOUNTS, ...countsIn(waiter.need) } }, null);
  }

  #pool(id: string | null): LeasePool {
    const known = this.#pools.get(id);
    if (known !== undefined) return known;
    const pool = new LeasePool(id, this.#typical, this.#reports);
    this.#pools.set(id, pool);
    return pool;
  }

  /** Puts a pool in its place by when it is due, or forgets it when it has nothing to do. */
  #keep(pool: LeasePool): void {
    if (!pool.idle) {
      this.#due.put(pool);
      return;
    }
    this.#pools.delete(pool.id);
    this.#due.remove(pool);
    this.#stirred.delete(pool);
    this.#buckets.forget(pool.id);
  }

  #stir(pool: LeasePool): void {
    this.#stirred.add(pool);
    this.#keep(pool);
  }

  #ask(request: LeaseRequest): BudgetEffect {
    this.#buckets.asked(request);
    return { type: "ask", request };
  }

  #pump(pool: LeasePool, atMs: number): readonly BudgetEffect[] {
    const served = pool.serve(atMs, () => this.#buckets.of(pool.id, atMs));
    const decided = this.#decided(served, atMs);
    const request = pool.nextAsk(atMs);
    this.#stirred.delete(pool);
    this.#keep(pool);
    return request === null ? decided : [...decided, this.#ask(request)];
  }

  #decided(outcomes: readonly LeaseOutcome[], atMs: number): readonly BudgetEffect[] {
    return outcomes.map((outcome) => {
      const { waiter } = outcome;
      this.#waitsIn.delete(waiter.requestId);
      if (outcome.kind === "drawn") this.#hold(waiter, outcome.lease);
      if (outcome.kind === "unavailable" && this.#failOpen) this.#holdUnchecked(waiter);
      return { type: "decided", requestId: waiter.requestId, verdict: this.#verdict(outcome, atMs) };
    });
  }

  #verdict(outcome: LeaseOutcome, atMs: number): ReservationVerdict {
    const { limits, need } = outcome.waiter;
    const level = this.#buckets.level(limits, atMs) ?? null;
    switch (outcome.kind) {
      case "drawn":
        return { kind: "ok", level };
      case "refused": {
        const { reason } = outcome;
        const buckets = isRateRefusal(reason) ? this.#buckets.of(poolOf(limits), atMs, limits) : null;
        const waitMs = buckets === null ? null : retryAfterMs(buckets, need);
        return { kind: "refused", code: refusalCode(reason), retryAfterMs: waitMs, level };
      }
      case "unavailable":
        return { kind: "unavailable", code: unavailableCode(limits), isAdmitted: this.#failOpen };
      case "invalid":
        return INVALID;
      default:
        return outcome satisfies never;
    }
  }

  /** Records a fault; false if there is none. */
  #isFault(field: string | null, consequence: string): boolean {
    if (field !== null) this.#faults.push({ field, consequence });
    return field !== null;
  }
}

/** The charge of a request whose end contains a number that is not an amount: for that number, what was reserved. */
function usedOrReserved({ tokens, nanoUsd }: ActualUsage, drawn: Amounts): ActualUsage {
  return {
    tokens: isAmount(tokens) ? tokens : drawn.termTokens,
    nanoUsd: isAmount(nanoUsd) ? nanoUsd : drawn.nanoUsd,
  };
}
