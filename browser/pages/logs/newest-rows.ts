/**
 * How a list of requests that is read page by page from its top goes on to be the newest ones while more arrive. Pure. What is
 * shown is always the ledger's list from its top on, without a hole: a later read of the top is joined to the rows before when
 * it reaches so far down that no row can have come below it, and takes their place when it does not.
 */

/** What orders the list: time, then request id as text, both descending. */
export interface LedgerKey {
  readonly ts_ms: number;
  readonly request_id: string;
}

/** Rows from the top of the ledger's list on, without a hole; `next` is the address of what follows, null at the end. */
export interface Feed<T> {
  readonly rows: readonly T[];
  readonly next: string | null;
}

/** Rows reach the ledger in another order than they end: this late they are still noticed. */
export const LATE_MS = 30_000;
/** No more pages are read at once. */
const TOP_PAGES_MAX = 5;

/** Below 0: `a` stands above `b` in the list. */
export function newestFirst(a: LedgerKey, b: LedgerKey): number {
  if (a.ts_ms !== b.ts_ms) return b.ts_ms - a.ts_ms;
  return a.request_id === b.request_id ? 0 : a.request_id < b.request_id ? 1 : -1;
}

/**
 * Reads the list from its top as far down as rows may have come since `newest` (the newest row that is known) was read, at
 * most {@link TOP_PAGES_MAX} pages. `read` answers the page at an address; null: the first. Throws what `read` throws.
 */
export async function readTop<T extends LedgerKey>(
  newest: LedgerKey | undefined,
  read: (address: string | null) => Promise<Feed<T>>,
): Promise<Feed<T>> {
  const rows: T[] = [];
  let next: string | null = null;
  for (let pages = 0; pages < TOP_PAGES_MAX; pages += 1) {
    const page = await read(next);
    rows.push(...page.rows);
    next = page.next;
    const last = rows.at(-1);
    if (next === null || newest === undefined || last === undefined || isBeforeLate(last, newest)) break;
  }
  return { rows, next };
}

interface Merged<T> {
  readonly feed: Feed<T>;
  /** Ids of the rows that came after the feed was read. What stands below its end is older, and comes with its next page. */
  readonly fresh: ReadonlySet<string>;
}

/**
 * The feed with the rows of a later read of the top. At most `most` rows are kept; `after` is the address of what follows a
 * row.
 */
export function withNewest<T extends LedgerKey>(
  feed: Feed<T>,
  top: Feed<T>,
  most: number,
  after: (row: T) => string,
): Merged<T> {
  const known = new Set(feed.rows.map(({ request_id }) => request_id));
  const [feedEnd, topEnd] = [feed.rows.at(-1), top.rows.at(-1)];
  const isAbove = (row: T): boolean => feed.next === null || feedEnd === undefined || newestFirst(row, feedEnd) < 0;
  const fresh = new Set(
    top.rows
      .filter(isAbove)
      .map(({ request_id }) => request_id)
      .filter((id) => !known.has(id)),
  );
  if (!meet(feed, top)) return { feed: top, fresh };
  const byId = new Map([...feed.rows, ...top.rows].map((row) => [row.request_id, row]));
  const rows = [...byId.values()].sort(newestFirst);
  const isTopLonger =
    top.next === null || (feedEnd !== undefined && topEnd !== undefined && newestFirst(feedEnd, topEnd) < 0);
  const next = isTopLonger ? top.next : feed.next;
  const lastKept = rows[most - 1];
  if (rows.length <= most || lastKept === undefined) return { feed: { rows, next }, fresh };
  return { feed: { rows: rows.slice(0, most), next: after(lastKept) }, fresh };
}

/** Whether every row that has come since the feed was read is among those of the later read. */
function meet<T extends LedgerKey>(feed: Feed<T>, top: Feed<T>): boolean {
  const [newest, last] = [feed.rows[0], top.rows.at(-1)];
  if (top.next === null) return true;
  return newest !== undefined && last !== undefined && isBeforeLate(last, newest);
}

/** Whether `row` ended before any row that can have come after `newest` was read. */
function isBeforeLate(row: LedgerKey, newest: LedgerKey): boolean {
  return row.ts_ms < newest.ts_ms - LATE_MS;
}

/** The rows of pages that were read one after the other, each row once. */
export function rowsOfPages<T extends LedgerKey>(pages: readonly Feed<T>[]): readonly T[] {
  if (pages.length === 1) return pages[0]?.rows ?? [];
  return [...new Map(pages.flatMap(({ rows }) => rows.map((row) => [row.request_id, row] as const))).values()];
}
