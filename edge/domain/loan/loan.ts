/**
 * What an isolate holds of one shape - one key on one model: free slots, an allowance of tokens and money, and what its
 * requests did lately, from which it tells how much it wants. Whoever takes a slot takes its tokens too, or neither.
 */
import type { Ask, Grant } from "../ask.ts";
import { type Amounts, covers, larger, minus, NOTHING, plus, times } from "../budget/amounts.ts";
import { adjustBucket, type BucketLevel, bucketLevel, type TokenBucket, touchBucket } from "../budget/token-bucket.ts";
import type { Lent, Shape, Wish } from "./messages.ts";

/** Demand is measured over this long; what a whole span did not need goes back at its end. */
export const SPAN_MS = 1_000;
/** Slots of one shape that one isolate may hold. */
export const SLOTS_MAX = 256;
/** An allowance is to last for this part of what the last span and this one drew, and for a few requests at least. */
const AHEAD = 0.5;
const REQUESTS_AHEAD = 8;
/** A wish that got nothing rests for this long: a Cell that is full, or a limit that is near, stays so for a while. */
const REST_MS = 50;

export class Loan {
  /** Its number in the session. */
  readonly number: number;
  readonly shape: Shape;
  #free = 0;
  #inUse = 0;
  #rest: Amounts = NOTHING;
  #bucket: TokenBucket | null = null;
  #peak = 0;
  #peakBefore = 0;
  #missed = 0;
  #taken = 0;
  #spent: Amounts = NOTHING;
  #spentBefore: Amounts = NOTHING;
  #lastNeed: Amounts = NOTHING;
  /** Slots of the wish that waits for its answer; null: none does. */
  #wished: number | null = null;
  #restsUntilMs = 0;

  /** `wanted`: slots to ask for first, for requests that need as much as `need`. */
  constructor(number: number, shape: Shape, wanted: number, need: Amounts) {
    this.number = number;
    this.shape = shape;
    this.#missed = wanted;
    this.#lastNeed = this.needOf({ need });
    this.#spentBefore = times(this.#lastNeed, wanted);
  }

  /** What its last request drew. */
  get lastNeed(): Amounts {
    return this.#lastNeed;
  }

  /** Slots that its requests used at once, in this span or the last. */
  get demand(): number {
    return Math.max(this.#peak, this.#peakBefore);
  }

  /** A slot with the request's tokens; null when it has not both. Then the miss is remembered for the next wish. */
  take(ask: Pick<Ask, "need">, nowMs: number): Grant | null {
    const need = this.needOf(ask);
    this.#lastNeed = need;
    if (this.#free === 0 || !covers(this.#rest, need)) {
      this.#missed += this.#free === 0 ? 1 : 0;
      return null;
    }
    this.#free -= 1;
    this.#inUse += 1;
    this.#taken += 1;
    this.#peak = Math.max(this.#peak, this.#inUse);
    this.#rest = minus(this.#rest, need);
    this.#spent = plus(this.#spent, need);
    return { admission: "fast", queueWaitMs: 0, level: this.#level(nowMs) };
  }

  /** What a request draws here: nothing from a bucket that is none. */
  needOf({ need }: Pick<Ask, "need">): Amounts {
    return this.shape.limits.tenant.tokensPerMinute > 0 ? need : { ...need, bucketTokens: 0 };
  }

  /** A request has ended; its slot is free again. */
  back(): void {
    this.#inUse -= 1;
    this.#free += 1;
  }

  /** A request goes on with its slot outside of the loan. */
  gone(): void {
    this.#inUse -= 1;
  }

  lent({ slots, amounts, level }: Lent, nowMs: number): void {
    if (amounts === null || (slots === 0 && this.#wished !== 0)) this.#restsUntilMs = nowMs + REST_MS;
    this.#wished = null;
    this.#free += slots;
    if (amounts !== null) this.#rest = plus(this.#rest, amounts);
    if (level !== null) this.#bucket = bucketOf(level, nowMs);
  }

  /** What it lacks; null: nothing, or it has asked already, or just now in vain. */
  wish(nowMs: number): Wish | null {
    if (this.#wished !== null) return null;
    const slots = Math.min(this.#missed, SLOTS_MAX - this.#free - this.#inUse);
    const ahead = larger(times(plus(this.#spentBefore, this.#spent), AHEAD), times(this.#lastNeed, REQUESTS_AHEAD));
    const short = !covers(this.#rest, times(ahead, 0.5));
    this.#missed = 0;
    if ((slots <= 0 && !short) || nowMs < this.#restsUntilMs) return null;
    this.#wished = Math.max(0, slots);
    const amounts = short ? larger(NOTHING, minus(ahead, this.#rest)) : NOTHING;
    return { shape: this.number, slots: this.#wished, amounts, atLeast: short ? this.#lastNeed : NOTHING };
  }

  /** The end of a span: answers the free slots that it did not need, now let go of; null: it was not used at all. */
  endSpan(): number | null {
    const used = this.#taken > 0 || this.#inUse > 0 || this.#missed > 0;
    const keep = this.#peak + Math.ceil(this.#peak / 4);
    const surplus = Math.max(0, Math.min(this.#free, this.#free + this.#inUse - keep));
    this.#free -= surplus;
    this.#peakBefore = this.#peak;
    this.#peak = this.#inUse;
    this.#taken = 0;
    this.#spentBefore = this.#spent;
    this.#spent = NOTHING;
    return used ? surplus : null;
  }

  /** The bucket after the request's own reserve: as the Cell told it, with what this allowance still has. */
  #level(nowMs: number): BucketLevel | null {
    if (this.#bucket === null) return null;
    const own = touchBucket(this.#bucket, this.#bucket.capTokens, nowMs);
    return bucketLevel(adjustBucket(own, this.#rest.bucketTokens));
  }
}

/** The key of a shape: requests of one key on one model. */
export function shapeKeyOf(ask: Pick<Ask, "limits" | "model">): string {
  return `${ask.limits.key.id} ${ask.model.name}`;
}

/** Whether the records that a request was built from are those of the loan, revision by revision (design §5). */
export function sameRevs(one: Shape["revs"], other: Shape["revs"]): boolean {
  return (
    one.length === other.length &&
    one.every((item, at) => {
      const twin = other[at];
      return item.rev === twin?.rev && item.id === twin.id && item.kind === twin.kind;
    })
  );
}

function bucketOf({ limitTokens, remainingTokens }: BucketLevel, nowMs: number): TokenBucket {
  return { capTokens: limitTokens, levelTokens: remainingTokens, atMs: nowMs };
}
