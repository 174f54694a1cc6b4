/**
 * How far one competitor - a tenant or a group - has come in one line (docs/rules/fairshare.md#served-score), by
 * start-time fair queueing: every request adds its tokens / weight, with the weight it was charged with, since a
 * tenant's models may differ in weight. While that weight is the same for all requests of a competitor, the order is
 * that of served tokens / weight. A start, that is an arrival after its queue was empty, lifts it to the line's virtual
 * time, whatever it still has in flight. Invariant: it never counts less than its last start's floor and what requests
 * charged since have really used, so that neither a pause nor an inflated estimate is credit.
 */
export class ServedScore {
  #score: number;
  /** Position of the last start among all events; requests charged before it are old. */
  #startedAt = Number.NEGATIVE_INFINITY;
  /** What old requests hold it above the floor of the start; negative: how much of the lift they have not used up. */
  #surplus = 0;
  /** Below this no refund of an old request takes the surplus. */
  #least = 0;
  /** Position at which it was copied from another one; requests charged there before are charged here too. */
  readonly #copiedAt: number;
  /** Requests charged before this position are of no account. */
  #beganAt = Number.NEGATIVE_INFINITY;
  /** Estimates of requests that have not ended: of those charged since the last start, and of old ones. */
  #inFlight = 0;
  #oldInFlight = 0;

  constructor(score = 0, copiedAt = Number.NEGATIVE_INFINITY) {
    this.#score = score;
    this.#copiedAt = copiedAt;
  }

  /** One whose past is of no account: it begins at `score`, and corrections of what was charged before `at` change nothing. */
  static beginning(score: number, at: number): ServedScore {
    const served = new ServedScore(score);
    served.#startedAt = at;
    served.#beganAt = at;
    return served;
  }

  /** Tokens / weight of all requests, estimates of those in flight included; at least 0 for one that began at 0. */
  get score(): number {
    return this.#score;
  }

  /** The same without estimates in flight: what it would be if nothing that has not ended used anything. */
  get settled(): number {
    return this.#score - this.#inFlight - Math.min(Math.max(0, this.#surplus), this.#oldInFlight);
  }

  /** The same past, less `shift`, going its own way from `at` on. */
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

  /** A start: counts as at least `floor` from now on. */
  start(floor: number, at: number): void {
    this.#startedAt = at;
    this.#surplus = this.#score - floor;
    this.#least = Math.min(0, this.#surplus);
    this.#score = Math.max(this.#score, floor);
    this.#age();
  }

  /** A new weight or another line: counts as `score` from now on, of which refunds of old requests may take `surplus` back. */
  rebase(score: number, surplus: number, at: number): void {
    this.#score = score;
    this.#startedAt = at;
    this.#surplus = Math.max(0, surplus);
    this.#least = 0;
    this.#age();
  }

  /** The estimate of a request / its weight, at its grant. */
  charge(estimate: number): void {
    this.#score += estimate;
    this.#inFlight += estimate;
  }

  /** True when a request that was charged elsewhere at `chargedAt` is among what was copied. */
  holds(chargedAt: number): boolean {
    return chargedAt <= this.#copiedAt;
  }

  /**
   * The end of a request charged at `chargedAt`: `change` is actual less estimate, each / the weight it was charged with. More
   * than estimated of an old one is set off against the lift since; a refund of an old one gives back no more than what it
   * holds above the floor. No refund takes it below 0.
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

  /** Whatever is in flight was charged before the start that has just been made. */
  #age(): void {
    this.#oldInFlight += this.#inFlight;
    this.#inFlight = 0;
  }
}
