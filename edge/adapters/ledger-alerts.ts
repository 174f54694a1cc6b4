/**
 * Alerts by way of the cell's first Ledger, which keeps them until the control service has them (decisions §0.4, §35).
 * Raising never delays or fails what it is raised about, and the same issue leaves one isolate or object at most once
 * per {@link QUIET_MS}: a store that fails a thousand requests a second is one alert.
 */
import type { AlertEvent, Issue } from "../../shared/alerts.ts";
import type { LedgerApi } from "../domain/ask.ts";
import type { Alerts, Clock, Log } from "../ports.ts";

export const QUIET_MS = 10_000;
/** Issues that are remembered; the least recently raised is forgotten first. */
const ISSUES_MAX = 1000;

export interface LedgerAlertsOptions {
  /** A fresh stub of the Ledger that keeps the cell's alerts ({@link alertLedgerOf}). */
  readonly ledger: () => Pick<LedgerApi, "alert">;
  readonly clock: Clock;
  readonly uuid: () => string;
  /** Lets a hand-over outlive the request that raised it. */
  readonly keepAlive: (work: Promise<unknown>) => void;
  readonly log: Log;
}

/** The name of the Ledger object that keeps a cell's alerts. */
export function alertLedgerOf(cell: string): string {
  return `${cell}:0`;
}

export class LedgerAlerts implements Alerts {
  readonly #options: LedgerAlertsOptions;
  /** Issue key -> when it was raised last, epoch ms; oldest first. */
  readonly #raised = new Map<string, number>();

  constructor(options: LedgerAlertsOptions) {
    this.#options = options;
  }

  raise(issue: Issue): void {
    const { clock, uuid, keepAlive, log } = this.#options;
    const atMs = clock();
    const lastMs = this.#raised.get(issue.issueKey);
    // A clock that was set back says nothing about when the issue was told.
    if (lastMs !== undefined && Math.abs(atMs - lastMs) < QUIET_MS) return;
    this.#remember(issue.issueKey, atMs);
    const { issueKey, title, detail } = issue;
    const handedOver = this.deliver([{ id: uuid(), issueKey, title, detail, atMs }]);
    keepAlive(handedOver.catch(() => log.event("alert_lost", { key: issueKey })));
  }

  /**
   * Hands over events that have an id of their own, every one of them, and again under the same id if need be. Resolves
   * when they are on the Ledger's disk; rejects when it could not be reached, tried twice.
   */
  async deliver(events: readonly AlertEvent[]): Promise<void> {
    if (events.length === 0) return;
    try {
      await this.#options.ledger().alert(events);
    } catch {
      await this.#options.ledger().alert(events);
    }
  }

  #remember(issueKey: string, atMs: number): void {
    this.#raised.delete(issueKey);
    this.#raised.set(issueKey, atMs);
    if (this.#raised.size <= ISSUES_MAX) return;
    const [oldest] = this.#raised.keys();
    if (oldest !== undefined) this.#raised.delete(oldest);
  }
}
