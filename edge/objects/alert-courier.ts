/**
 * A Cell's alerts on their way to its Ledger. Those of budgets have an id of their own and are due once per period: they
 * are kept until the Ledger has them. Those of failures are raised anew while the failure lasts, so one may be lost.
 */
import type { Issue } from "../../shared/alerts.ts";
import type { LedgerAlerts } from "../adapters/ledger-alerts.ts";
import type { BudgetAlert } from "../domain/budget/alerts.ts";

const RETRY_MS = 1_000;
const RETRY_MAX_MS = 30_000;
/** The oldest are dropped beyond this, as in the Ledger (decisions §35). */
const WAITING_MAX = 1_000;

export class AlertCourier {
  readonly #alerts: Pick<LedgerAlerts, "raise" | "deliver">;
  readonly #now: () => number;
  #waiting: (BudgetAlert & { readonly atMs: number })[] = [];
  #retryMs = RETRY_MS;
  #sending = false;

  constructor(alerts: Pick<LedgerAlerts, "raise" | "deliver">, now: () => number) {
    this.#alerts = alerts;
    this.#now = now;
  }

  /** A failure; told at most once per while. */
  raise(issue: Issue): void {
    this.#alerts.raise(issue);
  }

  /** An alert that has to arrive, once. */
  tell(alert: BudgetAlert): void {
    this.#waiting.push({ ...alert, atMs: this.#now() });
    if (this.#waiting.length > WAITING_MAX) this.#waiting.shift();
    if (!this.#sending) void this.#send();
  }

  async #send(): Promise<void> {
    this.#sending = true;
    const sent = [...this.#waiting];
    try {
      await this.#alerts.deliver(sent);
      this.#waiting = this.#waiting.filter((alert) => !sent.includes(alert));
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
