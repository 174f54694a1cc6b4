/**
 * The disk of a TenantBudget: what is out on lease, one row per purse that ever had a grant, and the checkpoint of
 * everything else. Opens at a stored schema version. What is damaged of it stops no object (read-stored.ts).
 */
import { type ReadState, readStored } from "../domain/budget/read-stored.ts";
import type { Checkpoint, GrantRow } from "../domain/budget/stored.ts";

/** 2: totals are digits. Those of version 1 are read as well. */
const SCHEMA_VERSION = 2;

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS keys (id TEXT PRIMARY KEY, value TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS epochs (
    cell TEXT NOT NULL, epoch INTEGER NOT NULL, value TEXT NOT NULL, PRIMARY KEY (cell, epoch)
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS grants (
    cell TEXT NOT NULL, epoch INTEGER NOT NULL, purse TEXT NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (cell, epoch, purse)
  ) WITHOUT ROWID;
`;

const UPSERT_META =
  "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value";
const UPSERT_KEY = "INSERT INTO keys (id, value) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET value = excluded.value";
const UPSERT_EPOCH =
  "INSERT INTO epochs (cell, epoch, value) VALUES (?, ?, ?) ON CONFLICT (cell, epoch) DO UPDATE SET value = excluded.value";
const UPSERT_GRANT =
  "INSERT INTO grants (cell, epoch, purse, value) VALUES (?, ?, ?, ?) ON CONFLICT (cell, epoch, purse) DO UPDATE SET value = excluded.value";

export class BudgetStore {
  readonly #storage: DurableObjectStorage;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    storage.transactionSync(() => {
      storage.sql.exec(SCHEMA);
      const version = Number(this.#meta("schema") ?? SCHEMA_VERSION);
      if (version > SCHEMA_VERSION) {
        throw new Error(`budget storage has schema ${version}, newer than ${SCHEMA_VERSION}`);
      }
      storage.sql.exec(UPSERT_META, "schema", String(SCHEMA_VERSION));
    });
  }

  /** Everything that was stored, and how many of its rows are damaged. */
  load(): ReadState {
    const { sql } = this.#storage;
    const grants = sql
      .exec<{ cell: string; epoch: number; purse: string; value: string }>(
        "SELECT cell, epoch, purse, value FROM grants ORDER BY cell, epoch, purse",
      )
      .toArray();
    return readStored({
      tenant: this.#meta("tenant"),
      charged: this.#meta("charged"),
      keys: sql.exec<{ id: string; value: string }>("SELECT id, value FROM keys").toArray(),
      epochs: sql
        .exec<{ cell: string; epoch: number; value: string }>(
          "SELECT cell, epoch, value FROM epochs ORDER BY cell, epoch",
        )
        .toArray(),
      grants: grants.map((row) => ({ ...row, purse: row.purse === "" ? null : row.purse })),
    });
  }

  /** The one write of a lease; the platform holds the answer back until it is on disk. */
  putGrant(row: GrantRow): void {
    this.#storage.sql.exec(UPSERT_GRANT, row.cell, row.epoch, row.purse ?? "", JSON.stringify(row));
  }

  putCheckpoint(checkpoint: Checkpoint): void {
    const { sql } = this.#storage;
    this.#storage.transactionSync(() => {
      sql.exec(UPSERT_META, "tenant", JSON.stringify(checkpoint.tenant));
      if (checkpoint.charged !== null) sql.exec(UPSERT_META, "charged", JSON.stringify(checkpoint.charged));
      for (const key of checkpoint.keys) sql.exec(UPSERT_KEY, key.limits.id, JSON.stringify(key));
      for (const epoch of checkpoint.epochs) sql.exec(UPSERT_EPOCH, epoch.cell, epoch.epoch, JSON.stringify(epoch));
      for (const { cell, epoch } of checkpoint.forgotten) {
        sql.exec("DELETE FROM epochs WHERE cell = ? AND epoch = ?", cell, epoch);
        sql.exec("DELETE FROM grants WHERE cell = ? AND epoch = ?", cell, epoch);
      }
    });
  }

  #meta(name: string): string | null {
    const rows = this.#storage.sql.exec<{ value: string }>("SELECT value FROM meta WHERE name = ?", name).toArray();
    return rows[0]?.value ?? null;
  }
}
