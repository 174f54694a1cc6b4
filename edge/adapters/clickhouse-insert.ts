/**
 * Writes to the analytics store over its HTTP protocol. An insert carries a deduplication token, so that sending it
 * again after a lost acknowledgement changes nothing (docs/rules/settlement-and-rows.md#shipping). Of the store's own
 * error texts only the cause leaves this file, for the log.
 */

import { clickhouseCause, rootCause } from "../../shared/text/root-cause.ts";
import { type AnalyticsStore, RowsRefused, StoreFailure } from "../domain/ledger/analytics-store.ts";
import type { Env } from "../env.ts";

const INSERT_TIMEOUT_MS = 30_000;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Error codes about values: they cannot be read or converted, are out of their column's range, or violate a constraint.
 * Every other code is treated as a temporary failure of the store.
 */
const VALUE_CODES = new Set(
  "6 25 26 27 32 33 34 38 41 43 53 69 70 72 117 131 190 321 349 376 407 441 467 469 675 676 691".split(" "),
);

/**
 * When the view of the raw ledger refuses rows, the raw ledger has stored them already: the whole insert must be sent
 * again.
 */
const VIEW_REFUSED = "while pushing to view";

/**
 * Makes a row reach the rollup even when an earlier insert of it died between table and rollup. Older servers need this
 * setting for that.
 */
const INTO_ROLLUP_ONCE = { deduplicate_blocks_in_dependent_materialized_views: "1" };

/** A column that the table lacks is an error of the table, not of the rows: they wait, and lose nothing. */
const EVERY_COLUMN = { input_format_skip_unknown_fields: "0" };
/** At the start: later in the text is the row, which a client can write. */
const COLUMN_MISSING = /^.{0,40}Exception: Unknown field found while parsing \w+ format: (\w+)/;

/** The store as a Ledger uses it. */
export function analyticsStoreOf(store: Env["clickhouse"]): AnalyticsStore {
  return {
    insert: async (table, lines, token) => await insertLines(store, table, lines, token),
    findRequests: async (requestIds) => await findRequests(store, requestIds),
  };
}

async function insertLines(
  store: Env["clickhouse"],
  table: string,
  lines: readonly string[],
  token: string,
): Promise<void> {
  await call(
    store,
    `INSERT INTO ${store.db}.${table} FORMAT JSONEachRow`,
    { insert_deduplication_token: token, ...INTO_ROLLUP_ONCE, ...EVERY_COLUMN },
    lines.join("\n"),
  );
}

async function findRequests(store: Env["clickhouse"], requestIds: readonly string[]): Promise<ReadonlySet<string>> {
  const ids = requestIds.filter((id) => UUID.test(id));
  if (ids.length === 0) return new Set();
  const list = ids.map((id) => `'${id}'`).join(",");
  const query = `SELECT toString(request_id) FROM ${store.db}.usage_raw WHERE request_id IN (${list}) FORMAT TabSeparated`;
  return new Set((await call(store, query, {}, null)).split("\n").filter((line) => line !== ""));
}

/**
 * Runs one statement, optionally with rows as its body, and returns its output as text. Throws RowsRefused, StoreFailure.
 */
export async function call(
  store: Env["clickhouse"],
  query: string,
  settings: Readonly<Record<string, string>>,
  body: string | null,
): Promise<string> {
  const url = new URL(store.url);
  for (const [name, value] of Object.entries(settings)) url.searchParams.set(name, value);
  if (body !== null) url.searchParams.set("query", query);
  // Not AbortSignal.timeout: its timer would keep the object in memory long after the answer.
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(), INSERT_TIMEOUT_MS);
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: { "x-clickhouse-user": store.user, "x-clickhouse-key": store.password },
      body: body ?? query,
      signal: deadline.signal,
      redirect: "manual",
    });
    const answer = await response.text();
    const code = response.headers.get("x-clickhouse-exception-code") ?? "none";
    if (body !== null && response.status === 413) throw new RowsRefused("413", `${url.host} takes fewer bytes at once`);
    const cause = (): string =>
      `${url.host}: ${code === "none" ? `status ${response.status}` : clickhouseCause(answer, code)}`;
    const [, missing] = (body !== null && COLUMN_MISSING.exec(answer)) || [];
    if (missing !== undefined)
      throw new StoreFailure(`${url.host}: ClickHouse code ${code}: the table lacks the column ${missing}`);
    if (body !== null && VALUE_CODES.has(code) && !answer.includes(VIEW_REFUSED)) throw new RowsRefused(code, cause());
    if (!response.ok) throw new StoreFailure(cause());
    return answer;
  } catch (error) {
    if (error instanceof StoreFailure || error instanceof RowsRefused) throw error;
    const late = `no answer within ${INSERT_TIMEOUT_MS / 1_000} s`;
    throw new StoreFailure(`${url.host}: ${deadline.signal.aborted ? late : rootCause(error)}`);
  } finally {
    clearTimeout(timer);
  }
}
