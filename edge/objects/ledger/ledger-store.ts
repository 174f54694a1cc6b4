/**
 * The Ledger's disk: commits, the applied sequences, a few counters. This platform bills rows written, indexes and deletions
 * included. Therefore a group commit is one row: its key names its segment, and it carries the sequence of its batch; a shipped
 * segment is one row too. Opens at a stored schema version and rebuilds the log's index from its rows.
 */
import { readCounters, type SavedCounters } from "../../domain/cell/request-counters.ts";
import type { LogEffect, LogIndex, LogLine } from "../../domain/ledger/ledger-log.ts";
import { LEDGER_SCHEMA, migrateLedger, SEGMENT_SPAN } from "./ledger-schema.ts";

/** A commit in its sent form: lines of JSON, and whether the store must be checked for them first. */
interface StoredCommit {
  readonly orphan: boolean;
  readonly lines: readonly string[];
}

type Effect<Type extends LogEffect["type"]> = Extract<LogEffect, { readonly type: Type }>;

/** Sequences outlive the commits that carried them, because a batch may be sent again after it was shipped. */
const KEEP_APPLIED = `
  INSERT INTO applied (source, sequence, at)
  SELECT source, MAX(sequence), ? FROM commits WHERE id >= ? AND id < ? AND source IS NOT NULL GROUP BY source
  ON CONFLICT (source) DO UPDATE SET sequence = MAX(sequence, excluded.sequence), at = excluded.at
`;

export class LedgerStore {
  readonly #storage: DurableObjectStorage;
  /** The largest key that a commit ever had in the current log. */
  #lastId: number;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    storage.transactionSync(() => {
      migrateLedger(storage.sql);
      storage.sql.exec(LEDGER_SCHEMA);
      if (this.#meta("instance") === null) this.#setMeta("instance", crypto.randomUUID());
    });
    this.#lastId = storage.sql.exec<{ id: number | null }>("SELECT MAX(id) AS id FROM commits").one().id ?? 0;
  }

  /** Distinguishes this storage from any earlier one of the same name, so that deduplication tokens never repeat. */
  get instance(): string {
    return this.#meta("instance") ?? "";
  }

  loadIndex(): LogIndex {
    const openSegment = Number(this.#meta("open_segment") ?? 1);
    const pending = this.#storage.sql
      .exec<{ segment: number; bytes: number; refusalBytes: number }>(
        `SELECT id / ${SEGMENT_SPAN} AS segment, SUM(bytes) AS bytes, SUM(refusal_bytes) AS refusalBytes FROM commits
         WHERE id / ${SEGMENT_SPAN} NOT IN (SELECT segment FROM shipped) GROUP BY 1 ORDER BY 1`,
      )
      .toArray();
    const applied = this.#storage.sql.exec<{ source: string; sequence: number }>(
      `SELECT source, MAX(sequence) AS sequence FROM
         (SELECT source, sequence FROM applied UNION ALL SELECT source, sequence FROM commits WHERE source IS NOT NULL)
       GROUP BY source`,
    );
    return {
      openSegment,
      openBytes: pending.find((entry) => entry.segment === openSegment)?.bytes ?? 0,
      pending,
      dropped: Number(this.#meta("dropped") ?? 0),
      applied: new Map(applied.toArray().map((entry) => [entry.source, entry.sequence])),
    };
  }

  /** The counts that the Cell has not taken, of rows that Workers handed in themselves; null when there never were any. */
  get untaken(): SavedCounters | null {
    return readCounters(this.#meta("untaken"));
  }

  set untaken(value: SavedCounters) {
    this.#setMeta("untaken", JSON.stringify(value));
  }

  /** Carries out effects in one transaction. */
  apply(effects: readonly LogEffect[], nowMs: number): void {
    const applied = effects.find((effect) => effect.type === "applied");
    const lastCommit = applied === undefined ? undefined : effects.findLast((effect) => effect.type === "commit");
    this.#storage.transactionSync(() => {
      for (const effect of effects) {
        if (effect.type === "commit") this.#commit(effect, effect === lastCommit ? applied : undefined);
        else if (effect !== applied || lastCommit === undefined) this.#one(effect, nowMs);
      }
    });
  }

  commitsOf(segment: number): readonly StoredCommit[] {
    return this.#storage.sql
      .exec<{ orphan: number; lines: string }>(
        "SELECT orphan, lines FROM commits WHERE id >= ? AND id < ? ORDER BY id",
        segment * SEGMENT_SPAN,
        (segment + 1) * SEGMENT_SPAN,
      )
      .toArray()
      .map((entry) => ({ orphan: entry.orphan === 1, lines: entry.lines.split("\n") }));
  }

  /** The first row of a segment; null if it has none. */
  firstLineOf(segment: number): string | null {
    const [first] = this.#storage.sql
      .exec<{ lines: string }>(
        "SELECT lines FROM commits WHERE id >= ? AND id < ? ORDER BY id LIMIT 1",
        segment * SEGMENT_SPAN,
        (segment + 1) * SEGMENT_SPAN,
      )
      .toArray();
    return first?.lines.split("\n", 1)[0] ?? null;
  }

  markShipped(segment: number, nowMs: number): void {
    this.#storage.sql.exec("INSERT OR REPLACE INTO shipped (segment, at) VALUES (?, ?)", segment, nowMs);
  }

  /** Removes shipped segments, and sources that sent nothing, before the given time. True when commits were removed. */
  prune(beforeMs: number): boolean {
    const { sql } = this.#storage;
    const old = sql.exec<{ segment: number }>("SELECT segment FROM shipped WHERE at < ?", beforeMs).toArray();
    this.#storage.transactionSync(() => {
      for (const { segment } of old) {
        const range = [segment * SEGMENT_SPAN, (segment + 1) * SEGMENT_SPAN];
        sql.exec(KEEP_APPLIED, beforeMs, ...range);
        sql.exec("DELETE FROM commits WHERE id >= ? AND id < ?", ...range);
        sql.exec("DELETE FROM shipped WHERE segment = ?", segment);
      }
    });
    sql.exec("DELETE FROM applied WHERE at < ?", beforeMs - 3_600_000);
    return old.length > 0;
  }

  /** Every orphan row in the log, whether shipped a short time ago or not. */
  orphanLines(): readonly string[] {
    return this.#storage.sql
      .exec<{ lines: string }>("SELECT lines FROM commits WHERE orphan = 1")
      .toArray()
      .flatMap((entry) => entry.lines.split("\n"));
  }

  /** True when shipped segments still wait for their removal. */
  hasShipped(): boolean {
    return this.#storage.sql.exec("SELECT 1 FROM shipped LIMIT 1").toArray().length > 0;
  }

  /** True when the log still holds the row of this request, whether it was shipped or not. */
  holds(requestId: string): boolean {
    const needle = `"request_id":"${requestId}"`;
    return (
      this.#storage.sql.exec("SELECT 1 FROM commits WHERE instr(lines, ?) > 0 LIMIT 1", needle).toArray().length > 0
    );
  }

  #commit(effect: Effect<"commit">, applied: Effect<"applied"> | undefined): void {
    this.#lastId = Math.max(this.#lastId + 1, effect.segment * SEGMENT_SPAN);
    this.#storage.sql.exec(
      "INSERT INTO commits (id, bytes, orphan, source, sequence, lines, refusal_bytes) VALUES (?, ?, ?, ?, ?, ?, ?)",
      this.#lastId,
      effect.bytes,
      effect.orphan ? 1 : 0,
      applied?.source ?? null,
      applied?.sequence ?? null,
      joinLines(effect.lines),
      effect.refusalBytes,
    );
  }

  #one(effect: Exclude<LogEffect, Effect<"commit">>, nowMs: number): void {
    const { sql } = this.#storage;
    switch (effect.type) {
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
