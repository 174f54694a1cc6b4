/**
 * The disk of a TenantBudget: what is out on lease, one row per purse that ever had a grant, and the checkpoint of
 * everything else. Opens at a stored schema version.
 */
import type {
  Checkpoint,
  GrantRow,
  StoredEpoch,
  StoredKey,
  StoredState,
  StoredTenant,
} from "../domain/budget/stored.ts";

const SCHEMA_VERSION = 1;

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

  load(): StoredState {
    const tenant = this.#meta("tenant");
    return {
      tenant: tenant === null ? null : (JSON.parse(tenant) as StoredTenant),
      keys: this.#values<StoredKey>("SELECT value FROM keys"),
      epochs: this.#values<StoredEpoch>("SELECT value FROM epochs ORDER BY cell, epoch"),
      grants: this.#values<GrantRow>("SELECT value FROM grants ORDER BY cell, epoch, purse"),
    };
  }

  /** The one write of a lease; the platform holds the answer back until it is on disk. */
  putGrant(row: GrantRow): void {
    this.#storage.sql.exec(UPSERT_GRANT, row.cell, row.epoch, row.purse ?? "", JSON.stringify(row));
  }

  putCheckpoint(checkpoint: Checkpoint): void {
    const { sql } = this.#storage;
    this.#storage.transactionSync(() => {
      sql.exec(UPSERT_META, "tenant", JSON.stringify(checkpoint.tenant));
      for (const key of checkpoint.keys) sql.exec(UPSERT_KEY, key.limits.id, JSON.stringify(key));
      for (const epoch of checkpoint.epochs) sql.exec(UPSERT_EPOCH, epoch.cell, epoch.epoch, JSON.stringify(epoch));
      for (const { cell, epoch } of checkpoint.forgotten) {
        sql.exec("DELETE FROM epochs WHERE cell = ? AND epoch = ?", cell, epoch);
        sql.exec("DELETE FROM grants WHERE cell = ? AND epoch = ?", cell, epoch);
      }
    });
  }

  #values<T>(query: string): T[] {
    const rows = this.#storage.sql.exec<{ value: string }>(query).toArray();
    return rows.map((row) => JSON.parse(row.value) as T);
  }

  #meta(name: string): string | null {
    const rows = this.#storage.sql.exec<{ value: string }>("SELECT value FROM meta WHERE name = ?", name).toArray();
    return rows[0]?.value ?? null;
  }
}
