/**
 * Fetches the alerts that the cells have raised (docs/rules/alerts.md#way-to-the-channels). Alerts of a cell reach the
 * sink in order; a cell deletes an alert only after the sink has it. The position up to which alerts were taken is
 * written in the same transaction that takes them, so that no failure on the way loses an alert or takes one twice,
 * whichever replica continues.
 */
import { and, eq } from "drizzle-orm";
import type { AlertAck, AlertBatch } from "../../shared/wire/internal.ts";
import type { Database, Transaction } from "../db/connect.ts";
import { type AlertSink, AlertsAlreadyTaken } from "../kernel/alert-sink.ts";
import type { CellAddress } from "../kernel/cells/cells.ts";
import type { Logger } from "../kernel/log.ts";
import { alertSources } from "./tables.ts";

/** The alert interface of the cells. Rejects when the cell does not answer. */
export interface AlertSource {
  readonly addresses: readonly CellAddress[];
  alerts(address: CellAddress, ack: AlertAck | null): Promise<AlertBatch>;
}

export class AlertPull {
  readonly #cells: AlertSource;
  readonly #sink: AlertSink;
  readonly #db: Database;
  readonly #log: Logger;
  readonly #dropped = new Map<string, number>();

  constructor(cells: AlertSource, sink: AlertSink, db: Database, log: Logger) {
    this.#cells = cells;
    this.#sink = sink;
    this.#db = db;
    this.#log = log;
  }

  /**
   * Takes all alerts of every cell that answers. Rejects, after all cells were tried, when a cell did not answer or the
   * sink failed.
   */
  async run(): Promise<{ readonly alerts: number }> {
    const results = await Promise.allSettled(this.#cells.addresses.map(async (address) => await this.#empty(address)));
    const failed = results.find((result) => result.status === "rejected");
    if (failed !== undefined) throw failed.reason;
    return { alerts: results.reduce((sum, result) => sum + (result.status === "fulfilled" ? result.value : 0), 0) };
  }

  /** Takes all alerts of one cell; returns how many. */
  async #empty(address: CellAddress): Promise<number> {
    const { cell } = address;
    let count = 0;
    for (;;) {
      const ack = await this.#ackOf(cell);
      const batch = await this.#cells.alerts(address, ack);
      this.#reportDropped(cell, batch.dropped);
      if (batch.alerts.length === 0) return count;
      try {
        const alerts = batch.alerts.map((alert) => ({ ...alert, cell }));
        await this.#sink.take(alerts, async (tx) => await advance(tx, cell, ack, batch));
      } catch (error) {
        // another replica continues with this cell
        if (error instanceof AlertsAlreadyTaken) return count;
        throw error;
      }
      count += batch.alerts.length;
    }
  }

  async #ackOf(cell: string): Promise<AlertAck | null> {
    const [row] = await this.#db.select().from(alertSources).where(eq(alertSources.cell, cell));
    return row === undefined ? null : { ledger: row.ledger, through: row.through };
  }

  #reportDropped(cell: string, dropped: number): void {
    if (dropped > (this.#dropped.get(cell) ?? 0)) this.#log.warn({ event: "alerts_dropped", cell, dropped });
    this.#dropped.set(cell, dropped);
  }
}

/**
 * Moves the position from `from`, which the batch was requested with, to `to`. Throws AlertsAlreadyTaken when `from` is not
 * the newest any more.
 */
async function advance(tx: Transaction, cell: string, from: AlertAck | null, to: AlertAck): Promise<void> {
  const next = { ledger: to.ledger, through: to.through };
  const moved =
    from === null
      ? await tx
          .insert(alertSources)
          .values({ cell, ...next })
          .onConflictDoNothing()
          .returning()
      : await tx
          .update(alertSources)
          .set(next)
          .where(
            and(
              eq(alertSources.cell, cell),
              eq(alertSources.ledger, from.ledger),
              eq(alertSources.through, from.through),
            ),
          )
          .returning();
  if (moved.length === 0) throw new AlertsAlreadyTaken(`the alerts of cell ${cell} have been taken`);
}
