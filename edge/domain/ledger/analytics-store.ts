/**
 * The analytics store, as a Ledger uses it: inserts that may be repeated, and the two ways in which one fails. What the store
 * is, and how it is reached, is an adapter's (edge/adapters/clickhouse-insert.ts).
 */

/** The store did not take or answer it; the message is short and free of the store's internals. */
export class StoreFailure extends Error {
  override readonly name = "StoreFailure";
}

/**
 * The store reads the rows of an insert and will not have them, or not as many bytes at once; the same rows are refused
 * again, others may be taken. `code` is its code of the error, or `413`.
 */
export class RowsRefused extends Error {
  override readonly name = "RowsRefused";
  readonly code: string;

  constructor(code: string) {
    super(`rows refused, code ${code}`);
    this.code = code;
  }
}

/** What a Ledger asks of the analytics store. */
export interface AnalyticsStore {
  /**
   * Inserts lines of JSON into a table. The same lines under the same token are stored once, however often they are sent.
   * Throws RowsRefused, StoreFailure.
   */
  insert(table: "usage_raw" | "spans", lines: readonly string[], token: string): Promise<void>;
  /** Which of these requests have a row in the store already. Throws StoreFailure. */
  findRequests(requestIds: readonly string[]): Promise<ReadonlySet<string>>;
}
