/**
 * What one isolate remembers of endpoints that fail: after three failures in a row an endpoint is tried last for ten
 * seconds, then in its place again; one answer clears it. It never takes an endpoint out of rotation: that is what health
 * checks decide. Memory is bounded; what is forgotten first was seen first.
 */

/** Failures in a row that put an endpoint last. */
export const FAILURES_TO_DEMOTE = 3;
/** How long it stays there, ms. */
export const DEMOTED_MS = 10_000;
/** Failing endpoints that are remembered. */
const REMEMBERED_MAX = 10_000;

interface Failing {
  readonly failures: number;
  readonly lastUntilMs: number;
}

export class EndpointFailures {
  readonly #failing = new Map<string, Failing>();

  /** Notes an attempt that failed: no answer, a retryable one, or a body that broke. */
  failed(key: string, nowMs: number): void {
    const failures = (this.#failing.get(key)?.failures ?? 0) + 1;
    this.#failing.delete(key);
    this.#failing.set(key, { failures, lastUntilMs: failures >= FAILURES_TO_DEMOTE ? nowMs + DEMOTED_MS : 0 });
    if (this.#failing.size <= REMEMBERED_MAX) return;
    for (const oldest of this.#failing.keys()) {
      this.#failing.delete(oldest);
      break;
    }
  }

  /** Notes an attempt whose answer came whole. */
  answered(key: string): void {
    this.#failing.delete(key);
  }

  /** True while other endpoints are to be tried before this one. */
  isDemoted(key: string, nowMs: number): boolean {
    return nowMs < (this.#failing.get(key)?.lastUntilMs ?? 0);
  }
}
