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

/** Not readonly, because the platform asks for such a type. */
type Row = { id: string; value: string };

/** A row holds at most 2 MB; a character takes at most 4 bytes of it. What is longer is split into several rows. */
const PIECE_CHARS = 400_000;

const UPSERT_META =
  "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value";
const UPSERT_KEY = "INSERT INTO keys (id, value) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET value = excluded.value";
const UPSERT_GRANTS =
  "INSERT INTO grants (pool, value) VALUES (?, ?) ON CONFLICT (pool) DO UPDATE SET value = excluded.value";

/** Rows of one text: the first has its name, those after it a number besides, by which they are sorted. */
const DELETE_META_PIECES = "DELETE FROM meta WHERE name > ? || '/' AND name < ? || '0'";
const DELETE_KEY_PIECES = "DELETE FROM keys WHERE id > ? || '/' AND id < ? || '0'";

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
    const meta = joined(sql.exec<Row>("SELECT name AS id, value FROM meta ORDER BY name").toArray());
    const metaOf = (name: string) => meta.find(({ id }) => id === name)?.value ?? null;
    return readStored({
      tenant: metaOf("tenant"),
      charged: metaOf("charged"),
      keys: joined(sql.exec<Row>("SELECT id, value FROM keys ORDER BY id").toArray()),
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
      sql.exec(DELETE_META_PIECES, "tenant", "tenant");
      for (const { id, value } of piecesOf("tenant", JSON.stringify(tenant))) sql.exec(UPSERT_META, id, value);
      if (charged !== null) sql.exec(UPSERT_META, "charged", JSON.stringify(charged));
      for (const key of keys) {
        const keyId = key.limits.id;
        sql.exec(DELETE_KEY_PIECES, keyId, keyId);
        for (const { id, value } of piecesOf(keyId, JSON.stringify(key))) sql.exec(UPSERT_KEY, id, value);
      }
    });
  }

  #meta(name: string): string | null {
    const rows = this.#storage.sql.exec<{ value: string }>("SELECT value FROM meta WHERE name = ?", name).toArray();
    return rows[0]?.value ?? null;
  }
}

function piecesOf(name: string, text: string): readonly Row[] {
  const count = Math.max(1, Math.ceil(text.length / PIECE_CHARS));
  return Array.from({ length: count }, (_, at) => ({
    id: at === 0 ? name : `${name}/${String(at).padStart(6, "0")}`,
    value: text.slice(at * PIECE_CHARS, (at + 1) * PIECE_CHARS),
  }));
}

/** The texts of rows that are sorted by name. */
function joined(rows: readonly Row[]): readonly Row[] {
  const texts: Row[] = [];
  for (const { id, value } of rows) {
    const last = texts.at(-1);
    if (last !== undefined && id.startsWith(`${last.id}/`)) last.value += value;
    else texts.push({ id, value });
  }
  return texts;
}
