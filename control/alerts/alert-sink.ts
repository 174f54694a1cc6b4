/**
 * Where alerts end up. The sink decides nothing about which cell an alert came from or how it came; it may be handed the
 * same event again after a crash, and knows it by its id.
 */
import type { AlertEvent } from "../../shared/alerts.ts";
import type { Logger } from "../log.ts";

/** An alert with the cell that raised it. */
export interface RaisedAlert extends AlertEvent {
  readonly cell: string;
}

/** Takes custody of an alert: resolves when it will not be lost any more. A rejection is handed over again later. */
export interface AlertSink {
  take(alert: RaisedAlert): Promise<void>;
}

/** Every alert as one line of the service's log. */
export function logSink(log: Logger): AlertSink {
  return {
    take: async ({ id, issueKey, title, detail, cell, atMs }) => {
      log.warn({ event: "alert", id, key: issueKey, title, detail, cell, at: new Date(atMs).toISOString() });
    },
  };
}
