/**
 * What one cell holds of a tenant's budget, or of a key's own: amounts leased from the budget object, already debited
 * there, and the requests that wait for more. One ask is under way at a time. Requests are served in order. An ask for a
 * waiting request first gives back what is left, so the authority decides as if every request asked it, but for those who
 * come right after a refusal or a silence.
 * Invariant: what was leased is drawn, held or given back, never two of them and never none.
 */
import { type Amounts, covers, isNothing, larger, minus, NOTHING, plus, times } from "./amounts.ts";
import type { LeaseAnswer, LeaseRequest, Refusal, Report, SettleLine, Tags } from "./api.ts";
import type { BudgetLimits } from "./limits.ts";
import type { Outbox } from "./outbox.ts";
import type { TokenBucket } from "./token-bucket.ts";

/** A request that wants to draw. */
export interface Waiter {
  readonly requestId: string;
  readonly limits: BudgetLimits;
  readonly tags: Tags;
  readonly need: Amounts;
}

/** What became of a waiter. */
export type Outcome =
  | { readonly kind: "drawn"; readonly waiter: Waiter }
  | { readonly kind: "refused"; readonly waiter: Waiter; readonly reason: Refusal }
  | { readonly kind: "unavailable"; readonly waiter: Waiter };

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

/** A final refusal. It falls with anything that this cell gives back. */
interface Refused {
  readonly reason: Refusal;
  readonly limits: BudgetLimits;
  readonly told: number;
  readonly untilMs: number;
}

/** The purse stops spending this long before a lease ends. */
const MARGIN_MS = 250;
/** A lease should last this long at the rate of the last one. */
const AHEAD_MS = 2_000;
const AT_LEAST_REQUESTS = 4;
const RETRY_PREFETCH_MS = 1_000;
/**
 * A refusal stands this long for those who come after it: else each of a long queue would hold a slot for a trip, and a
 * tenant without budget would keep the slots of those who have one. No longer than another cell's return may be under way.
 */
const REFUSAL_STANDS_MS = 250;
/** The same for an object that did not answer: who comes next would wait for its deadline, on a slot. */
const SILENCE_STANDS_MS = 250;
/** Requests of a long queue that are summed up for one ask. */
const LOOK_AHEAD = 64;

export class Purse {
  readonly id: string | null;
  readonly #outbox: Outbox;
  readonly #returnLine: (line: SettleLine, nowMs: number) => void;
  readonly #waiters = new Map<string, Waiter>();
  readonly #expected = new Map<string, Waiter>();
  #held: Amounts = NOTHING;
  #lease: { readonly n: number; readonly limits: BudgetLimits; readonly untilMs: number } | null = null;
  #asked: Asked | null = null;
  #refused: Refused | null = null;
  #drawn: Amounts = NOTHING;
  #drawnSinceMs = 0;
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

  /** An answer to ask `n`. A late lease still serves whoever waits; the rest of it goes back at once. */
  answered(n: number, answer: LeaseAnswer, nowMs: number): readonly Outcome[] {
    const asked = this.#asked;
    if (asked?.n !== n) return [];
    const { verdict } = answer;
    this.#asked = null;
    switch (verdict.kind) {
      case "granted":
        this.#take(asked, verdict.grant, verdict.ttlMs);
        this.#prefetchFromMs = 0;
        return this.#drawThenExpire(nowMs);
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

  #drawThenExpire(nowMs: number): readonly Outcome[] {
    const outcomes = this.#draw();
    this.expire(nowMs);
    return outcomes;
  }

  #draw(): readonly Outcome[] {
    const outcomes: Outcome[] = [];
    for (const waiter of this.#waiters.values()) {
      if (!this.#mayDraw(waiter)) break;
      this.#waiters.delete(waiter.requestId);
      this.#held = minus(this.#held, waiter.need);
      this.#drawn = plus(this.#drawn, waiter.need);
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

  #ask(head: Waiter, nowMs: number): LeaseRequest {
    const want = this.#wanted(head, nowMs);
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

  /** Everyone who waits or will, a few requests like this one, or what the last lease's rate needs for a while. */
  #wanted(head: Waiter, nowMs: number): Amounts {
    const all = plus(sumOfFirst(this.#waiters.values()), sumOfFirst(this.#expected.values()));
    const elapsedMs = Math.max(MARGIN_MS, nowMs - this.#drawnSinceMs);
    const ahead = times(this.#drawn, AHEAD_MS / elapsedMs);
    this.#drawn = NOTHING;
    this.#drawnSinceMs = nowMs;
    const few = times(head.need, AT_LEAST_REQUESTS);
    const want = larger(all, larger(ahead, few));
    return head.limits.tenant.tokensPerMinute > 0 ? want : { ...want, bucketTokens: 0 };
  }

  #take(asked: Asked, grant: Amounts, ttlMs: number): void {
    this.#refused = null;
    this.#held = plus(this.#held, grant);
    this.#lease = { n: asked.n, limits: asked.limits, untilMs: asked.sentAtMs + ttlMs - MARGIN_MS };
  }

  #giveBack(nowMs: number): void {
    if (this.#lease === null) return;
    const { n, limits } = this.#lease;
    if (!isNothing(this.#held)) {
      const tags = { tenant: "", key: "" };
      const used = { tokens: 0, nanoUsd: 0 };
      this.#returnLine({ purse: this.id, limits, tags, released: this.#held, used, adopted: false }, nowMs);
    }
    this.#outbox.end({ purse: this.id, n, void: false }, nowMs);
    this.#held = NOTHING;
    this.#lease = null;
  }
}

function sumOfFirst(waiters: Iterable<Waiter>): Amounts {
  let sum = NOTHING;
  let seen = 0;
  for (const { need } of waiters) {
    sum = plus(sum, need);
    seen += 1;
    if (seen === LOOK_AHEAD) break;
  }
  return sum;
}
