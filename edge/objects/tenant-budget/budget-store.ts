/**
 * The disk of a TenantBudget: the leases granted since the last checkpoint, one row per pool, and the checkpoint. Opens
 * at a stored schema version. Damaged data does not keep the object from starting (stored.ts).
 */
import { type Checkpoint, readStored, type StoredGrants } from "../../domain/budget/authority/stored.ts";

const SCHEMA_VERSION = 3;

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS keys (id TEXT PRIMARY KEY, value TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS grants (pool TEXT PRIMARY KEY, value TEXT NOT NULL);
`;

/** A row holds at most 2 MB; a character takes at most 4 bytes of it. A longer text is split into several rows. */
const PIECE_CHARS = 400_000;

const UPSERT_META =
  "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value";
const UPSERT_KEY = "INSERT INTO keys (id, value) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET value = excluded.value";
const UPSERT_GRANTS =
  "INSERT INTO grants (pool, value) VALUES (?, ?) ON CONFLICT (pool) DO UPDATE SET value = excluded.value";

/** Rows of one text: the first has its name, the later ones also a number, by which they are sorted. */
const PIECES = "name = 'tenant' OR name GLOB 'tenant/*'";

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
  load(): ReturnType<typeof readStored> {
    const values = (from: string) =>
      this.#storage.sql
        .exec<{ value: string }>(`SELECT value FROM ${from}`)
        .toArray()
        .map(({ value }) => value);
    const pieces = values(`meta WHERE ${PIECES} ORDER BY name`);
    return readStored({
      tenant: pieces.length === 0 ? null : pieces.join(""),
      charged: this.#meta("charged"),
      keys: values("keys"),
      grants: values("grants"),
    });
  }

  /** The only write of a lease; the platform holds the answer back until it is on disk. */
  putGrants(grants: StoredGrants): void {
    this.#storage.sql.exec(UPSERT_GRANTS, grants.pool ?? "", JSON.stringify(grants));
  }

  putCheckpoint({ tenant, keys, forgotten, charged }: Checkpoint): void {
    const { sql } = this.#storage;
    this.#storage.transactionSync(() => {
      const pieces = piecesOf(JSON.stringify(tenant));
      for (const [at, piece] of pieces.entries()) sql.exec(UPSERT_META, pieceName(at), piece);
      sql.exec(`DELETE FROM meta WHERE (${PIECES}) AND name >= ?`, pieceName(pieces.length));
      if (charged !== null) sql.exec(UPSERT_META, "charged", JSON.stringify(charged));
      for (const id of forgotten) {
        sql.exec("DELETE FROM keys WHERE id = ?", id);
        sql.exec("DELETE FROM grants WHERE pool = ?", id);
      }
      for (const key of keys) sql.exec(UPSERT_KEY, key.limits.id, JSON.stringify(key));
    });
  }

  #meta(name: string): string | null {
    const rows = this.#storage.sql.exec<{ value: string }>("SELECT value FROM meta WHERE name = ?", name).toArray();
    return rows[0]?.value ?? null;
  }
}

function pieceName(at: number): string {
  return at === 0 ? "tenant" : `tenant/${String(at).padStart(6, "0")}`;
}

function piecesOf(text: string): readonly string[] {
  const count = Math.ceil(text.length / PIECE_CHARS);
  return Array.from({ length: count }, (_, at) => text.slice(at * PIECE_CHARS, (at + 1) * PIECE_CHARS));
}
