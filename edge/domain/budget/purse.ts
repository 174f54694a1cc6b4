/**
 * What one cell holds of a tenant's budget, or of a key's own: amounts leased from the budget object, already debited
 * there, and the requests that wait for more. One ask is under way at a time. Requests are served in order. An ask for a
 * waiting request first gives back what is left, so the authority decides as if every request asked it, but for those who
 * come right after a refusal or a silence. Times here are of the wallet's SteadyTime.
 * Invariant: what was leased is drawn, held or given back, never two of them and never none.
 */
import { type Amounts, covers, EVERYTHING, isNothing, minus, NOTHING, plus, smaller, times } from "./amounts.ts";
import type { LeaseAnswer, LeaseRequest, Refusal, Report, SettleLine } from "./api.ts";
import { AskPace, type GivenUp, RETRY_PREFETCH_MS } from "./ask-pace.ts";
import { Demand } from "./demand.ts";
import { LEASE_MAX_MS } from "./lease-size.ts";
import { type BudgetLimits, isNewerFor } from "./limits.ts";
import type { Outbox } from "./outbox.ts";
import { NO_TAGS } from "./tags.ts";
import type { TokenBucket } from "./token-bucket.ts";
import type { Outcome, Waiter } from "./waiter.ts";
import { Waiting } from "./waiting.ts";

interface Asked {
  readonly n: number;
  /** The request that it is for. */
  readonly head: string;
  readonly need: Amounts;
  readonly want: Amounts;
  readonly limits: BudgetLimits;
  readonly sentAtMs: number;
  /** Nothing was held at that moment: a refusal is final. */
  readonly empty: boolean;
  /** Lines that the report had; see {@link Outbox.added}. */
  readonly told: number;
}

interface Lease {
  readonly n: number;
  readonly limits: BudgetLimits;
  readonly untilMs: number;
  /** It brought all that was wanted: no limit is near. */
  readonly whole: boolean;
}

/** A final refusal. It falls with anything that this cell gives back. */
interface Refused {
  readonly reason: Refusal;
  readonly limits: BudgetLimits;
  readonly told: number;
  readonly untilMs: number;
}

/** The purse stops spending this long before a lease ends. */
const MARGIN_MS = 250;
/**
 * A refusal stands this long for those who come after it: else each of a long queue would hold a slot for a trip, and a
 * tenant without budget would keep the slots of those who have one. No longer than another cell's return may be under way.
 */
const REFUSAL_STANDS_MS = 250;
/** At most this part of what is held is lent at once; below the same part of what was wanted it is time to ask. */
const LENT_PART = 0.5;

export class Purse {
  readonly id: string | null;
  /** Who wants to draw from it. */
  readonly waiting: Waiting;
  readonly #outbox: Outbox;
  readonly #returnLine: (line: SettleLine, nowMs: number) => void;
  #held: Amounts = NOTHING;
  /** Somebody drew since the last lease came. */
  #used = false;
  #lease: Lease | null = null;
  #asked: Asked | null = null;
  #refused: Refused | null = null;
  readonly #demand = new Demand();
  readonly #pace = new AskPace();

  /** `returnLine` takes the line that gives back what is unspent. */
  constructor(id: string | null, outbox: Outbox, returnLine: (line: SettleLine, nowMs: number) => void) {
    this.id = id;
    this.waiting = new Waiting(id);
    this.#outbox = outbox;
    this.#returnLine = returnLine;
  }

  get held(): Amounts {
    return this.#held;
  }

  get idle(): boolean {
    const resting = this.#lease === null && this.#asked === null && this.#refused === null;
    return resting && this.#pace.silence === null && this.waiting.empty;
  }

  /** When {@link expire} has something to do; null without a lease, and a refusal or a silence that stands. */
  get endsAtMs(): number | null {
    return this.#lease?.untilMs ?? this.#refused?.untilMs ?? this.#pace.silentUntilMs;
  }

  /**
   * Draws for requests to come: at most `want` and half of what is held, at least `atLeast`; null, and nothing is drawn, else.
   * Null too while somebody waits, and near a limit, where what is lent could be missed by whoever asks.
   */
  lend(limits: BudgetLimits, want: Amounts, atLeast: Amounts, nowMs: number): Amounts | null {
    const lease = this.#lease;
    if (lease === null || !lease.whole || nowMs >= lease.untilMs || this.waiting.head !== undefined) return null;
    if (isNewerFor(this.id, limits, lease.limits) || isNewerFor(this.id, lease.limits, limits)) return null;
    const drawn = smaller(want, times(this.#held, LENT_PART));
    if (!covers(drawn, atLeast)) return null;
    this.#drew(drawn);
    return drawn;
  }

  /** Serves waiters in order from what is held, or by a refusal or silence of just now; `bucket` is as of now. */
  serve(nowMs: number, bucket: TokenBucket | null): readonly Outcome[] {
    const lease = this.#lease;
    if (lease !== null) return nowMs >= lease.untilMs ? [] : this.#draw();
    this.#forgive(nowMs);
    const refused = this.#refused;
    if (this.#asked !== null) return [];
    const { silence } = this.#pace;
    if (silence !== null) return this.waiting.giveUp(silence);
    if (refused === null || bucket === null) return [];
    if (refused.told !== this.#outbox.added) return [];
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

  /**
   * The ask that should leave now so that lends go on, if any: when there is no lease under these limits, or little is left of
   * one. `piece.need` is what one request needs, `want` what is lent at a time.
   */
  nextAskToLend(piece: Waiter, want: Amounts, nowMs: number): LeaseRequest | null {
    if (this.#asked !== null || this.waiting.head !== undefined || !this.#pace.mayPrefetch(nowMs)) return null;
    const lease = this.#lease;
    if (lease !== null && !isNewerFor(this.id, piece.limits, lease.limits)) {
      if (!lease.whole || covers(this.#held, times(this.#demand.wanted, LENT_PART))) return null;
    }
    return this.#ask(piece, nowMs, want);
  }

  /** An answer to ask `n`. A late lease still serves whoever waits; the rest of it goes back at once. */
  answered(n: number, answer: LeaseAnswer, nowMs: number): readonly Outcome[] {
    const asked = this.#asked;
    if (asked?.n !== n) return [];
    this.#asked = null;
    const outcomes = this.#judge(asked, answer, nowMs);
    if (outcomes.length > 0 || !this.waiting.waits(asked.head)) return outcomes;
    return this.#pace.undecided(asked.head) ? this.#fallSilent("unavailable", nowMs) : [];
  }

  /** Ask `n` had no answer: if it was granted after all, that lease is void. */
  failed(n: number, nowMs: number): readonly Outcome[] {
    if (this.#asked?.n !== n) return [];
    this.#asked = null;
    this.#outbox.end({ purse: this.id, n, void: true }, nowMs);
    return this.#fallSilent("unavailable", nowMs);
  }

  #judge(asked: Asked, { verdict, bucket }: LeaseAnswer, nowMs: number): readonly Outcome[] {
    const { n } = asked;
    switch (verdict.kind) {
      case "granted":
        return this.#granted(asked, verdict.grant, verdict.ttlMs, nowMs);
      case "behind":
        // Nothing was decided; the next ask brings what the object lacks.
        this.#outbox.end({ purse: this.id, n, void: true }, nowMs);
        this.#pace.gaveNothing(nowMs);
        return [];
      case "refused":
        this.#outbox.end({ purse: this.id, n, void: true }, nowMs + RETRY_PREFETCH_MS);
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

  #granted(asked: Asked, grant: Amounts, ttlMs: number, nowMs: number): readonly Outcome[] {
    this.#take(asked, grant, ttlMs, nowMs);
    this.#pace.gave();
    const outcomes = this.#draw();
    this.expire(nowMs);
    return outcomes;
  }

  /** Gives back what a lease that ends has left; a refusal or a silence stands no longer. */
  expire(nowMs: number): void {
    this.#forgive(nowMs);
    if (this.#lease === null || nowMs < this.#lease.untilMs) return;
    if (!this.#used) this.#pace.unused(nowMs);
    this.#giveBack(nowMs);
  }

  #forgive(nowMs: number): void {
    this.#pace.expire(nowMs);
    if (this.#refused !== null && nowMs >= this.#refused.untilMs) this.#refused = null;
  }

  #draw(): readonly Outcome[] {
    return this.waiting.draw(
      (waiter) => this.#mayDraw(waiter),
      ({ need }) => this.#drew(need),
    );
  }

  #drew(amounts: Amounts): void {
    this.#held = minus(this.#held, amounts);
    this.#used = true;
    this.#demand.drew(amounts);
  }

  /** Limits that are newer than the lease bind at once: it is given back and asked for anew. */
  #mayDraw(waiter: Waiter): boolean {
    const lease = this.#lease;
    return lease !== null && !isNewerFor(this.id, waiter.limits, lease.limits) && covers(this.#held, waiter.need);
  }

  #fallSilent(kind: GivenUp, nowMs: number): readonly Outcome[] {
    this.#pace.fellSilent(kind, nowMs);
    return this.waiting.giveUp(kind);
  }

  #ask(head: Waiter, nowMs: number, piece = head.need): LeaseRequest {
    const want = this.#demand.next(head.limits, piece, this.waiting.queues, nowMs);
    const asked: Asked = {
      n: this.#outbox.nextNumber(),
      head: head.requestId,
      need: head.need,
      want,
      limits: head.limits,
      sentAtMs: nowMs,
      empty: isNothing(this.#held),
      told: this.#outbox.added,
    };
    this.#asked = asked;
    const report: Report = this.#outbox.report(nowMs);
    return { report, limits: head.limits, purse: this.id, n: asked.n, need: asked.need, want };
  }

  /** Holds what it can count; what is more goes back at once. */
  #take(asked: Asked, grant: Amounts, ttlMs: number, nowMs: number): void {
    this.#refused = null;
    this.#used = false;
    const taken = smaller(grant, minus(EVERYTHING, this.#held));
    this.#held = plus(this.#held, taken);
    const untilMs = asked.sentAtMs + Math.min(ttlMs, LEASE_MAX_MS) - MARGIN_MS;
    this.#lease = { n: asked.n, limits: asked.limits, untilMs, whole: covers(grant, asked.want) };
    this.#return(minus(grant, taken), asked.limits, nowMs);
  }

  #giveBack(nowMs: number): void {
    if (this.#lease === null) return;
    const { n, limits } = this.#lease;
    this.#return(this.#held, limits, nowMs);
    this.#outbox.end({ purse: this.id, n, void: false }, nowMs);
    this.#held = NOTHING;
    this.#lease = null;
  }

  #return(released: Amounts, limits: BudgetLimits, nowMs: number): void {
    if (isNothing(released)) return;
    const used = { tokens: 0, nanoUsd: 0 };
    this.#returnLine({ purse: this.id, limits, tags: NO_TAGS, released, used, kind: "settled" }, nowMs);
  }
}
