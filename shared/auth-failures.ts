/**
 * What is told of wrong admin and internal tokens (decisions §43.5): a line of the log at most once a second, an alert at
 * most once a minute. Pure; time is an argument. What it remembers is bounded, however many come from however many places.
 */

/** Wrong tokens within {@link WINDOW_MS} that an alert is raised from. */
const ALERT_FROM = 20;
const WINDOW_MS = 60_000;
const LINE_EVERY_MS = 1_000;
/** Addresses that are told apart within the window. */
const ADDRESSES_MAX = 1_000;

/** How long a wrong token waits for its answer, in milliseconds. */
export const REFUSED_AFTER_MS = 250;

/** What one wrong token gives cause to say. */
interface AuthFailureReport {
  /** A line of the log: wrong tokens since the line before, this one included; null: there was one within a second. */
  readonly line: { readonly failures: number } | null;
  /** An alert: wrong tokens of the last minute, and from how many addresses; null: not yet, or told within a minute. */
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

  /** Notes a wrong token that came from `address` at `nowMs`. */
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

  /** Lets go of what is older than the window, and of what a clock that was set back has left in the future. */
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
