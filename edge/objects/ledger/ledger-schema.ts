/**
 * Tables of the Ledger's disk, and the migrations from earlier schema versions. The key of a commit is its segment times
 * SEGMENT_SPAN plus its position in the segment, so no index and no counter needs an additional write.
 */

const VERSION = 3;

/** More commits than a segment of 256 KiB can have. */
export const SEGMENT_SPAN = 2 ** 20;

export const LEDGER_SCHEMA = `
  CREATE TABLE IF NOT EXISTS commits (
    id INTEGER PRIMARY KEY, bytes INTEGER NOT NULL, orphan INTEGER NOT NULL,
    source TEXT, sequence INTEGER, lines TEXT NOT NULL, refusal_bytes INTEGER NOT NULL DEFAULT 0
  );
  CREATE TABLE IF NOT EXISTS shipped (segment INTEGER PRIMARY KEY, at INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS applied (source TEXT PRIMARY KEY, sequence INTEGER NOT NULL, at INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
  INSERT INTO meta (name, value) VALUES ('schema', '${VERSION}') ON CONFLICT (name) DO NOTHING;
`;

/** The commits of a segment were consecutive, so only their keys must be read: a backlog may be large. */
const FROM_1 = `
  ALTER TABLE commits RENAME TO commits_1;
  ${LEDGER_SCHEMA}
  INSERT INTO commits (id, bytes, orphan, lines)
    SELECT segment * ${SEGMENT_SPAN} + id - (SELECT MIN(id) FROM commits_1 AS of WHERE of.segment = one.segment),
      bytes, orphan, lines
    FROM commits_1 AS one;
  INSERT INTO shipped (segment, at)
    SELECT segment, MAX(shipped_at) FROM commits_1 WHERE shipped_at IS NOT NULL GROUP BY segment;
  DROP TABLE commits_1;
  UPDATE meta SET value = '${VERSION}' WHERE name = 'schema';
`;

/** Commits that wait there are counted as if they held no row of a refusal: they are few, or leave soon. */
const FROM_2 = `
  ALTER TABLE commits ADD COLUMN refusal_bytes INTEGER NOT NULL DEFAULT 0;
  UPDATE meta SET value = '${VERSION}' WHERE name = 'schema';
`;

/** Migrates an older disk to this schema, within the caller's transaction. Throws Error for a newer one. */
export function migrateLedger(sql: SqlStorage): void {
  const known = sql.exec("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'meta'").toArray().length > 0;
  if (!known) return;
  const [stored] = sql.exec<{ value: string }>("SELECT value FROM meta WHERE name = 'schema'").toArray();
  const version = Number(stored?.value ?? VERSION);
  if (version > VERSION) throw new Error(`ledger storage has schema ${version}, newer than ${VERSION}`);
  if (version === 1) sql.exec(FROM_1);
  else if (version === 2) sql.exec(FROM_2);
}
