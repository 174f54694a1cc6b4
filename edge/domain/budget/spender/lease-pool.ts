/**
 * What one Cell may spend of a tenant's budget, or of a key's own: one lease at a time, already debited at the authority, and
 * the requests that wait for more. One lease request is under way at a time. Waiting requests are served in order. A lease
 * request for a waiting request first returns what is left, so the authority decides as if each request had asked it. Requests
 * right after a refusal or an unanswered lease request are the exception. Times are of the Cell's MonotonicClock.
 * Invariants: every leased amount is either free, drawn or returned, never two of these. If a request used more than it had
 * drawn, the excess is returned from the free amount in the same turn; a request starts only when the authority knows of the
 * rest (docs/rules/budgets.md#use-above-the-estimate). When nothing is free, the authority's answer decides its request, unless
 * the request's limits have changed since. So the number of lease requests is bounded by the number of requests and by time.
 */
import { type Amounts, covers, isNothing, minus, NO_AMOUNTS, plus, times } from "../amounts.ts";
import { type BudgetLimits, isNewerFor } from "../limits.ts";
import {
  type BindingLimit,
  bucketsOf,
  grantOf,
  LEASE_MAX_MS,
  type LeaseAnswer,
  type LeaseRequest,
  type LeaseVerdict,
} from "../messages/rpc.ts";
import type { OwnedBuckets } from "../token-bucket.ts";
import { type HeldLease, type LeaseReports, reportDueMs } from "./lease-reports.ts";
import {
  type GiveUpReason,
  type LeaseOutcome,
  type LeaseWaiter,
  LeaseWaiters,
  type TypicalUse,
} from "./lease-waiters.ts";

interface Asked {
  readonly lease: HeldLease;
  /** The request that the lease request is for. */
  readonly head: string;
  readonly limits: BudgetLimits;
  readonly need: Amounts;
  readonly sentAtMs: number;
  /** Nothing was free when it was sent: a refusal is final. */
  readonly empty: boolean;
  /** No request waited for it. */
  readonly ahead: boolean;
  /** The newest change that its report contains. */
  readonly reportedN: number;
  /** Use of requests beyond their draw and the free amount since the lease request, which does not include it. */
  overdrawn: Amounts;
}

interface Current {
  readonly lease: HeldLease;
  readonly grant: Amounts;
  readonly limits: BudgetLimits;
  readonly untilMs: number;
}

/**
 * The answer for requests that come next, without another lease request. A refusal is dropped when this Cell gives
 * something back.
 */
type Standing = { readonly untilMs: number } & (
  | {
      readonly kind: "refused";
      readonly reason: BindingLimit;
      readonly limits: BudgetLimits;
      readonly reportedN: number;
    }
  | { readonly kind: GiveUpReason }
);

/** The pool stops spending this long before a lease ends. */
const MARGIN_MS = 250;
/** A lease is returned when no request has drawn from it for this long. */
const IDLE_MS = 5_000;
/** The next lease is requested this long before the end of an ample one, or when this part of it is left. */
const RENEW_AHEAD_MS = 2_000;
const RENEW_PART = 1 / 4;
/**
 * A refusal, or an unanswered lease request, decides later requests for this long. Otherwise each request of a long queue
 * would hold a slot for a round trip or a deadline, and a tenant without budget would keep slots from tenants with one. It
 * is no longer than another Cell's return may be under way.
 */
const STANDS_MS = 250;
/** After an answer that brought nothing, and after an unused lease, no lease is requested in advance for this long. */
const RETRY_PREFETCH_MS = 1_000;
const UNUSED_MS = 250;

export class LeasePool {
  readonly id: string | null;
  readonly waiting: LeaseWaiters;
  readonly #reports: LeaseReports;
  #free: Amounts = NO_AMOUNTS;
  #current: Current | null = null;
  /** Whether a request drew since the last lease came, and when the last one drew or the lease came. */
  #used = false;
  #drawnAtMs = 0;
  #asked: Asked | null = null;
  #standing: Standing | null = null;
  #prefetchFromMs = Number.NEGATIVE_INFINITY;

  constructor(id: string | null, typical: TypicalUse, reports: LeaseReports) {
    this.id = id;
    this.waiting = new LeaseWaiters(id, typical);
    this.#reports = reports;
  }

  get idle(): boolean {
    return this.#current === null && this.#asked === null && this.#standing === null && this.waiting.empty;
  }

  /** When to call {@link expire}; Infinity: not before something happens. */
  get endsAtMs(): number {
    if (this.#current === null) return this.#standing?.untilMs ?? Infinity;
    return Math.min(this.#current.untilMs, this.#drawnAtMs + IDLE_MS);
  }

  /** Serves waiting requests in order, from the lease or by the standing answer; `bucketsNow`: as of now. */
  serve(nowMs: number, bucketsNow: () => OwnedBuckets | null): readonly LeaseOutcome[] {
    const current = this.#current;
    if (current !== null) return nowMs >= current.untilMs ? [] : this.#draw(current, nowMs);
    this.#forgive(nowMs);
    const standing = this.#standing;
    if (this.#asked !== null || standing === null) return [];
    if (standing.kind !== "refused") return this.waiting.giveUp(standing.kind);
    const buckets = standing.reportedN === this.#reports.changedN ? bucketsNow() : null;
    return buckets === null ? [] : this.waiting.refuse(standing.reason, standing.limits, buckets);
  }

  /** The lease request to send now, if any; call it after {@link serve}. */
  nextAsk(nowMs: number): LeaseRequest | null {
    if (this.#asked !== null) return null;
    const { head, next } = this.waiting;
    if (head !== undefined) {
      this.giveBack(nowMs);
      return this.#requestLease(head, nowMs, false);
    }
    if (next === undefined || nowMs < this.#prefetchFromMs || this.#mayDraw(next)) return null;
    return this.#requestLease(next, nowMs, true);
  }

  /** The lease request to send now so that the next requests like this one need not wait, if any. */
  renewal(piece: LeaseWaiter, nowMs: number): LeaseRequest | null {
    const current = this.#current;
    if (current === null || !current.lease.ample || this.#asked !== null || nowMs < this.#prefetchFromMs) return null;
    const little = !covers(this.#free, times(current.grant, RENEW_PART));
    return little || nowMs >= current.untilMs - RENEW_AHEAD_MS ? this.#requestLease(piece, nowMs, true) : null;
  }

  /** Takes back the unused part of a request from a lease: it may be drawn again while no limit is near. True: it was taken. */
  takeBack(lease: HeldLease, unused: Amounts, nowMs: number): boolean {
    const current = this.#current;
    if (current?.lease !== lease || !lease.ample || nowMs >= current.untilMs) return false;
    this.#setFree(plus(this.#free, unused));
    return true;
  }

  /**
   * Returns as much of the free amount as a request used beyond what it had drawn, so that both together spend no more than was
   * leased. False: the excess was more than is free. Then nothing is free any more, and the next request waits until the
   * authority knows of it.
   */
  overdraw(over: Amounts, nowMs: number): boolean {
    if (isNothing(over)) return true;
    const current = this.#current;
    if (current !== null && covers(this.#free, over)) {
      this.#setFree(minus(this.#free, over));
      current.lease.release(over);
      this.#reports.changed(current.lease, reportDueMs(nowMs, current.lease.ample));
      return true;
    }
    if (this.#asked !== null) this.#asked.overdrawn = plus(this.#asked.overdrawn, minus(over, this.#free));
    this.giveBack(nowMs);
    return false;
  }

  /** Takes the answer to lease request `n`. Null: no answer came; if the lease was granted after all, it is void. */
  answered(n: number, answer: LeaseAnswer | null, nowMs: number): readonly LeaseOutcome[] {
    const asked = this.#asked;
    if (asked?.lease.n !== n) return [];
    this.#asked = null;
    if (answer === null) {
      asked.lease.void = true;
      this.#reports.changed(asked.lease, nowMs);
      return this.#fallSilent("unavailable", nowMs);
    }
    return this.#applyVerdict(asked, answer, nowMs);
  }

  /** The tenant has newer limits: returns what was leased under older ones, which would keep it from the tenant's other pools. */
  giveBackOlder(limits: BudgetLimits, nowMs: number): void {
    if (this.#current !== null && limits.tenant.rev > this.#current.limits.tenant.rev) this.giveBack(nowMs);
  }

  /** Returns the rest of the lease. `ample`: its report may wait if no limit is near. */
  giveBack(nowMs: number, ample = false): void {
    if (this.#current === null) return;
    const { lease } = this.#current;
    lease.release(this.#free);
    lease.ended = true;
    this.#setFree(NO_AMOUNTS);
    this.#current = null;
    this.#reports.changed(lease, reportDueMs(nowMs, ample && lease.ample));
  }

  /** Returns the rest of a lease that ends, and drops a refusal or silence that has lasted long enough. */
  expire(nowMs: number): void {
    this.#forgive(nowMs);
    if (this.#current === null || nowMs < this.endsAtMs) return;
    if (!this.#used) this.#prefetchFromMs = nowMs + UNUSED_MS;
    this.giveBack(nowMs);
  }

  #applyVerdict(asked: Asked, { verdict, ...answer }: LeaseAnswer, nowMs: number): readonly LeaseOutcome[] {
    if (verdict.kind !== "granted") this.#reports.drop(asked.lease);
    switch (verdict.kind) {
      case "granted": {
        // A late lease still serves the waiting requests; the rest of it is returned at once.
        const current = this.#begin(asked, verdict, nowMs);
        const outcomes = this.overdraw(asked.overdrawn, nowMs) ? this.#draw(current, nowMs) : [];
        if (!asked.ahead) this.#returnUnneeded(asked.need, nowMs);
        this.expire(nowMs);
        return outcomes;
      }
      case "refused": {
        this.#prefetchFromMs = nowMs + RETRY_PREFETCH_MS;
        if (!asked.empty) return [];
        const { limits, reportedN } = asked;
        this.#standing = { kind: "refused", reason: verdict.reason, limits, reportedN, untilMs: nowMs + STANDS_MS };
        return this.waiting.refuse(verdict.reason, limits, bucketsOf(answer), asked.head);
      }
      case "stale":
        return this.#fallSilent("unavailable", nowMs);
      case "invalid":
        return this.#fallSilent("invalid", nowMs);
      default:
        return verdict satisfies never;
    }
  }

  #forgive(nowMs: number): void {
    if (this.#standing !== null && nowMs >= this.#standing.untilMs) this.#standing = null;
  }

  #draw({ lease }: Current, nowMs: number): readonly LeaseOutcome[] {
    return this.waiting.draw(lease, (waiter) => {
      if (!this.#mayDraw(waiter)) return false;
      this.#setFree(minus(this.#free, waiter.need));
      this.#used = true;
      this.#drawnAtMs = nowMs;
      return true;
    });
  }

  /** Limits that are newer than the lease apply at once: the lease is returned and another one is requested. */
  #mayDraw({ limits, need }: LeaseWaiter): boolean {
    const current = this.#current;
    return current !== null && !isNewerFor(this.id, limits, current.limits) && covers(this.#free, need);
  }

  #fallSilent(kind: GiveUpReason, nowMs: number): readonly LeaseOutcome[] {
    this.#prefetchFromMs = nowMs + RETRY_PREFETCH_MS;
    this.#standing = { kind, untilMs: nowMs + STANDS_MS };
    return this.waiting.giveUp(kind);
  }

  /**
   * Near a limit: returns what a request would have drawn that has left meanwhile. The authority assumes that it was drawn, and
   * refills the buckets.
   */
  #returnUnneeded(need: Amounts, nowMs: number): void {
    if (this.#current === null || this.#current.lease.ample) return;
    const { lease, grant } = this.#current;
    const unneeded = minus(this.#free, minus(grant, need));
    if (isNothing(unneeded)) return;
    this.#setFree(minus(this.#free, unneeded));
    lease.release(unneeded);
    this.#reports.changed(lease, reportDueMs(nowMs, false));
  }

  #requestLease({ requestId, limits, need }: LeaseWaiter, nowMs: number, ahead: boolean): LeaseRequest {
    const want = this.waiting.wish(limits, need, nowMs);
    const lease = this.#reports.begin(nowMs, this.id);
    const empty = isNothing(this.#free);
    const report = this.#reports.report(nowMs);
    const reportedN = report.sequence;
    this.#asked = {
      lease,
      head: requestId,
      limits,
      need,
      sentAtMs: nowMs,
      empty,
      ahead,
      reportedN,
      overdrawn: NO_AMOUNTS,
    };
    return { report, limits, pool: this.id, n: lease.n, need, want, ahead };
  }

  #begin(
    { lease, limits, need, sentAtMs }: Asked,
    { ttlMs, ample, ...verdict }: LeaseVerdict & { readonly kind: "granted" },
    nowMs: number,
  ): Current {
    this.giveBack(nowMs, ample);
    this.#standing = null;
    this.#prefetchFromMs = Number.NEGATIVE_INFINITY;
    this.#used = false;
    this.#drawnAtMs = nowMs;
    const grant = grantOf(verdict.grant, need);
    lease.granted = grant;
    lease.ample = ample;
    if (!ample) this.waiting.limitIsNear();
    this.#setFree(grant);
    const untilMs = sentAtMs + Math.min(ttlMs, LEASE_MAX_MS) - MARGIN_MS;
    this.#current = { lease, grant, limits, untilMs };
    return this.#current;
  }

  #setFree(free: Amounts): void {
    this.#reports.free.add(this.id, this.#free, -1);
    this.#reports.free.add(this.id, free, 1);
    this.#free = free;
  }
}
