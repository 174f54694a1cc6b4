/**
 * The Ledger's disk: commits, the applied sequences, a few counters. One SQLite row per group commit, because rows
 * written are what this platform bills. Opens at a stored schema version and rebuilds the log's index from what it finds.
 */
import type { LogEffect, LogIndex, LogLine } from "../domain/custody/ledger-log.ts";

const SCHEMA_VERSION = 1;

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS commits (
    id INTEGER PRIMARY KEY AUTOINCREMENT, segment INTEGER NOT NULL, bytes INTEGER NOT NULL,
    orphan INTEGER NOT NULL, lines TEXT NOT NULL, shipped_at INTEGER
  );
  CREATE INDEX IF NOT EXISTS commits_segment ON commits (segment);
  CREATE TABLE IF NOT EXISTS applied (source TEXT PRIMARY KEY, sequence INTEGER NOT NULL, at INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
`;

/** A commit as it is sent: lines of JSON, and whether they have to be checked against the store first. */
export interface StoredCommit {
  readonly orphan: boolean;
  readonly lines: readonly string[];
}

export class LedgerStore {
  readonly #storage: DurableObjectStorage;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    storage.transactionSync(() => {
      storage.sql.exec(SCHEMA);
      const version = Number(this.#meta("schema") ?? SCHEMA_VERSION);
      if (version > SCHEMA_VERSION)
        throw new Error(`ledger storage has schema ${version}, newer than ${SCHEMA_VERSION}`);
      this.#setMeta("schema", String(SCHEMA_VERSION));
      if (this.#meta("instance") === null) this.#setMeta("instance", crypto.randomUUID());
    });
  }

  /** Sets this storage apart from any earlier one of the same name, so that deduplication tokens never repeat. */
  get instance(): string {
    return this.#meta("instance") ?? "";
  }

  loadIndex(): LogIndex {
    const openSegment = Number(this.#meta("open_segment") ?? 1);
    const pending = this.#storage.sql
      .exec<{ segment: number; bytes: number }>(
        "SELECT segment, SUM(bytes) AS bytes FROM commits WHERE shipped_at IS NULL GROUP BY segment ORDER BY segment",
      )
      .toArray();
    const applied = this.#storage.sql.exec<{ source: string; sequence: number }>(
      "SELECT source, sequence FROM applied",
    );
    return {
      openSegment,
      openBytes: pending.find((entry) => entry.segment === openSegment)?.bytes ?? 0,
      pending,
      dropped: Number(this.#meta("dropped") ?? 0),
      applied: new Map(applied.toArray().map((entry) => [entry.source, entry.sequence])),
    };
  }

  /** Carries out effects in one transaction. */
  apply(effects: readonly LogEffect[], nowMs: number): void {
    this.#storage.transactionSync(() => {
      for (const effect of effects) this.#one(effect, nowMs);
    });
  }

  commitsOf(segment: number): readonly StoredCommit[] {
    return this.#storage.sql
      .exec<{ orphan: number; lines: string }>(
        "SELECT orphan, lines FROM commits WHERE segment = ? ORDER BY id",
        segment,
      )
      .toArray()
      .map((entry) => ({ orphan: entry.orphan === 1, lines: entry.lines.split("\n") }));
  }

  markShipped(segment: number, nowMs: number): void {
    this.#storage.sql.exec("UPDATE commits SET shipped_at = ? WHERE segment = ?", nowMs, segment);
  }

  /** Removes what was shipped, and sources that were silent, before the given time. True when commits went. */
  prune(beforeMs: number): boolean {
    const removed = this.#storage.sql.exec("DELETE FROM commits WHERE shipped_at < ?", beforeMs).rowsWritten > 0;
    this.#storage.sql.exec("DELETE FROM applied WHERE at < ?", beforeMs - 3_600_000);
    return removed;
  }

  /** Every orphan row in the log, shipped lately or not. */
  orphanLines(): readonly string[] {
    return this.#storage.sql
      .exec<{ lines: string }>("SELECT lines FROM commits WHERE orphan = 1")
      .toArray()
      .flatMap((entry) => entry.lines.split("\n"));
  }

  /** True when shipped segments still wait for their removal. */
  hasShipped(): boolean {
    return this.#storage.sql.exec("SELECT 1 FROM commits WHERE shipped_at IS NOT NULL LIMIT 1").toArray().length > 0;
  }

  /** True when the log still holds the row of this request, shipped lately or not. */
  holds(requestId: string): boolean {
    const needle = `"request_id":"${requestId}"`;
    return (
      this.#storage.sql.exec("SELECT 1 FROM commits WHERE instr(lines, ?) > 0 LIMIT 1", needle).toArray().length > 0
    );
  }

  #one(effect: LogEffect, nowMs: number): void {
    const { sql } = this.#storage;
    switch (effect.type) {
      case "commit":
        sql.exec(
          "INSERT INTO commits (segment, bytes, orphan, lines) VALUES (?, ?, ?, ?)",
          effect.segment,
          effect.bytes,
          effect.orphan ? 1 : 0,
          joinLines(effect.lines),
        );
        return;
      case "open":
        this.#setMeta("open_segment", String(effect.segment));
        return;
      case "applied":
        sql.exec(
          "INSERT INTO applied (source, sequence, at) VALUES (?, ?, ?) ON CONFLICT (source) DO UPDATE SET sequence = excluded.sequence, at = excluded.at",
          effect.source,
          effect.sequence,
          nowMs,
        );
        return;
      case "dropped":
        this.#setMeta("dropped", String(effect.total));
        return;
      default:
        effect satisfies never;
    }
  }

  #meta(name: string): string | null {
    return (
      this.#storage.sql.exec<{ value: string }>("SELECT value FROM meta WHERE name = ?", name).toArray()[0]?.value ??
      null
    );
  }

  #setMeta(name: string, value: string): void {
    this.#storage.sql.exec(
      "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE value <> excluded.value",
      name,
      value,
    );
  }
}

function joinLines(lines: readonly LogLine[]): string {
  return lines.map((line) => line.json).join("\n");
}
