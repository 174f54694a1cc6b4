/**
 * The possible output limits of a realtime session (docs/rules/realtime.md#budgets): the one that its upstream stated last, and
 * those that its client has requested since. Null means no limit.
 */
type Limit = number | null;

interface Asked {
  readonly id: unknown;
  /** Undefined: the settings state none. */
  readonly limit: Limit | undefined;
}

/** Settings that wait for their upstream's answer; then the oldest count as taken. */
const WAITING = 32;

export class OutputLimits {
  /** No limit, and the largest one, of those that may be in force. */
  #known: readonly Limit[] = [null];
  #asked: readonly Asked[] = [];

  /** Every limit that may be in force. */
  get possible(): readonly Limit[] {
    return this.#asked.reduce((known, { limit }) => widened(known, limit), this.#known);
  }

  /** The upstream states the limit. */
  stated(limit: Limit): void {
    this.#known = [limit];
  }

  /** The client has sent settings in an event with this id. */
  asked(id: unknown, limit: Limit | undefined): void {
    this.#asked = [...this.#asked, { id, limit }];
    if (this.#asked.length > WAITING) this.taken();
  }

  /** The upstream has taken the oldest settings. Before it states the limit, the earlier one may still count. */
  taken(): void {
    const [oldest, ...others] = this.#asked;
    this.#known = widened(this.#known, oldest?.limit);
    this.#asked = others;
  }

  /** The upstream has refused the event with this id. */
  refused(id: string): void {
    const at = this.#asked.findIndex((asked) => asked.id === id);
    this.#asked = this.#asked.filter((_, index) => index !== at);
  }
}

function widened(known: readonly Limit[], limit: Limit | undefined): readonly Limit[] {
  if (limit === undefined || known.includes(limit)) return known;
  if (limit === null) return [null, ...known];
  const largest = Math.max(limit, ...known.filter((other) => other !== null));
  return known.includes(null) ? [null, largest] : [largest];
}
