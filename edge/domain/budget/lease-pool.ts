/**
 * What one cell may spend of a tenant's budget, or of a key's own: one lease at a time, already debited at the authority, and
 * the requests that wait for more. One ask is under way at a time. Requests are served in order. An ask for a waiting request
 * first gives back what is left, so the authority decides as if every request asked it, but for those who come right after a
 * refusal or a silence. Times here are of the Cell's SteadyTime.
 * Invariant: what was leased is free, drawn or given back, never two of them and never none.
 */
import { type Amounts, covers, isNothing, minus, NOTHING, plus, times } from "./amounts.ts";
import type { LeaseAnswer, LeaseRequest, Refusal } from "./api.ts";
import { AskPace, type GivenUp } from "./ask-pace.ts";
import { askedOf, type CellLease } from "./cell-lease.ts";
import { Demand } from "./demand.ts";
import type { LeaseReports } from "./lease-reports.ts";
import { LEASE_MAX_MS } from "./lease-size.ts";
import { type BudgetLimits, isNewerFor } from "./limits.ts";
import type { TokenBucket } from "./token-bucket.ts";
import type { Outcome, Waiter } from "./waiter.ts";
import { Waiting } from "./waiting.ts";

interface Asked {
  readonly lease: CellLease;
  /** The request that it is for. */
  readonly head: string;
  readonly limits: BudgetLimits;
  readonly sentAtMs: number;
  /** Nothing was free at that moment: a refusal is final. */
  readonly empty: boolean;
  /** Changes that the report had; see {@link LeaseReports.changes}. */
  readonly told: number;
}

/** The lease that is drawn from. */
interface Current {
  readonly lease: CellLease;
  readonly grant: Amounts;
  readonly limits: BudgetLimits;
  readonly untilMs: number;
}

/** A final refusal. It falls with anything that this cell gives back. */
interface Refused {
  readonly reason: Refusal;
  readonly limits: BudgetLimits;
  readonly told: number;
  readonly untilMs: number;
}

/** The pool stops spending this long before a lease ends. */
const MARGIN_MS = 250;
/** A lease that nobody has drawn from for this long goes back. */
const IDLE_MS = 5_000;
/** The next lease is asked for this long before the end of one of which there is plenty, or when so little of it is left. */
const RENEW_AHEAD_MS = 2_000;
const RENEW_PART = 1 / 4;
/**
 * A refusal stands this long for those who come after it: else each of a long queue would hold a slot for a trip, and a
 * tenant without budget would keep the slots of those who have one. No longer than another cell's return may be under way.
 */
const REFUSAL_STANDS_MS = 250;

/** Is told what a lease that ends had left. `ample`: one of which there is plenty has taken its place. */
export type GaveBack = (lease: CellLease, amounts: Amounts, ample: boolean, nowMs: number) => void;

export class LeasePool {
  readonly id: string | null;
  /** Who wants to draw from it. */
  readonly waiting: Waiting;
  readonly #reports: LeaseReports;
  readonly #gaveBack: GaveBack;
  #free: Amounts = NOTHING;
  /** Somebody drew since the last lease came. */
  #used = false;
  /** When somebody drew last, or the lease came. */
  #drawnAtMs = 0;
  #current: Current | null = null;
  #asked: Asked | null = null;
  #refused: Refused | null = null;
  readonly #demand = new Demand();
  readonly #pace = new AskPace();

  constructor(id: string | null, reports: LeaseReports, gaveBack: GaveBack) {
    this.id = id;
    this.waiting = new Waiting(id);
    this.#reports = reports;
    this.#gaveBack = gaveBack;
  }

  /** Leased and not drawn. */
  get free(): Amounts {
    return this.#free;
  }

  get idle(): boolean {
    const resting = this.#current === null && this.#asked === null && this.#refused === null;
    return resting && this.#pace.silence === null && this.waiting.empty;
  }

  /** When {@link expire} has something to do; null without a lease, and a refusal or a silence that stands. */
  get endsAtMs(): number | null {
    if (this.#current !== null) return this.#endMs(this.#current);
    return this.#refused?.untilMs ?? this.#pace.silentUntilMs;
  }

  /** Serves waiters in order from what is held, or by a refusal or silence of just now; `bucket` is as of now. */
  serve(nowMs: number, bucket: TokenBucket | null): readonly Outcome[] {
    const current = this.#current;
    if (current !== null) return nowMs >= current.untilMs ? [] : this.#draw(current, nowMs);
    this.#forgive(nowMs);
    const refused = this.#refused;
    if (this.#asked !== null) return [];
    const { silence } = this.#pace;
    if (silence !== null) return this.waiting.giveUp(silence);
    if (refused === null || bucket === null) return [];
    if (refused.told !== this.#reports.changes) return [];
    return this.waiting.refuse(refused.reason, refused.limits, bucket);
  }

  /** The ask that should leave now, if any; call it after {@link serve}. */
  nextAsk(nowMs: number): LeaseRequest | null {
    if (this.#asked !== null) return null;
    const { head, next } = this.waiting;
    if (head !== undefined) {
      this.#giveBack(nowMs);
      return this.#ask(head, nowMs);
    }
    if (next === undefined || !this.#pace.mayPrefetch(nowMs) || this.#mayDraw(next)) return null;
    return this.#ask(next, nowMs);
  }

  /** The ask that should leave now so that the next requests of this kind need not wait, if any. */
  renewal(piece: Waiter, nowMs: number): LeaseRequest | null {
    const current = this.#current;
    if (current === null || !current.lease.ample || this.#asked !== null || !this.#pace.mayPrefetch(nowMs)) return null;
    const little = !covers(this.#free, times(current.grant, RENEW_PART));
    return little || nowMs >= current.untilMs - RENEW_AHEAD_MS ? this.#ask(piece, nowMs) : null;
  }

  /** What a request did not use of a lease: it may be drawn again while no limit is near. True: it was taken. */
  takeBack(lease: CellLease, unused: Amounts, nowMs: number): boolean {
    const current = this.#current;
    if (current?.lease !== lease || !lease.ample || nowMs >= current.untilMs) return false;
    this.#free = plus(this.#free, unused);
    this.#demand.cameBack(unused);
    return true;
  }

  /** An answer to ask `n`. A late lease still serves whoever waits; the rest of it goes back at once. */
  answered(n: number, answer: LeaseAnswer, nowMs: number): readonly Outcome[] {
    const asked = this.#asked;
    if (asked?.lease.n !== n) return [];
    this.#asked = null;
    const outcomes = this.#judge(asked, answer, nowMs);
    if (outcomes.length > 0 || !this.waiting.waits(asked.head)) return outcomes;
    return this.#pace.undecided(asked.head) ? this.#fallSilent("unavailable", nowMs) : [];
  }

  /** Ask `n` had no answer: if it was granted after all, that lease is void. */
  failed(n: number, nowMs: number): readonly Outcome[] {
    const asked = this.#asked;
    if (asked?.lease.n !== n) return [];
    this.#asked = null;
    asked.lease.void();
    this.#reports.changed(asked.lease, nowMs);
    return this.#fallSilent("unavailable", nowMs);
  }

  #judge(asked: Asked, { verdict, bucket }: LeaseAnswer, nowMs: number): readonly Outcome[] {
    if (verdict.kind === "granted") {
      const current = this.#begin(asked, verdict, nowMs);
      this.#pace.gave();
      const outcomes = this.#draw(current, nowMs);
      this.expire(nowMs);
      return outcomes;
    }
    this.#reports.drop(asked.lease);
    switch (verdict.kind) {
      case "refused":
        this.#pace.gaveNothing(nowMs);
        if (!asked.empty) return [];
        this.#refused = {
          reason: verdict.reason,
          limits: asked.limits,
          told: asked.told,
          untilMs: nowMs + REFUSAL_STANDS_MS,
        };
        return this.waiting.refuse(verdict.reason, asked.limits, bucket);
      case "stale":
        return this.#fallSilent("unavailable", nowMs);
      case "invalid":
        return this.#fallSilent("invalid", nowMs);
      default:
        return verdict satisfies never;
    }
  }

  /** Gives back what a lease that ends has left; a refusal or a silence stands no longer. */
  expire(nowMs: number): void {
    this.#forgive(nowMs);
    if (this.#current === null || nowMs < this.#endMs(this.#current)) return;
    if (!this.#used) this.#pace.unused(nowMs);
    this.#giveBack(nowMs);
  }

  #endMs({ untilMs }: Current): number {
    return Math.min(untilMs, this.#drawnAtMs + IDLE_MS);
  }

  #forgive(nowMs: number): void {
    this.#pace.expire(nowMs);
    if (this.#refused !== null && nowMs >= this.#refused.untilMs) this.#refused = null;
  }

  #draw({ lease }: Current, nowMs: number): readonly Outcome[] {
    return this.waiting.draw(
      lease,
      (waiter) => this.#mayDraw(waiter),
      ({ need }) => {
        this.#free = minus(this.#free, need);
        this.#used = true;
        this.#drawnAtMs = nowMs;
        this.#demand.drew(need);
      },
    );
  }

  /** Limits that are newer than the lease bind at once: it is given back and asked for anew. */
  #mayDraw({ limits, need }: Waiter): boolean {
    const current = this.#current;
    return current !== null && !isNewerFor(this.id, limits, current.limits) && covers(this.#free, need);
  }

  #fallSilent(kind: GivenUp, nowMs: number): readonly Outcome[] {
    this.#pace.fellSilent(kind, nowMs);
    return this.waiting.giveUp(kind);
  }

  #ask({ requestId, limits, need }: Waiter, nowMs: number): LeaseRequest {
    const want = this.#demand.next(limits, need, this.waiting.queues, nowMs);
    const lease = this.#reports.begin(askedOf(this.id), nowMs);
    const empty = isNothing(this.#free);
    const report = this.#reports.report(nowMs);
    this.#asked = { lease, head: requestId, limits, sentAtMs: nowMs, empty, told: this.#reports.changes };
    return { report, limits, pool: this.id, n: lease.n, need, want };
  }

  #begin(
    { lease, limits, sentAtMs }: Asked,
    { grant, ttlMs, ample }: Extract<LeaseAnswer["verdict"], { readonly kind: "granted" }>,
    nowMs: number,
  ): Current {
    this.#giveBack(nowMs, ample);
    this.#refused = null;
    this.#used = false;
    this.#drawnAtMs = nowMs;
    lease.granted = grant;
    lease.ample = ample;
    this.#free = grant;
    const untilMs = sentAtMs + Math.min(ttlMs, LEASE_MAX_MS) - MARGIN_MS;
    this.#current = { lease, grant, limits, untilMs };
    return this.#current;
  }

  #giveBack(nowMs: number, ample = false): void {
    if (this.#current === null) return;
    const { lease } = this.#current;
    const free = this.#free;
    this.#free = NOTHING;
    this.#current = null;
    lease.release(free);
    lease.ended = true;
    this.#gaveBack(lease, free, ample, nowMs);
  }
}
