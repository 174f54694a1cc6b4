/**
 * The analytics store, as a Ledger uses it: inserts that may be repeated, and the two ways in which an insert fails. The
 * adapter knows which store it is and how it is reached (edge/adapters/clickhouse-insert.ts).
 */

/** The store could not be reached or gave no proper answer; the message is the cause, without values. */
export class StoreFailure extends Error {
  override readonly name = "StoreFailure";
}

/**
 * The store understands the rows of an insert and refuses them, or refuses that many bytes at once. It will refuse the same
 * rows again; it may take others. `code` is its error code, or `413`; the message is the cause, without values.
 */
export class RowsRefused extends Error {
  override readonly name = "RowsRefused";
  readonly code: string;

  constructor(code: string, cause: string) {
    super(cause);
    this.code = code;
  }
}

/** The methods of the analytics store that a Ledger uses. */
export interface AnalyticsStore {
  /**
   * Inserts lines of JSON into a table. The same lines under the same token are stored once, however often they are sent.
   * Throws RowsRefused, StoreFailure.
   */
  insert(table: "usage_raw" | "spans", lines: readonly string[], token: string): Promise<void>;
  /** Which of these requests have a row in the store already. Throws StoreFailure. */
  findRequests(requestIds: readonly string[]): Promise<ReadonlySet<string>>;
}
