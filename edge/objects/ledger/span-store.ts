/**
 * The disk of a Ledger's spans: one row per traced request until the analytics store has it. Sending seals a range
 * first, so that a repeated insert is the same insert. Limited in size: the oldest spans are dropped, because a lost
 * span costs no money.
 */
const MAX_BYTES = 8 * 1024 * 1024;
/** Most requests of one insert. */
const PART_MAX = 200;

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS spans (id INTEGER PRIMARY KEY AUTOINCREMENT, bytes INTEGER NOT NULL, lines TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS span_state (one INTEGER PRIMARY KEY CHECK (one = 1), sealed_through INTEGER NOT NULL);
  INSERT OR IGNORE INTO span_state VALUES (1, 0);
`;

/** One insert; `name` is the same whenever the same part is sent. */
interface SpanBatch {
  readonly name: string;
  readonly through: number;
  readonly lines: readonly string[];
}

export class SpanStore {
  readonly #storage: DurableObjectStorage;
  #bytes: number;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    storage.transactionSync(() => storage.sql.exec(SCHEMA));
    this.#bytes = storage.sql.exec<{ bytes: number }>("SELECT COALESCE(SUM(bytes), 0) AS bytes FROM spans").one().bytes;
  }

  get waiting(): boolean {
    return this.#bytes > 0;
  }

  /** Keeps lines of JSON; drops the oldest when the limit is reached. */
  add(lines: readonly string[]): void {
    const { sql } = this.#storage;
    const text = lines.join("\n");
    const bytes = new TextEncoder().encode(text).byteLength;
    this.#storage.transactionSync(() => {
      sql.exec("INSERT INTO spans (bytes, lines) VALUES (?, ?)", bytes, text);
      this.#bytes += bytes;
      while (this.#bytes > MAX_BYTES) {
        const oldest = sql.exec<{ id: number; bytes: number }>("SELECT id, bytes FROM spans ORDER BY id LIMIT 1").one();
        sql.exec("DELETE FROM spans WHERE id = ?", oldest.id);
        this.#bytes -= oldest.bytes;
      }
    });
  }

  /** The part to send: one that was sealed before, otherwise the oldest rows; null when nothing waits. */
  seal(): SpanBatch | null {
    const { sql } = this.#storage;
    let rows = this.#sealed();
    if (rows.length === 0) {
      sql.exec(
        "UPDATE span_state SET sealed_through = (SELECT COALESCE(MAX(id), 0) FROM (SELECT id FROM spans ORDER BY id LIMIT ?))",
        PART_MAX,
      );
      rows = this.#sealed();
    }
    const [first, last] = [rows[0], rows.at(-1)];
    if (first === undefined || last === undefined) return null;
    const lines = rows.flatMap((row) => row.lines.split("\n"));
    return { name: `${first.id}-${last.id}`, through: last.id, lines };
  }

  /** Deletes spans that the analytics store has. */
  sent(part: SpanBatch): void {
    const { sql } = this.#storage;
    const rows = this.#sealed().filter((row) => row.id <= part.through);
    sql.exec("DELETE FROM spans WHERE id <= ?", part.through);
    this.#bytes -= rows.reduce((sum, row) => sum + row.bytes, 0);
  }

  #sealed(): readonly { readonly id: number; readonly bytes: number; readonly lines: string }[] {
    return this.#storage.sql
      .exec<{ id: number; bytes: number; lines: string }>(
        "SELECT id, bytes, lines FROM spans WHERE id <= (SELECT sealed_through FROM span_state) ORDER BY id",
      )
      .toArray();
  }
}
