/**
 * A Cell's alerts on their way to its Ledger. Those of budgets have an id of their own and are due once per period: they
 * are kept until the Ledger has them. Those of failures are counted, and leave together when they repeat.
 */

import type { AlertEvent, Issue } from "../../../shared/alerts.ts";
import type { BudgetAlert } from "../../domain/budget/alerts.ts";
import type { AlertChannel } from "../object-ports.ts";

const RETRY_MS = 1_000;
const RETRY_MAX_MS = 30_000;
/** The oldest are dropped beyond this, as in the Ledger (docs/rules/alerts.md#bounds). */
const WAITING_MAX = 1_000;

interface Waiting {
  readonly event: AlertEvent;
  readonly arrived: () => void;
}

export class AlertForwarder {
  readonly #alerts: AlertChannel;
  readonly #now: () => number;
  #waiting: Waiting[] = [];
  #retryMs = RETRY_MS;
  #sending = false;

  constructor(alerts: AlertChannel, now: () => number) {
    this.#alerts = alerts;
    this.#now = now;
  }

  /** A failure; what repeats is counted (ledger-alerts.ts). */
  raise(issue: Issue): void {
    this.#alerts.raise(issue);
  }

  /** An alert that has to arrive, once. Resolves when the Ledger has it; never, when it was dropped. */
  async deliver(alert: BudgetAlert): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push({ event: { ...alert, atMs: this.#now(), count: 1 }, arrived: resolve });
    if (this.#waiting.length > WAITING_MAX) this.#waiting.shift();
    if (!this.#sending) void this.#send();
    await promise;
  }

  async #send(): Promise<void> {
    this.#sending = true;
    const sent = [...this.#waiting];
    try {
      await this.#alerts.deliver(sent.map(({ event }) => event));
      this.#waiting = this.#waiting.filter((alert) => !sent.includes(alert));
      for (const { arrived } of sent) arrived();
      this.#retryMs = RETRY_MS;
    } catch {
      this.#retryMs = Math.min(RETRY_MAX_MS, this.#retryMs * 2);
    }
    this.#sending = false;
    if (this.#waiting.length === 0) return;
    this.#sending = true;
    setTimeout(() => void this.#send(), this.#retryMs);
  }
}
