/**
 * How much one competitor (a tenant or a group) has been served at one bottleneck (docs/rules/fairshare.md#served-score), by
 * start-time fair queueing: every request adds its tokens / weight, with the weight it was charged with, since the models of a
 * tenant may differ in weight. While that weight is the same for all requests of a competitor, the order is that of served
 * tokens / weight. A start (an arrival after its queue was empty) raises the score to the virtual time of the bottleneck, even
 * with requests in flight. Invariant: the score is never less than the floor of its last start plus what requests charged since
 * have really used, so that neither a pause nor an inflated estimate gives credit.
 */
export class ServedScore {
  #score: number;
  /** Position of the last start among all events; requests charged before it are old. */
  #startedAt = Number.NEGATIVE_INFINITY;
  /**
   * By how much old requests hold the score above the floor of the start; negative: how much of the raise they have not
   * used up.
   */
  #surplus = 0;
  /** Refunds of old requests do not reduce the surplus below this. */
  #least = 0;
  /** Position at which it was copied from another score; requests charged there before are charged here too. */
  readonly #copiedAt: number;
  /** Requests charged before this position do not count. */
  #beganAt = Number.NEGATIVE_INFINITY;
  /** Estimates of requests that have not ended: of those charged since the last start, and of old ones. */
  #inFlight = 0;
  #oldInFlight = 0;

  constructor(score = 0, copiedAt = Number.NEGATIVE_INFINITY) {
    this.#score = score;
    this.#copiedAt = copiedAt;
  }

  /** A score without a past: it starts at `score`, and corrections of charges before `at` change nothing. */
  static beginning(score: number, at: number): ServedScore {
    const served = new ServedScore(score);
    served.#startedAt = at;
    served.#beganAt = at;
    return served;
  }

  /** Tokens / weight of all requests, including estimates of those in flight; at least 0 for a score that started at 0. */
  get score(): number {
    return this.#score;
  }

  /** The score without estimates in flight, as if no unfinished request used anything. */
  get settled(): number {
    return this.#score - this.#inFlight - Math.min(Math.max(0, this.#surplus), this.#oldInFlight);
  }

  /** A copy of the past, less `shift`, that develops on its own from `at` on. */
  copy(shift: number, at: number): ServedScore {
    const copy = new ServedScore(this.#score - shift, at);
    copy.#startedAt = this.#startedAt;
    copy.#surplus = this.#surplus;
    copy.#least = this.#least;
    copy.#beganAt = this.#beganAt;
    copy.#inFlight = this.#inFlight;
    copy.#oldInFlight = this.#oldInFlight;
    return copy;
  }

  /** A start: the score is at least `floor` from now on. */
  start(floor: number, at: number): void {
    this.#startedAt = at;
    this.#surplus = this.#score - floor;
    this.#least = Math.min(0, this.#surplus);
    this.#score = Math.max(this.#score, floor);
    this.#age();
  }

  /**
   * A new weight or another bottleneck: the score is `score` from now on, and refunds of old requests may take back
   * `surplus` of it.
   */
  rebase(score: number, surplus: number, at: number): void {
    this.#score = score;
    this.#startedAt = at;
    this.#surplus = Math.max(0, surplus);
    this.#least = 0;
    this.#age();
  }

  /** Adds the estimate of a request / its weight, at its grant. */
  charge(estimate: number): void {
    this.#score += estimate;
    this.#inFlight += estimate;
  }

  /** True if a request that was charged elsewhere at `chargedAt` is part of the copied score. */
  holds(chargedAt: number): boolean {
    return chargedAt <= this.#copiedAt;
  }

  /**
   * The end of a request charged at `chargedAt`: `change` is actual use less estimate, each / the weight it was charged with.
   * When an old request used more than its estimate, that is set off against the raise since; a refund of an old one returns at
   * most the part of the score above the floor. No refund makes the score negative.
   */
  correct(estimate: number, change: number, chargedAt: number): void {
    if (chargedAt <= this.#beganAt) return;
    let added = change;
    if (chargedAt <= this.#startedAt) {
      this.#oldInFlight = Math.max(0, this.#oldInFlight - estimate);
      const before = Math.max(0, this.#surplus);
      this.#surplus = Math.max(this.#least, this.#surplus + change);
      added = Math.max(0, this.#surplus) - before;
    } else this.#inFlight = Math.max(0, this.#inFlight - estimate);
    this.#score = Math.max(this.#score + added, Math.min(this.#score, 0));
  }

  /** Counts everything in flight as charged before the start that has just been made. */
  #age(): void {
    this.#oldInFlight += this.#inFlight;
    this.#inFlight = 0;
  }
}
