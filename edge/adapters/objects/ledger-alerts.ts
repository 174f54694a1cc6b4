/**
 * Sends alerts to the cell's first Ledger, which keeps them until the control service has them
 * (docs/rules/alerts.md#way-to-the-channels). Raising an alert never delays the code that raises it and never makes it
 * fail. Repeats are counted here and sent as a number (docs/rules/alerts.md#cooldown-and-repeats); what could not be
 * sent is sent again under the same id, so that a count is neither lost nor taken twice.
 */
import type { AlertEvent, Issue } from "../../../shared/alerts.ts";
import { rootCause } from "../../../shared/text/root-cause.ts";
import { AlertThrottle, type CountedIssue, QUIET_MS } from "../../domain/ledger/alert-throttle.ts";
import type { LedgerApi } from "../../domain/ledger/rpc.ts";
import type { Alerts, Clock, Log, Sleep } from "../../ports.ts";

/** Alerts that wait for an unreachable Ledger; beyond this number the oldest is dropped. */
const UNSENT_MAX = 1000;
/**
 * The platform lets a request's work continue for 30 s after its answer. An older watch may end before a quiet period that
 * starts now, so the request that raises an alert now starts another watch.
 */
const WATCH_MS = 15_000;

/** What {@link LedgerAlerts} needs. */
interface LedgerAlertsOptions {
  /** A fresh stub of the Ledger that keeps the cell's alerts ({@link alertLedgerOf}). */
  readonly ledger: () => Pick<LedgerApi, "alert">;
  readonly clock: Clock;
  readonly sleep: Sleep;
  readonly uuid: () => string;
  /** Lets the sending outlive the request that raised the alert. */
  readonly keepAlive: (work: Promise<unknown>) => void;
  readonly log: Log;
}

/** The name of the Ledger object that keeps a cell's alerts. */
export function alertLedgerOf(cell: string): string {
  return `${cell}:0`;
}

export class LedgerAlerts implements Alerts {
  readonly #options: LedgerAlertsOptions;
  readonly #repeats = new AlertThrottle();
  /** By id: events that the Ledger may not have yet, oldest first. */
  readonly #unsent = new Map<string, AlertEvent>();
  /** The watch that sends waiting alerts: its number, and when it started, epoch ms; null when none is needed. */
  #watch: { readonly number: number; readonly sinceMs: number } | null = null;
  #watches = 0;

  constructor(options: LedgerAlertsOptions) {
    this.#options = options;
  }

  /** Reports an issue at once, or counts it for the issue's next message when it was reported a short time ago. */
  raise(issue: Issue): void {
    const { clock, keepAlive } = this.#options;
    const leaving = this.#repeats.raise(issue, clock());
    if (leaving.length > 0) keepAlive(this.#send(leaving));
    this.#keepWatch();
  }

  /**
   * Sends all of these events, each with its own id, if necessary twice under the same id. Resolves when they are on the
   * Ledger's disk; rejects when both attempts failed.
   */
  async deliver(events: readonly AlertEvent[]): Promise<void> {
    if (events.length === 0) return;
    try {
      await this.#options.ledger().alert(events);
    } catch {
      await this.#options.ledger().alert(events);
    }
  }

  /** Never rejects: the watch resends lost alerts. */
  async #send(leaving: readonly CountedIssue[]): Promise<void> {
    const { clock, uuid, log } = this.#options;
    const fresh = leaving.map(({ issue, count }): AlertEvent => {
      const { issueKey, title, detail } = issue;
      return { id: uuid(), issueKey, title, detail, atMs: clock(), count };
    });
    const events = [...this.#unsent.values(), ...fresh];
    try {
      await this.deliver(events);
      for (const { id } of events) this.#unsent.delete(id);
    } catch (error) {
      for (const event of events) this.#unsent.set(event.id, event);
      this.#boundUnsent();
      log.event("alerts_wait", { alerts: this.#unsent.size, reason: rootCause(error) });
      this.#keepWatch();
    }
  }

  #boundUnsent(): void {
    for (const [id, { issueKey, count }] of this.#unsent) {
      if (this.#unsent.size <= UNSENT_MAX) return;
      this.#unsent.delete(id);
      const reason = `the Ledger does not answer, and ${UNSENT_MAX} newer alerts wait`;
      this.#options.log.event("alert_lost", { key: issueKey, count, reason });
    }
  }

  /** Starts a watch when none will live long enough to send what waits. */
  #keepWatch(): void {
    const nowMs = this.#options.clock();
    const sinceMs = this.#watch?.sinceMs;
    if (sinceMs !== undefined && nowMs >= sinceMs && nowMs - sinceMs < WATCH_MS) return;
    if (this.#dueInMs(nowMs) === null) return;
    this.#watches += 1;
    this.#watch = { number: this.#watches, sinceMs: nowMs };
    this.#options.keepAlive(this.#watchOver(this.#watches));
  }

  /** Sends due alerts until none waits, or until a younger watch has taken over. */
  async #watchOver(number: number): Promise<void> {
    const { clock, sleep } = this.#options;
    const never = new AbortController().signal;
    while (this.#watch?.number === number) {
      const inMs = this.#dueInMs(clock());
      if (inMs === null) break;
      await sleep(inMs, never);
      if (this.#watch?.number !== number) return;
      const due = this.#repeats.due(clock());
      if (due.length > 0 || this.#unsent.size > 0) await this.#send(due);
    }
    if (this.#watch?.number === number) this.#watch = null;
  }

  #dueInMs(nowMs: number): number | null {
    const repeatsInMs = this.#repeats.dueInMs(nowMs);
    return this.#unsent.size > 0 ? Math.min(repeatsInMs ?? QUIET_MS, QUIET_MS) : repeatsInMs;
  }
}
