/**
 * Where alerts end up. The sink decides nothing about which cell an alert came from or how it came.
 */
import { randomUUID } from "node:crypto";
import type { AlertEvent, Issue } from "../../shared/alerts.ts";
import type { Transaction } from "../db/connect.ts";
import type { Logger } from "../kernel/log.ts";

/** An alert with the cell that raised it. */
export interface RaisedAlert extends AlertEvent {
  readonly cell: string;
}

/** An issue as it is raised here and now, once. `cell`: the control service's own. */
export function raisedNow(issue: Issue, atMs: number, cell: string): RaisedAlert {
  return { ...issue, id: randomUUID(), atMs, count: 1, cell };
}

/** Raised by what runs with a take ({@link AlertSink.take}): somebody else has taken these alerts. */
export class AlertsAlreadyTaken extends Error {
  override readonly name = "AlertsAlreadyTaken";
}

/** Takes custody of alerts. */
export interface AlertSink {
  /**
   * Resolves when none of them will be lost any more. A rejection means that none was taken: they are handed over again
   * later. `also` runs in the transaction that takes them, so that whoever hands them over lets go of them with it; what it
   * throws is the rejection.
   */
  take(alerts: readonly RaisedAlert[], also?: (tx: Transaction) => Promise<void>): Promise<void>;
}

/** Writes an alert as one line of the service's log. */
export function logAlert(log: Logger, { id, issueKey, title, detail, cell, atMs, count }: RaisedAlert): void {
  log.warn({ event: "alert", id, key: issueKey, title, detail, cell, at: new Date(atMs).toISOString(), count });
}
