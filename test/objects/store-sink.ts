/**
 * A stand-in for the analytics store, in the test runner's process; objects under test can reach nothing else. It keeps
 * inserted rows, honours deduplication tokens as the store does, and fails as a test instructs it, per ledger.
 */

import { RESOLVER_HOST, resolve } from "./resolver-sink.ts";

/**
 * `refuse`: refuse every insert. `lose_ack`: take the insert, then fail the answer. `view_refuses`: take the insert, and
 * answer that the rollup refused it. `repair`: from now on also take rows that are marked as unreadable ({@link
 * UNREADABLE}).
 */
type SinkFault = "refuse" | "lose_ack" | "view_refuses" | "repair";

/** Rows and spans that contain this text are refused for their content. */
export const UNREADABLE = "unreadable-to-the-store";

/** The address at which tests instruct the sink and read what it has. */
export const SINK_CONTROL = "http://sink.test/";
/** The address at which tests read how many bytes of memory the runtime uses (test/harness/runtime-memory.ts answers). */
export const MEMORY = "http://memory.test/";

export interface SinkOrder {
  readonly ledger: string;
  readonly fault: SinkFault;
  readonly times: number;
}

const rows: string[] = [];
const tokens: string[] = [];
const orders: { ledger: string; fault: SinkFault; times: number }[] = [];

/** Answers every request that an object or a test sends out. */
export async function storeSink(request: Request): Promise<Response> {
  const url = new URL(request.url);
  if (url.hostname === RESOLVER_HOST) return resolve(url);
  const body = await request.text();
  if (url.hostname === "sink.test") {
    if (request.method === "GET") return Response.json({ rows, tokens });
    orders.push(JSON.parse(body));
    return new Response("ok");
  }
  const insert = url.searchParams.get("query");
  if (insert !== null && /^INSERT INTO gateway\.(usage_raw|spans) FORMAT JSONEachRow/.test(insert))
    return take(url, body);
  if (body.startsWith("SELECT toString(request_id)")) return new Response(known(body).join("\n"));
  return new Response("unknown", { status: 500 });
}

function take(url: URL, body: string): Response {
  const token = url.searchParams.get("insert_deduplication_token") ?? "";
  const own = orders.filter((entry) => token.startsWith(`${entry.ledger}-`));
  if (body.includes(UNREADABLE) && !own.some((entry) => entry.fault === "repair"))
    return new Response("unreadable", { status: 400, headers: { "x-clickhouse-exception-code": "27" } });
  const order = own.find((entry) => entry.fault !== "repair" && entry.times > 0);
  if (order !== undefined) order.times -= 1;
  if (order?.fault === "refuse") return new Response("refused", { status: 503 });
  if (!tokens.includes(token)) rows.push(...body.split("\n"));
  tokens.push(token);
  if (order?.fault === "view_refuses")
    return new Response("Code: 469. DB::Exception: violated: while pushing to view gateway.usage_daily_mv.", {
      status: 400,
      headers: { "x-clickhouse-exception-code": "469" },
    });
  return order === undefined ? new Response("") : new Response("lost", { status: 500 });
}

function known(query: string): string[] {
  const asked = [...query.matchAll(/'([0-9a-f-]{36})'/g)].map((match) => match[1] ?? "");
  return asked.filter((id) => rows.some((row) => row.includes(`"request_id":"${id}"`)));
}
