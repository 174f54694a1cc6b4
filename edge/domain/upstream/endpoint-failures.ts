/**
 * What one isolate remembers of failing endpoints: after three failures in a row an endpoint is tried last for ten seconds,
 * then in its normal order again; one answer clears its failures. It never takes an endpoint out of rotation: health checks
 * decide that. Memory is bounded; the endpoint that failed first is forgotten first.
 */

/** Failures in a row after which an endpoint is tried last. */
export const FAILURES_TO_DEMOTE = 3;
/** How long it is tried last, ms. */
export const DEMOTED_MS = 10_000;
/** Most failing endpoints that are remembered. */
const REMEMBERED_MAX = 10_000;

interface Failing {
  readonly failures: number;
  readonly lastUntilMs: number;
}

export class EndpointFailures {
  readonly #failing = new Map<string, Failing>();

  /** Counts an attempt that failed: no answer, a retryable one, or a body that broke off. */
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

  /** Records an attempt whose answer was complete. */
  answered(key: string): void {
    this.#failing.delete(key);
  }

  /** True while other endpoints are to be tried before this one. */
  isDemoted(key: string, nowMs: number): boolean {
    return nowMs < (this.#failing.get(key)?.lastUntilMs ?? 0);
  }
}
