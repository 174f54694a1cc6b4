/**
 * What one cell may spend of a tenant's budget, or of a key's own: one lease at a time, already debited at the authority, and
 * the requests that wait for more. One ask is under way at a time. Requests are served in order. An ask for a waiting request
 * first gives back what is left, so the authority decides as if every request asked it, but for those who come right after a
 * refusal or a silence. Times here are of the Cell's MonotonicClock.
 * Invariants: what was leased is free, drawn or given back, never two of them and never none. Whatever the authority answers to
 * an ask while nothing is free decides the request that it is for, but for limits that have changed since: asks are bounded by
 * requests and by time.
 */
import { type Amounts, covers, isNothing, minus, NO_AMOUNTS, plus, times } from "./amounts.ts";
import type { CellLease } from "./cell-lease.ts";
import { type GiveUpReason, type LeaseOutcome, LeaseQueue, type LeaseWaiter } from "./lease-queue.ts";
import { LEASE_MAX_MS } from "./lease-size.ts";
import { type BudgetLimits, isNewerFor } from "./limits.ts";
import type { OutgoingReports } from "./outgoing-reports.ts";
import type { BindingLimit, LeaseAnswer, LeaseRequest, LeaseVerdict } from "./rpc.ts";
import type { TokenBucket } from "./token-bucket.ts";

interface Asked {
  readonly lease: CellLease;
  /** The request that it is for. */
  readonly head: string;
  readonly limits: BudgetLimits;
  readonly sentAtMs: number;
  /** Nothing was free at that moment: a refusal is final. */
  readonly empty: boolean;
  /** The newest change that the report told of. */
  readonly toldN: number;
}

/** The lease that is drawn from. */
interface Current {
  readonly lease: CellLease;
  readonly grant: Amounts;
  readonly limits: BudgetLimits;
  readonly untilMs: number;
}

/** What those who come next are told without an ask. A refusal falls with anything that this cell gives back. */
type Standing = { readonly untilMs: number } & (
  | { readonly kind: "refused"; readonly reason: BindingLimit; readonly limits: BudgetLimits; readonly toldN: number }
  | { readonly kind: GiveUpReason }
);

/** The pool stops spending this long before a lease ends. */
const MARGIN_MS = 250;
/** A lease that nobody has drawn from for this long goes back. */
const IDLE_MS = 5_000;
/** The next lease is asked for this long before the end of one of which there is plenty, or when so little of it is left. */
const RENEW_AHEAD_MS = 2_000;
const RENEW_PART = 1 / 4;
/**
 * A refusal, or a silence, stands this long for those who come after it: else each of a long queue would hold a slot for a trip
 * or a deadline, and a tenant without budget would keep the slots of those who have one. No longer than another cell's return
 * may be under way.
 */
const STANDS_MS = 250;
/** How long nothing is asked for requests to come, after an answer that brought nothing, and after a lease without a use. */
const RETRY_PREFETCH_MS = 1_000;
const UNUSED_MS = 250;

/** Is told what a lease that ends had left. `ample`: one of which there is plenty has taken its place. */
type OnLeaseReturned = (lease: CellLease, amounts: Amounts, ample: boolean, nowMs: number) => void;

export class LeasePool {
  readonly id: string | null;
  /** Who wants to draw from it. */
  readonly queue: LeaseQueue;
  readonly #reports: OutgoingReports;
  readonly #gaveBack: OnLeaseReturned;
  #free: Amounts = NO_AMOUNTS;
  #current: Current | null = null;
  /** Somebody drew since the last lease came; when somebody drew last, or the lease came. */
  #used = false;
  #drawnAtMs = 0;
  #asked: Asked | null = null;
  #standing: Standing | null = null;
  #prefetchFromMs = Number.NEGATIVE_INFINITY;

  constructor(id: string | null, reports: OutgoingReports, gaveBack: OnLeaseReturned) {
    this.id = id;
    this.queue = new LeaseQueue(id);
    this.#reports = reports;
    this.#gaveBack = gaveBack;
  }

  /** Leased and not drawn. */
  get free(): Amounts {
    return this.#free;
  }

  get idle(): boolean {
    return this.#current === null && this.#asked === null && this.#standing === null && this.queue.empty;
  }

  /** When {@link expire} has something to do; null: not before something happens. */
  get endsAtMs(): number | null {
    if (this.#current === null) return this.#standing?.untilMs ?? null;
    return Math.min(this.#current.untilMs, this.#drawnAtMs + IDLE_MS);
  }

  /** Serves waiters in order from what is held, or by what stands; `bucket` is as of now. */
  serve(nowMs: number, bucket: TokenBucket | null): readonly LeaseOutcome[] {
    const current = this.#current;
    if (current !== null) return nowMs >= current.untilMs ? [] : this.#draw(current, nowMs);
    this.#forgive(nowMs);
    const standing = this.#standing;
    if (this.#asked !== null || standing === null) return [];
    if (standing.kind !== "refused") return this.queue.giveUp(standing.kind);
    const holds = bucket !== null && standing.toldN === this.#reports.changedN;
    return holds ? this.queue.refuse(standing.reason, standing.limits, bucket) : [];
  }

  /** The ask that should leave now, if any; call it after {@link serve}. */
  nextAsk(nowMs: number): LeaseRequest | null {
    if (this.#asked !== null) return null;
    const { head, next } = this.queue;
    if (head !== undefined) {
      this.#giveBack(nowMs);
      return this.#ask(head, nowMs);
    }
    if (next === undefined || nowMs < this.#prefetchFromMs || this.#mayDraw(next)) return null;
    return this.#ask(next, nowMs);
  }

  /** The ask that should leave now so that the next requests of this kind need not wait, if any. */
  renewal(piece: LeaseWaiter, nowMs: number): LeaseRequest | null {
    const current = this.#current;
    if (current === null || !current.lease.ample || this.#asked !== null || nowMs < this.#prefetchFromMs) return null;
    const little = !covers(this.#free, times(current.grant, RENEW_PART));
    return little || nowMs >= current.untilMs - RENEW_AHEAD_MS ? this.#ask(piece, nowMs) : null;
  }

  /** What a request did not use of a lease: it may be drawn again while no limit is near. True: it was taken. */
  takeBack(lease: CellLease, unused: Amounts, nowMs: number): boolean {
    const current = this.#current;
    if (current?.lease !== lease || !lease.ample || nowMs >= current.untilMs) return false;
    this.#free = plus(this.#free, unused);
    this.queue.returnUnused(unused);
    return true;
  }

  /** An answer to ask `n`; null: there was none, and if it was granted after all, that lease is void. */
  answered(n: number, answer: LeaseAnswer | null, nowMs: number): readonly LeaseOutcome[] {
    const asked = this.#asked;
    if (asked?.lease.n !== n) return [];
    this.#asked = null;
    if (answer === null) {
      asked.lease.void = true;
      this.#reports.changed(asked.lease, nowMs);
      return this.#fallSilent("unavailable", nowMs);
    }
    return this.#judge(asked, answer, nowMs);
  }

  /** Gives back what a lease that ends has left; a refusal or a silence stands no longer. */
  expire(nowMs: number): void {
    this.#forgive(nowMs);
    if (this.#current === null || nowMs < (this.endsAtMs ?? Infinity)) return;
    if (!this.#used) this.#prefetchFromMs = nowMs + UNUSED_MS;
    this.#giveBack(nowMs);
  }

  #judge(asked: Asked, { verdict, bucket }: LeaseAnswer, nowMs: number): readonly LeaseOutcome[] {
    if (verdict.kind !== "granted") this.#reports.drop(asked.lease);
    switch (verdict.kind) {
      case "granted": {
        // A late lease still serves whoever waits; the rest of it goes back at once.
        const outcomes = this.#draw(this.#begin(asked, verdict, nowMs), nowMs);
        this.expire(nowMs);
        return outcomes;
      }
      case "refused": {
        this.#prefetchFromMs = nowMs + RETRY_PREFETCH_MS;
        if (!asked.empty) return [];
        const { limits, toldN } = asked;
        this.#standing = { kind: "refused", reason: verdict.reason, limits, toldN, untilMs: nowMs + STANDS_MS };
        return this.queue.refuse(verdict.reason, limits, bucket, asked.head);
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
    return this.queue.draw(lease, (waiter) => {
      if (!this.#mayDraw(waiter)) return false;
      this.#free = minus(this.#free, waiter.need);
      this.#used = true;
      this.#drawnAtMs = nowMs;
      return true;
    });
  }

  /** Limits that are newer than the lease bind at once: it is given back and asked for anew. */
  #mayDraw({ limits, need }: LeaseWaiter): boolean {
    const current = this.#current;
    return current !== null && !isNewerFor(this.id, limits, current.limits) && covers(this.#free, need);
  }

  #fallSilent(kind: GiveUpReason, nowMs: number): readonly LeaseOutcome[] {
    this.#prefetchFromMs = nowMs + RETRY_PREFETCH_MS;
    this.#standing = { kind, untilMs: nowMs + STANDS_MS };
    return this.queue.giveUp(kind);
  }

  #ask({ requestId, limits, need }: LeaseWaiter, nowMs: number): LeaseRequest {
    const want = this.queue.wish(limits, need, nowMs);
    const lease = this.#reports.begin(nowMs, this.id);
    const empty = isNothing(this.#free);
    const report = this.#reports.report(nowMs);
    this.#asked = { lease, head: requestId, limits, sentAtMs: nowMs, empty, toldN: report.sequence };
    return { report, limits, pool: this.id, n: lease.n, need, want };
  }

  #begin(
    { lease, limits, sentAtMs }: Asked,
    { grant, ttlMs, ample }: LeaseVerdict & { readonly kind: "granted" },
    nowMs: number,
  ): Current {
    this.#giveBack(nowMs, ample);
    this.#standing = null;
    this.#prefetchFromMs = Number.NEGATIVE_INFINITY;
    this.#used = false;
    this.#drawnAtMs = nowMs;
    lease.granted = grant;
    lease.ample = ample;
    if (!ample) this.queue.limitIsNear();
    this.#free = grant;
    const untilMs = sentAtMs + Math.min(ttlMs, LEASE_MAX_MS) - MARGIN_MS;
    this.#current = { lease, grant, limits, untilMs };
    return this.#current;
  }

  #giveBack(nowMs: number, ample = false): void {
    if (this.#current === null) return;
    const { lease } = this.#current;
    const free = this.#free;
    this.#free = NO_AMOUNTS;
    this.#current = null;
    lease.release(free);
    lease.ended = true;
    this.#gaveBack(lease, free, ample, nowMs);
  }
}
