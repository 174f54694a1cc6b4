/**
 * Writes to the analytics store over its HTTP protocol. An insert carries a deduplication token, so that sending it again
 * after a lost acknowledgement changes nothing (decisions §23.5). Internals of the store never leave this file.
 */
import type { ClickhouseEnv } from "../env.ts";

const INSERT_TIMEOUT_MS = 30_000;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The store did not take or answer it; `reason` is short and free of its internals. */
export class StoreFailure extends Error {
  override readonly name = "StoreFailure";
}

/** Inserts lines of JSON into a table. Throws StoreFailure. */
export async function insertLines(
  store: ClickhouseEnv,
  table: string,
  lines: readonly string[],
  token: string,
): Promise<void> {
  await call(
    store,
    `INSERT INTO ${store.db}.${table} FORMAT JSONEachRow`,
    { insert_deduplication_token: token },
    lines.join("\n"),
  );
}

/** Which of these requests have a row in the store already. Throws StoreFailure. */
export async function findRequests(store: ClickhouseEnv, requestIds: readonly string[]): Promise<ReadonlySet<string>> {
  const ids = requestIds.filter((id) => UUID.test(id));
  if (ids.length === 0) return new Set();
  const list = ids.map((id) => `'${id}'`).join(",");
  const query = `SELECT toString(request_id) FROM ${store.db}.usage_raw WHERE request_id IN (${list}) FORMAT TabSeparated`;
  return new Set((await call(store, query, {}, null)).split("\n").filter((line) => line !== ""));
}

/** Runs one statement and answers its output as text. Throws StoreFailure. */
export async function call(
  store: ClickhouseEnv,
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
    if (!response.ok)
      throw new StoreFailure(
        `status ${response.status}, code ${response.headers.get("x-clickhouse-exception-code") ?? "none"}`,
      );
    return answer;
  } catch (error) {
    if (error instanceof StoreFailure) throw error;
    throw new StoreFailure(deadline.signal.aborted ? "timeout" : "connection failed", { cause: error });
  } finally {
    clearTimeout(timer);
  }
}
