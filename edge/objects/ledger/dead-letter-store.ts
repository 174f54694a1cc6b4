/**
 * The disk of dead letters: the rows that the analytics store refused for their content, oldest first, and the plan of the
 * segment that is being halved. Both are small, and nothing is written here while the store accepts its rows. A request has at
 * most one row here. Which rows must make room is decided elsewhere (edge/domain/ledger/send-plan.ts).
 */
import type { SendPlan } from "../../domain/ledger/send-plan.ts";

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS aside (
    id INTEGER PRIMARY KEY, request_id TEXT NOT NULL UNIQUE, bytes INTEGER NOT NULL, at INTEGER NOT NULL, line TEXT NOT NULL
  );
  CREATE TABLE IF NOT EXISTS send_plan (one INTEGER PRIMARY KEY CHECK (one = 1), plan TEXT NOT NULL);
`;

/** A row that the store refused: its line of JSON, as in the log. */
export interface RefusedRow {
  readonly requestId: string;
  readonly line: string;
  readonly bytes: number;
}

export class DeadLetterStore {
  readonly #storage: DurableObjectStorage;
  #plan: SendPlan | null;
  #sizes: readonly number[] = [];
  #oldestAtMs: number | null = null;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    storage.transactionSync(() => storage.sql.exec(SCHEMA));
    const plan = storage.sql.exec<{ plan: string }>("SELECT plan FROM send_plan").toArray()[0]?.plan;
    this.#plan = plan === undefined ? null : (JSON.parse(plan) as SendPlan);
    this.#count();
  }

  /** The plan of a segment that has refused rows; null while no segment is being halved. */
  get plan(): SendPlan | null {
    return this.#plan;
  }

  set plan(plan: SendPlan | null) {
    if (plan === null && this.#plan === null) return;
    if (plan === null) this.#storage.sql.exec("DELETE FROM send_plan");
    else this.#storage.sql.exec("INSERT OR REPLACE INTO send_plan VALUES (1, ?)", JSON.stringify(plan));
    this.#plan = plan;
  }

  /** Bytes of each dead letter, oldest first. */
  get sizes(): readonly number[] {
    return this.#sizes;
  }

  /** When the oldest dead letter was put here, epoch ms. */
  get oldestAtMs(): number | null {
    return this.#oldestAtMs;
  }

  /** Keeps rows as dead letters, and deletes the `displaced` oldest of all. */
  keep(rows: readonly RefusedRow[], displaced: number, nowMs: number): void {
    const { sql } = this.#storage;
    for (const { requestId, bytes, line } of rows)
      sql.exec(
        "INSERT OR IGNORE INTO aside (request_id, bytes, at, line) VALUES (?, ?, ?, ?)",
        requestId,
        bytes,
        nowMs,
        line,
      );
    if (displaced > 0) sql.exec("DELETE FROM aside WHERE id IN (SELECT id FROM aside ORDER BY id LIMIT ?)", displaced);
    this.#count();
  }

  /** Removes and returns the dead letters from before a time, oldest first. */
  release(beforeMs: number): readonly RefusedRow[] {
    if (this.#oldestAtMs === null || this.#oldestAtMs >= beforeMs) return [];
    const rows = this.#storage.sql
      .exec<{ request_id: string; bytes: number; line: string }>(
        "SELECT request_id, bytes, line FROM aside WHERE at < ? ORDER BY id",
        beforeMs,
      )
      .toArray();
    this.#storage.sql.exec("DELETE FROM aside WHERE at < ?", beforeMs);
    this.#count();
    return rows.map(({ request_id, bytes, line }) => ({ requestId: request_id, bytes, line }));
  }

  #count(): void {
    const rows = this.#storage.sql
      .exec<{ bytes: number; at: number }>("SELECT bytes, at FROM aside ORDER BY id")
      .toArray();
    this.#sizes = rows.map((row) => row.bytes);
    this.#oldestAtMs = rows[0]?.at ?? null;
  }
}
