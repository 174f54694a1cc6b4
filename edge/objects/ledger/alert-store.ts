/**
 * The disk of a Ledger's alerts: one row per alert that waits or whose id is remembered, and two counters. The order is the
 * sequence number. The highest reported number shows which alerts were reported; an alert that became part of another has an
 * empty event.
 */
import { alertEventSchema } from "../../../shared/alerts.ts";
import type { AlertEffect, AlertIndex } from "../../domain/ledger/alert-log.ts";

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
    const waits = (row: { sequence: number; event: string }) => row.sequence > state.told_through && row.event !== "";
    const last = Math.max(rows.at(-1)?.sequence ?? 0, state.told_through);
    return {
      waiting: rows
        .filter(waits)
        .map((row) => ({ sequence: row.sequence, event: alertEventSchema.parse(JSON.parse(row.event)) })),
      rememberedIds: rows.filter((row) => !waits(row)).map((row) => row.id),
      nextSequence: last + 1,
      // offers made before the restart are no longer known
      offeredThrough: last,
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
      case "merge": {
        const { into, event, sequence, id } = effect;
        sql.exec("UPDATE alerts SET event = ? WHERE sequence = ?", JSON.stringify(event), into);
        sql.exec("INSERT INTO alerts VALUES (?, ?, '')", sequence, id);
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
