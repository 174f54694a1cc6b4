/** What the page shows, as lines for a terminal. Pure. */
import type { LogsQuery } from "./logs-query.ts";

/** The Management API's address and token are not the browser's to know: the shell has them, as for the command line. */
const BASE = `"\${GATEWAY_ADMIN_BASE_URL:-http://127.0.0.1:9180}"`;
const TOKEN = `-H "authorization: Bearer $GATEWAY_ADMIN_TOKEN"`;

/** The list with the same filters. */
export function listCall(query: LogsQuery): string {
  return curl(`/api/v1/usage/logs?${new URLSearchParams(query).toString()}`);
}

/** One request with its spans. */
export function requestCall(requestId: string): string {
  return curl(`/api/v1/usage/logs/${encodeURIComponent(requestId)}`);
}

function curl(path: string): string {
  return `curl -sS ${BASE}${quoted(path)} ${TOKEN}`;
}

/** A word of a POSIX shell, whatever is in it. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
