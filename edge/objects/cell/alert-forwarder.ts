/**
 * Sends the alerts of budgets from a Cell to its Ledger: they have an id of their own and are due once per period, so they are kept
 * until the Ledger has them.
 */

import type { AlertEvent } from "../../../shared/alerts.ts";
import { sleep } from "../../../shared/sleep.ts";
import type { BudgetAlert } from "../../domain/budget/alerts.ts";
import type { AlertChannel } from "../object-ports.ts";

const RETRY_MS = 1_000;
const RETRY_MAX_MS = 30_000;
/** Beyond this number the oldest is dropped, as in the Ledger (docs/rules/alerts.md#bounds). */
const WAITING_MAX = 1_000;

interface Waiting {
  readonly event: AlertEvent;
  readonly arrived: () => void;
}

export class AlertForwarder {
  readonly #alerts: AlertChannel;
  readonly #now: () => number;
  #waiting: Waiting[] = [];
  #sending = false;

  constructor(alerts: AlertChannel, now: () => number) {
    this.#alerts = alerts;
    this.#now = now;
  }

  /**
   * Takes an alert that must arrive exactly once. Resolves when the Ledger has it; never resolves when the alert was
   * dropped.
   */
  async deliver(alert: BudgetAlert): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push({ event: { ...alert, atMs: this.#now(), count: 1 }, arrived: resolve });
    if (this.#waiting.length > WAITING_MAX) this.#waiting.shift();
    if (!this.#sending) void this.#send();
    await promise;
  }

  async #send(): Promise<void> {
    this.#sending = true;
    for (let retryMs = RETRY_MS; this.#waiting.length > 0; await sleep(retryMs)) {
      const sent = [...this.#waiting];
      try {
        await this.#alerts.deliver(sent.map(({ event }) => event));
        this.#waiting = this.#waiting.filter((alert) => !sent.includes(alert));
        for (const { arrived } of sent) arrived();
        if (this.#waiting.length === 0) break;
        retryMs = RETRY_MS;
      } catch {
        retryMs = Math.min(RETRY_MAX_MS, retryMs * 2);
      }
    }
    this.#sending = false;
  }
}
