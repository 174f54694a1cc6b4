/**
 * The disk of a TenantBudget: the leases granted since the last checkpoint, one row per pool, and the checkpoint. Opens at a
 * stored schema version. What is damaged of it stops no object (read-stored.ts).
 */
import { type ReadState, readStored } from "../domain/budget/read-stored.ts";
import type { Checkpoint, StoredGrants } from "../domain/budget/stored.ts";

/** 3: leases by number. Of versions before the counters and the bucket are kept, not what was out on lease. */
const SCHEMA_VERSION = 3;

const FORGET_BEFORE_3 = `
  DROP TABLE IF EXISTS epochs;
  DROP TABLE IF EXISTS grants;
  DELETE FROM meta WHERE name = 'charged';
`;

const META = "CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)";
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS keys (id TEXT PRIMARY KEY, value TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS grants (pool TEXT PRIMARY KEY, value TEXT NOT NULL);
`;

const UPSERT_META =
  "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value";
const UPSERT_KEY = "INSERT INTO keys (id, value) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET value = excluded.value";
const UPSERT_GRANTS =
  "INSERT INTO grants (pool, value) VALUES (?, ?) ON CONFLICT (pool) DO UPDATE SET value = excluded.value";

export class BudgetStore {
  readonly #storage: DurableObjectStorage;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    storage.transactionSync(() => {
      storage.sql.exec(META);
      const version = Number(this.#meta("schema") ?? SCHEMA_VERSION);
      if (version > SCHEMA_VERSION) {
        throw new Error(`budget storage has schema ${version}, newer than ${SCHEMA_VERSION}`);
      }
      if (version < 3) storage.sql.exec(FORGET_BEFORE_3);
      storage.sql.exec(SCHEMA);
      storage.sql.exec(UPSERT_META, "schema", String(SCHEMA_VERSION));
    });
  }

  /** Everything that was stored, and how many of its rows are damaged. */
  load(): ReadState {
    const { sql } = this.#storage;
    const grants = sql.exec<{ pool: string; value: string }>("SELECT pool, value FROM grants").toArray();
    return readStored({
      tenant: this.#meta("tenant"),
      charged: this.#meta("charged"),
      keys: sql.exec<{ id: string; value: string }>("SELECT id, value FROM keys").toArray(),
      grants: grants.map(({ pool, value }) => ({ pool: pool === "" ? null : pool, value })),
    });
  }

  /** The one write of a lease; the platform holds the answer back until it is on disk. */
  putGrants(grants: StoredGrants): void {
    this.#storage.sql.exec(UPSERT_GRANTS, grants.pool ?? "", JSON.stringify(grants));
  }

  putCheckpoint({ tenant, keys, charged }: Checkpoint): void {
    const { sql } = this.#storage;
    this.#storage.transactionSync(() => {
      sql.exec(UPSERT_META, "tenant", JSON.stringify(tenant));
      if (charged !== null) sql.exec(UPSERT_META, "charged", JSON.stringify(charged));
      for (const key of keys) sql.exec(UPSERT_KEY, key.limits.id, JSON.stringify(key));
    });
  }

  #meta(name: string): string | null {
    const rows = this.#storage.sql.exec<{ value: string }>("SELECT value FROM meta WHERE name = ?", name).toArray();
    return rows[0]?.value ?? null;
  }
}
