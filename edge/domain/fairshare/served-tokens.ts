/**
 * What one competitor - a tenant or a group - counts as served in one line (decisions §20.1), by start-time fair queueing:
 * a start, that is an arrival after its queue was empty, lifts it to the line's virtual time, whatever it still has in flight. Invariant:
 * it never counts less than its last start's floor and what requests charged since have really used, so that neither a
 * pause nor an inflated estimate is credit.
 */
export class ServedTokens {
  #tokens: number;
  /** Position of the last start among all events; requests charged before it are old. */
  #startedAt = Number.NEGATIVE_INFINITY;
  /** What old requests hold it above the floor of the start; negative: how much of the lift they have not used up. */
  #surplus = 0;
  /** Below this no refund of an old request takes the surplus. */
  #least = 0;
  /** Position at which it was copied from another one; requests charged there before are charged here too. */
  readonly #copiedAt: number;

  constructor(tokens = 0, copiedAt = Number.NEGATIVE_INFINITY) {
    this.#tokens = tokens;
    this.#copiedAt = copiedAt;
  }

  /** One whose past is of no account: it begins at `tokens`, and corrections of what was charged before `at` change nothing. */
  static beginning(tokens: number, at: number): ServedTokens {
    const served = new ServedTokens(tokens);
    served.#startedAt = at;
    served.#surplus = Number.NEGATIVE_INFINITY;
    served.#least = Number.NEGATIVE_INFINITY;
    return served;
  }

  /** Tokens served; at least 0 for one that began at 0. */
  get tokens(): number {
    return this.#tokens;
  }

  /** The same past, less `tokens`, going its own way from `at` on. */
  copy(tokens: number, at: number): ServedTokens {
    const copy = new ServedTokens(this.#tokens - tokens, at);
    copy.#startedAt = this.#startedAt;
    copy.#surplus = this.#surplus;
    copy.#least = this.#least;
    return copy;
  }

  /** A start: counts as at least `floor` from now on. */
  start(floor: number, at: number): void {
    this.#startedAt = at;
    this.#surplus = this.#tokens - floor;
    this.#least = Math.min(0, this.#surplus);
    this.#tokens = Math.max(this.#tokens, floor);
  }

  /** New units or another line: counts as `tokens` from now on, of which refunds of old requests may take `surplus` back. */
  rebase(tokens: number, surplus: number, at: number): void {
    this.#tokens = tokens;
    this.#startedAt = at;
    this.#surplus = Math.max(0, surplus);
    this.#least = 0;
  }

  /** The estimate of a request, at its grant. */
  charge(tokens: number): void {
    this.#tokens += tokens;
  }

  /** True when a request that was charged elsewhere at `chargedAt` is among what was copied. */
  holds(chargedAt: number): boolean {
    return chargedAt <= this.#copiedAt;
  }

  /**
   * Actual less estimate of a request charged at `chargedAt`. More than estimated of an old one is set off against the lift
   * since; a refund of an old one gives back no more than what it holds above the floor. No refund takes it below 0.
   */
  correct(tokens: number, chargedAt: number): void {
    let change = tokens;
    if (chargedAt <= this.#startedAt) {
      const before = Math.max(0, this.#surplus);
      this.#surplus = Math.max(this.#least, this.#surplus + tokens);
      change = Math.max(0, this.#surplus) - before;
    }
    this.#tokens = Math.max(this.#tokens + change, Math.min(this.#tokens, 0));
  }
}
