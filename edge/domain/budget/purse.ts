/**
 * What one cell holds of a tenant's budget, or of a key's own: amounts leased from the budget object, already debited
 * there, and the requests that wait for more. One ask is under way at a time. Requests are served in order. An ask for a
 * waiting request first gives back what is left, so the authority decides as if every request asked it, but for those who
 * come right after a refusal or a silence.
 * Invariant: what was leased is drawn, held or given back, never two of them and never none.
 */
import { type Amounts, covers, isNothing, minus, NOTHING, plus, smaller, times } from "./amounts.ts";
import type { LeaseAnswer, LeaseRequest, Refusal, Report, SettleLine } from "./api.ts";
import { Demand } from "./demand.ts";
import type { BudgetLimits } from "./limits.ts";
import type { Outbox } from "./outbox.ts";
import { NO_TAGS } from "./tags.ts";
import type { TokenBucket } from "./token-bucket.ts";
import type { Outcome, Waiter } from "./waiter.ts";

interface Asked {
  readonly n: number;
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
const RETRY_PREFETCH_MS = 1_000;
/**
 * A refusal stands this long for those who come after it: else each of a long queue would hold a slot for a trip, and a
 * tenant without budget would keep the slots of those who have one. No longer than another cell's return may be under way.
 */
const REFUSAL_STANDS_MS = 250;
/** The same for an object that did not answer: who comes next would wait for its deadline, on a slot. */
const SILENCE_STANDS_MS = 250;
/** At most this part of what is held is lent at once; below the same part of what was wanted it is time to ask. */
const LENT_PART = 0.5;

export class Purse {
  readonly id: string | null;
  readonly #outbox: Outbox;
  readonly #returnLine: (line: SettleLine, nowMs: number) => void;
  readonly #waiters = new Map<string, Waiter>();
  readonly #expected = new Map<string, Waiter>();
  #held: Amounts = NOTHING;
  #lease: Lease | null = null;
  #asked: Asked | null = null;
  #refused: Refused | null = null;
  readonly #demand = new Demand();
  #prefetchFromMs = 0;
  #silentUntilMs = 0;

  /** `returnLine` takes the line that gives back what is unspent. */
  constructor(id: string | null, outbox: Outbox, returnLine: (line: SettleLine, nowMs: number) => void) {
    this.id = id;
    this.#outbox = outbox;
    this.#returnLine = returnLine;
  }

  get held(): Amounts {
    return this.#held;
  }

  get idle(): boolean {
    const resting = this.#lease === null && this.#asked === null && this.#refused === null;
    return resting && this.#waiters.size === 0 && this.#expected.size === 0;
  }

  /** When {@link expire} has something to do; null without a lease or a refusal that stands. */
  get endsAtMs(): number | null {
    return this.#lease?.untilMs ?? this.#refused?.untilMs ?? null;
  }

  /** A request that will want to draw once the scheduler lets it. */
  expect(waiter: Waiter): void {
    this.#expected.set(waiter.requestId, waiter);
  }

  wait(waiter: Waiter): void {
    this.#expected.delete(waiter.requestId);
    this.#waiters.set(waiter.requestId, waiter);
  }

  forget(requestId: string): void {
    this.#expected.delete(requestId);
    this.#waiters.delete(requestId);
  }

  /** Whether a request waits, or is about to. */
  knows(requestId: string): boolean {
    return this.#expected.has(requestId) || this.#waiters.has(requestId);
  }

  /**
   * Draws for requests to come: at most `want` and half of what is held, at least `atLeast`; null, and nothing is drawn, else.
   * Null too while somebody waits, and near a limit, where what is lent could be missed by whoever asks.
   */
  lend(limits: BudgetLimits, want: Amounts, atLeast: Amounts, nowMs: number): Amounts | null {
    const lease = this.#lease;
    if (lease === null || !lease.whole || nowMs >= lease.untilMs || this.#waiters.size > 0) return null;
    if (this.#isNewer(limits, lease.limits) || this.#isNewer(lease.limits, limits)) return null;
    const drawn = smaller(want, times(this.#held, LENT_PART));
    if (!covers(drawn, atLeast)) return null;
    this.#held = minus(this.#held, drawn);
    this.#demand.drew(drawn);
    return drawn;
  }

  /** Serves waiters in order from what is held, or by a refusal or silence of just now; `bucket` is as of now. */
  serve(nowMs: number, bucket: TokenBucket | null): readonly Outcome[] {
    const lease = this.#lease;
    if (lease !== null) return nowMs >= lease.untilMs ? [] : this.#draw();
    this.#forgive(nowMs);
    const refused = this.#refused;
    if (this.#asked !== null) return [];
    if (nowMs < this.#silentUntilMs) return this.#giveUp();
    if (refused === null || bucket === null) return [];
    if (refused.told !== this.#outbox.added) return [];
    return this.#refuse(refused.reason, refused.limits, bucket);
  }

  /** The ask that should leave now, if any; call it after {@link serve}. */
  nextAsk(nowMs: number): LeaseRequest | null {
    if (this.#asked !== null) return null;
    const [head] = this.#waiters.values();
    if (head !== undefined) {
      this.#giveBack(nowMs);
      return this.#ask(head, nowMs);
    }
    const [next] = this.#expected.values();
    if (next === undefined || nowMs < this.#prefetchFromMs || this.#mayDraw(next)) return null;
    return this.#ask(next, nowMs);
  }

  /**
   * The ask that should leave now so that lends go on, if any: when there is no lease under these limits, or little is left of
   * one. `piece.need` is what one request needs, `want` what is lent at a time.
   */
  nextAskToLend(piece: Waiter, want: Amounts, nowMs: number): LeaseRequest | null {
    if (this.#asked !== null || this.#waiters.size > 0 || nowMs < this.#prefetchFromMs) return null;
    const lease = this.#lease;
    if (lease !== null && !this.#isNewer(piece.limits, lease.limits)) {
      if (!lease.whole || covers(this.#held, times(this.#demand.wanted, LENT_PART))) return null;
    }
    return this.#ask(piece, nowMs, want);
  }

  /** An answer to ask `n`. A late lease still serves whoever waits; the rest of it goes back at once. */
  answered(n: number, answer: LeaseAnswer, nowMs: number): readonly Outcome[] {
    const asked = this.#asked;
    if (asked?.n !== n) return [];
    const { verdict } = answer;
    this.#asked = null;
    switch (verdict.kind) {
      case "granted": {
        this.#take(asked, verdict.grant, verdict.ttlMs);
        this.#prefetchFromMs = 0;
        const outcomes = this.#draw();
        this.expire(nowMs);
        return outcomes;
      }
      case "behind":
        // Nothing was decided; the next ask brings what the object lacks.
        this.#outbox.end({ purse: this.id, n, void: true }, nowMs);
        return [];
      case "refused":
        this.#outbox.end({ purse: this.id, n, void: true }, nowMs + RETRY_PREFETCH_MS);
        this.#prefetchFromMs = nowMs + RETRY_PREFETCH_MS;
        if (!asked.empty) return [];
        this.#refused = {
          reason: verdict.reason,
          limits: asked.limits,
          told: asked.told,
          untilMs: nowMs + REFUSAL_STANDS_MS,
        };
        return this.#refuse(verdict.reason, asked.limits, answer.bucket);
      case "stale":
        return this.#giveUp();
      default:
        return verdict satisfies never;
    }
  }

  /** Ask `n` had no answer: if it was granted after all, that lease is void. */
  failed(n: number, nowMs: number): readonly Outcome[] {
    if (this.#asked?.n !== n) return [];
    this.#asked = null;
    this.#prefetchFromMs = nowMs + RETRY_PREFETCH_MS;
    this.#silentUntilMs = nowMs + SILENCE_STANDS_MS;
    this.#outbox.end({ purse: this.id, n, void: true }, nowMs);
    return this.#giveUp();
  }

  /** Gives back what a lease that ends has left; a refusal stands no longer. */
  expire(nowMs: number): void {
    this.#forgive(nowMs);
    if (this.#lease !== null && nowMs >= this.#lease.untilMs) this.#giveBack(nowMs);
  }

  #forgive(nowMs: number): void {
    if (this.#refused !== null && nowMs >= this.#refused.untilMs) this.#refused = null;
  }

  #draw(): readonly Outcome[] {
    const outcomes: Outcome[] = [];
    for (const waiter of this.#waiters.values()) {
      if (!this.#mayDraw(waiter)) break;
      this.#waiters.delete(waiter.requestId);
      this.#held = minus(this.#held, waiter.need);
      this.#demand.drew(waiter.need);
      outcomes.push({ kind: "drawn", waiter });
    }
    return outcomes;
  }

  /** Limits that are newer than the lease bind at once: it is given back and asked for anew. */
  #mayDraw(waiter: Waiter): boolean {
    const lease = this.#lease;
    return lease !== null && !this.#isNewer(waiter.limits, lease.limits) && covers(this.#held, waiter.need);
  }

  #isNewer(limits: BudgetLimits, than: BudgetLimits): boolean {
    return limits.tenant.rev > than.tenant.rev || (this.id !== null && limits.key.rev > than.key.rev);
  }

  /** What was decided for the head holds for all who wait under the same limits, each by its own size. */
  #refuse(reason: Refusal, limits: BudgetLimits, bucket: TokenBucket): readonly Outcome[] {
    const outcomes: Outcome[] = [];
    for (const waiter of this.#waiters.values()) {
      if (this.#isNewer(waiter.limits, limits)) continue;
      const short = bucket.capTokens > 0 && waiter.need.bucketTokens > bucket.levelTokens;
      if (reason === "rate" && !short) continue;
      this.#waiters.delete(waiter.requestId);
      outcomes.push({ kind: "refused", waiter, reason: short ? "rate" : reason });
    }
    return outcomes;
  }

  #giveUp(): readonly Outcome[] {
    const outcomes = [...this.#waiters.values()].map((waiter) => ({ kind: "unavailable", waiter }) as const);
    this.#waiters.clear();
    return outcomes;
  }

  #ask(head: Waiter, nowMs: number, piece = head.need): LeaseRequest {
    const queues = [this.#waiters.values(), this.#expected.values()];
    const want = this.#demand.next(head.limits, piece, queues, nowMs);
    const asked: Asked = {
      n: this.#outbox.nextNumber(),
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

  #take(asked: Asked, grant: Amounts, ttlMs: number): void {
    this.#refused = null;
    this.#held = plus(this.#held, grant);
    const untilMs = asked.sentAtMs + ttlMs - MARGIN_MS;
    this.#lease = { n: asked.n, limits: asked.limits, untilMs, whole: covers(grant, asked.want) };
  }

  #giveBack(nowMs: number): void {
    if (this.#lease === null) return;
    const { n, limits } = this.#lease;
    if (!isNothing(this.#held)) {
      const used = { tokens: 0, nanoUsd: 0 };
      this.#returnLine({ purse: this.id, limits, tags: NO_TAGS, released: this.#held, used, kind: "settled" }, nowMs);
    }
    this.#outbox.end({ purse: this.id, n, void: false }, nowMs);
    this.#held = NOTHING;
    this.#lease = null;
  }
}
