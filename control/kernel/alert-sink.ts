/**
 * Takes the alerts of all cells. It treats every alert in the same way, whichever cell raised it and however it arrived.
 */
import { randomUUID } from "node:crypto";
import type { AlertEvent, Issue } from "../../shared/alerts.ts";
import type { Transaction } from "../db/connect.ts";
import type { Logger } from "./log.ts";

/** An alert with the cell that raised it. */
export interface RaisedAlert extends AlertEvent {
  readonly cell: string;
}

/** An issue as an alert that is raised here and now, once. `cell`: the control service's own cell. */
export function raisedNow(issue: Issue, atMs: number, cell: string): RaisedAlert {
  return { ...issue, id: randomUUID(), atMs, count: 1, cell };
}

/** Thrown by the `also` of {@link AlertSink.take}: another replica has taken these alerts already. */
export class AlertsAlreadyTaken extends Error {
  override readonly name = "AlertsAlreadyTaken";
}

/** Takes alerts and is then responsible for them. */
export interface AlertSink {
  /**
   * Resolves when none of the alerts can be lost any more. A rejection means that none was taken; the caller hands them
   * over again later. `also` runs in the transaction that takes the alerts, so that the caller can delete its own copies in
   * that transaction; when `also` throws, `take` rejects with that error.
   */
  take(alerts: readonly RaisedAlert[], also?: (tx: Transaction) => Promise<void>): Promise<void>;
}

/** Writes an alert as one line to the service's log. */
export function logAlert(log: Logger, { id, issueKey, title, detail, cell, atMs, count }: RaisedAlert): void {
  log.warn({ event: "alert", id, key: issueKey, title, detail, cell, at: new Date(atMs).toISOString(), count });
}
