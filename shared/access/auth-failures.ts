/**
 * Decides which wrong admin and internal tokens are reported (docs/rules/authentication.md#wrong-tokens): a line of the log at
 * most once a second, an alert at most once a minute. Pure; time is an argument. Its memory is bounded for any number of wrong
 * tokens from any number of addresses.
 */

/** Wrong tokens within {@link WINDOW_MS} from which an alert is raised. */
const ALERT_FROM = 20;
const WINDOW_MS = 60_000;
const LINE_EVERY_MS = 1_000;
/** Most addresses that are counted separately within the window. */
const ADDRESSES_MAX = 1_000;

/** How long the answer to a wrong token is delayed, ms. */
export const REFUSED_AFTER_MS = 250;

/** What to report after one wrong token. */
interface AuthFailureReport {
  /**
   * A line of the log: wrong tokens since the line before, including this one; null: there was a line within the last
   * second.
   */
  readonly line: { readonly failures: number } | null;
  /**
   * An alert: wrong tokens of the last minute, and from how many addresses; null: too few, or an alert was raised within
   * the last minute.
   */
  readonly alert: { readonly failures: number; readonly addresses: number } | null;
}

export class AuthFailures {
  /** Wrong tokens by second of their arrival, oldest first. */
  readonly #seconds = new Map<number, number>();
  /** When each address was last seen, epoch ms, least recent first. */
  readonly #addresses = new Map<string, number>();
  #sinceLine = 0;
  #lineMs: number | null = null;
  #alertMs: number | null = null;

  /** Counts a wrong token that came from `address` at `nowMs`. */
  note(address: string, nowMs: number): AuthFailureReport {
    this.#forget(nowMs);
    const second = Math.floor(nowMs / 1_000);
    this.#seconds.set(second, (this.#seconds.get(second) ?? 0) + 1);
    this.#addresses.delete(address);
    if (this.#addresses.size < ADDRESSES_MAX) this.#addresses.set(address, nowMs);
    this.#sinceLine += 1;
    return { line: this.#line(nowMs), alert: this.#alert(nowMs) };
  }

  #line(nowMs: number): AuthFailureReport["line"] {
    if (this.#lineMs !== null && isWithin(this.#lineMs, nowMs, LINE_EVERY_MS)) return null;
    const failures = this.#sinceLine;
    this.#lineMs = nowMs;
    this.#sinceLine = 0;
    return { failures };
  }

  #alert(nowMs: number): AuthFailureReport["alert"] {
    if (this.#alertMs !== null && isWithin(this.#alertMs, nowMs, WINDOW_MS)) return null;
    let failures = 0;
    for (const count of this.#seconds.values()) failures += count;
    if (failures < ALERT_FROM) return null;
    this.#alertMs = nowMs;
    return { failures, addresses: this.#addresses.size };
  }

  /** Removes entries older than the window, and times in the future, which remain after a clock was set back. */
  #forget(nowMs: number): void {
    for (const second of this.#seconds.keys()) {
      if (isWithin(second * 1_000, nowMs, WINDOW_MS)) break;
      this.#seconds.delete(second);
    }
    for (const [address, lastMs] of this.#addresses) {
      if (isWithin(lastMs, nowMs, WINDOW_MS)) break;
      this.#addresses.delete(address);
    }
  }
}

function isWithin(atMs: number, nowMs: number, ms: number): boolean {
  return nowMs >= atMs && nowMs - atMs < ms;
}
