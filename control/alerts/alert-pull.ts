/**
 * Fetches what the cells have raised (decisions §0.4). Alerts of a cell reach the sink in order; a cell lets go of one
 * only after the sink has it, so that no failure on the way loses any. What was handed over and could not be confirmed is
 * confirmed first next time, and is not handed over twice by this process.
 */
import type { AlertAck, AlertBatch } from "../../shared/internal.ts";
import type { Logger } from "../log.ts";
import type { CellAddress } from "../publish/cells.ts";
import type { AlertSink } from "./alert-sink.ts";

/** The cells, as far as alerts go. Rejects when the cell does not answer. */
export interface AlertSource {
  readonly addresses: readonly CellAddress[];
  alerts(address: CellAddress, ack: AlertAck | null): Promise<AlertBatch>;
}

export class AlertPull {
  readonly #cells: AlertSource;
  readonly #sink: AlertSink;
  readonly #log: Logger;
  /** By cell: how far the sink has its alerts. */
  readonly #acks = new Map<string, AlertAck>();
  /** By cell: ids of a batch that the sink took only in part. */
  readonly #taken = new Map<string, Set<string>>();
  readonly #dropped = new Map<string, number>();

  constructor(cells: AlertSource, sink: AlertSink, log: Logger) {
    this.#cells = cells;
    this.#sink = sink;
    this.#log = log;
  }

  /** Empties every cell that answers. Rejects, after all were tried, when one did not or the sink failed. */
  async run(): Promise<{ readonly alerts: number }> {
    const results = await Promise.allSettled(this.#cells.addresses.map(async (address) => await this.#empty(address)));
    const failed = results.find((result) => result.status === "rejected");
    if (failed !== undefined) throw failed.reason;
    return { alerts: results.reduce((sum, result) => sum + (result.status === "fulfilled" ? result.value : 0), 0) };
  }

  /** How many it has taken. */
  async #empty(address: CellAddress): Promise<number> {
    const { cell } = address;
    let count = 0;
    for (;;) {
      const { ledger, alerts, dropped, through } = await this.#cells.alerts(address, this.#acks.get(cell) ?? null);
      this.#tellDropped(cell, dropped);
      if (alerts.length === 0) return count;
      const taken = this.#taken.get(cell) ?? new Set();
      this.#taken.set(cell, taken);
      for (const alert of alerts) {
        if (!taken.has(alert.id)) await this.#sink.take({ ...alert, cell });
        taken.add(alert.id);
        count += 1;
      }
      this.#taken.delete(cell);
      this.#acks.set(cell, { ledger, through });
    }
  }

  #tellDropped(cell: string, dropped: number): void {
    if (dropped > (this.#dropped.get(cell) ?? 0)) this.#log.warn({ event: "alerts_dropped", cell, dropped });
    this.#dropped.set(cell, dropped);
  }
}
