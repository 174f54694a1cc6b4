/**
 * One isolate's memory of failing servers: an upstream's endpoint, the classifier of `auto`, the compression sidecar. After
 * three failures in a row a server counts as failing for ten seconds, and again after the next failure; one answer clears its
 * failures. The caller decides the consequence: an endpoint is tried last, and a server that requests can do without is not
 * called. Memory is bounded; the server that failed first is forgotten first.
 */

/** Failures in a row after which a server counts as failing. */
export const FAILURES_IN_A_ROW = 3;
/** How long it does, ms. */
export const FAILING_MS = 10_000;
/** Most failing servers that are remembered. */
const REMEMBERED_MAX = 10_000;

interface Failing {
  readonly failures: number;
  readonly failingUntilMs: number;
}

export class RecentFailures {
  readonly #failing = new Map<string, Failing>();

  /** Counts an attempt that failed: no answer, one that does not count as one, or a body that broke off. */
  failed(key: string, nowMs: number): void {
    const failures = (this.#failing.get(key)?.failures ?? 0) + 1;
    this.#failing.delete(key);
    this.#failing.set(key, { failures, failingUntilMs: failures >= FAILURES_IN_A_ROW ? nowMs + FAILING_MS : 0 });
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

  /** Whether the server failed three times in a row, the last time less than ten seconds ago. */
  isFailing(key: string, nowMs: number): boolean {
    return nowMs < (this.#failing.get(key)?.failingUntilMs ?? 0);
  }
}
