/**
 * The disk of a Ledger's alerts: one row per alert that waits or was told lately, and two counters. The order is the
 * sequence number; what is told is known by the number up to which it was.
 */
import type { AlertEvent } from "../../shared/alerts.ts";
import type { AlertEffect, AlertIndex } from "../domain/custody/alert-log.ts";

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS alerts (sequence INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, event TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS alert_state (
    one INTEGER PRIMARY KEY CHECK (one = 1), told_through INTEGER NOT NULL, dropped INTEGER NOT NULL
  );
  INSERT OR IGNORE INTO alert_state VALUES (1, 0, 0);
`;

export class AlertStore {
  readonly #storage: DurableObjectStorage;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    storage.transactionSync(() => storage.sql.exec(SCHEMA));
  }

  load(): AlertIndex {
    const { sql } = this.#storage;
    const state = sql.exec<{ told_through: number; dropped: number }>("SELECT * FROM alert_state").one();
    const rows = sql
      .exec<{ sequence: number; id: string; event: string }>("SELECT * FROM alerts ORDER BY sequence")
      .toArray();
    return {
      waiting: rows
        .filter((row) => row.sequence > state.told_through)
        .map((row) => ({ sequence: row.sequence, event: JSON.parse(row.event) as AlertEvent })),
      told: rows.filter((row) => row.sequence <= state.told_through).map((row) => row.id),
      nextSequence: Math.max(rows.at(-1)?.sequence ?? 0, state.told_through) + 1,
      dropped: state.dropped,
    };
  }

  /** Carries out effects in one transaction. */
  apply(effects: readonly AlertEffect[]): void {
    if (effects.length === 0) return;
    this.#storage.transactionSync(() => {
      for (const effect of effects) this.#one(effect);
    });
  }

  #one(effect: AlertEffect): void {
    const { sql } = this.#storage;
    switch (effect.type) {
      case "add": {
        const { sequence, event } = effect;
        sql.exec("INSERT INTO alerts VALUES (?, ?, ?)", sequence, event.id, JSON.stringify(event));
        return;
      }
      case "drop":
        sql.exec("DELETE FROM alerts WHERE sequence = ?", effect.sequence);
        sql.exec("UPDATE alert_state SET dropped = ?", effect.total);
        return;
      case "told":
        sql.exec("UPDATE alert_state SET told_through = ?", effect.through);
        return;
      case "forget":
        sql.exec("DELETE FROM alerts WHERE id = ?", effect.id);
        return;
      default:
        effect satisfies never;
    }
  }
}
