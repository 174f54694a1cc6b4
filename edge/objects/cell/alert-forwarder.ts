/**
 * A Cell's alerts on their way to its Ledger. Those of budgets have an id of their own and are due once per period: they
 * are kept until the Ledger has them. Those of failures are counted, and leave together when they repeat.
 */

import type { AlertEvent, Issue } from "../../../shared/alerts.ts";
import { consoleLog } from "../../adapters/console-log.ts";
import { alertLedgerOf, LedgerAlerts } from "../../adapters/objects/ledger-alerts.ts";
import type { ObjectStubs } from "../../adapters/objects/object-stubs.ts";
import { timerSleep } from "../../adapters/timer-sleep.ts";
import type { BudgetAlert } from "../../domain/budget/alerts.ts";

const RETRY_MS = 1_000;
const RETRY_MAX_MS = 30_000;
/** The oldest are dropped beyond this, as in the Ledger (decisions §35). */
const WAITING_MAX = 1_000;

interface Waiting {
  readonly event: AlertEvent;
  readonly arrived: () => void;
}

class AlertForwarder {
  readonly #alerts: Pick<LedgerAlerts, "raise" | "deliver">;
  readonly #now: () => number;
  #waiting: Waiting[] = [];
  #retryMs = RETRY_MS;
  #sending = false;

  constructor(alerts: Pick<LedgerAlerts, "raise" | "deliver">, now: () => number) {
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

/** The alert forwarder of a Cell: its alerts go to the Ledger that keeps the cell's alerts. */
export function alertForwarderOf(
  cell: string,
  places: ObjectStubs,
  keepAlive: (work: Promise<unknown>) => void,
): AlertForwarder {
  const ledger = () => places.ledger(alertLedgerOf(cell));
  const uuid = () => crypto.randomUUID();
  const options = { ledger, clock: Date.now, sleep: timerSleep, uuid, keepAlive, log: consoleLog };
  return new AlertForwarder(new LedgerAlerts(options), Date.now);
}
