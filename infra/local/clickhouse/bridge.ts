/**
 * ClickHouse's HTTP interface over the embedded engine: GET /ping, and queries with user and password (basic auth, headers
 * X-ClickHouse-User and -Key, or URL parameters). Loopback only. An answer is either all rows or an error; an error never
 * follows rows.
 */
import { randomUUID, timingSafeEqual } from "node:crypto";
import http from "node:http";
import { promisify } from "node:util";
import { gunzip, gzip, inflate } from "node:zlib";
import { readBody, TooLarge } from "../http/http-body.ts";
import { type Listening, listen } from "../http/listen.ts";
import type { Engine } from "./engine.ts";
import { ClickhouseError, readRequest, statusOf } from "./request.ts";

/** What {@link startClickhouseBridge} needs. Port 0 takes a free port. */
interface ClickhouseBridgeOptions {
  readonly engine: Engine;
  readonly user: string;
  readonly password: string;
  readonly port?: number;
  readonly maxBodyBytes?: number;
}

const MAX_BODY_BYTES = 64 * 1024 * 1024;
const COMPRESS_FROM_BYTES = 1024;
/** How long an unused connection stays open. */
const KEPT_MS = 120_000;
const CONTENT_TYPES: Readonly<Record<string, string>> = {
  JSON: "application/json; charset=UTF-8",
  JSONEachRow: "application/x-ndjson; charset=UTF-8",
  JSONCompactEachRow: "application/x-ndjson; charset=UTF-8",
  TabSeparated: "text/tab-separated-values; charset=UTF-8",
};

function credentials(
  request: http.IncomingMessage,
  search: URLSearchParams,
): readonly [user: string, password: string] {
  const basic = /^Basic (.+)$/i.exec(request.headers.authorization ?? "")?.[1];
  if (basic !== undefined) {
    const text = Buffer.from(basic, "base64").toString("utf8");
    const colon = text.indexOf(":");
    return [text.slice(0, colon), text.slice(colon + 1)];
  }
  const header = (name: string) => request.headers[name]?.toString();
  return [
    header("x-clickhouse-user") ?? search.get("user") ?? "",
    header("x-clickhouse-key") ?? search.get("password") ?? "",
  ];
}

function same(given: string, wanted: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(wanted)];
  return one.length === other.length && timingSafeEqual(one, other);
}

async function decoded(request: http.IncomingMessage, limit: number): Promise<Buffer> {
  const bytes = await readBody(request, limit);
  const encoding = request.headers["content-encoding"];
  if (encoding === undefined || encoding === "identity") return bytes;
  if (encoding !== "gzip" && encoding !== "deflate") {
    throw new ClickhouseError(36, "Unknown content encoding", "BAD_ARGUMENTS");
  }
  try {
    return await promisify(encoding === "gzip" ? gunzip : inflate)(bytes, { maxOutputLength: limit });
  } catch (error) {
    if (error instanceof RangeError) throw new TooLarge(`more than ${limit} bytes`);
    throw new ClickhouseError(36, "The body cannot be decompressed", "BAD_ARGUMENTS");
  }
}

async function handle(options: ClickhouseBridgeOptions, request: http.IncomingMessage, response: http.ServerResponse) {
  const { pathname, searchParams: search } = new URL(request.url ?? "/", "http://localhost");
  if (pathname === "/ping") {
    response.writeHead(200, { "content-type": "text/plain" }).end("Ok.\n");
    return;
  }
  const [user, password] = credentials(request, search);
  if (!same(user, options.user) || !same(password, options.password)) {
    throw new ClickhouseError(
      516,
      "Authentication failed: password is incorrect, or there is no user with such name",
      "AUTHENTICATION_FAILED",
    );
  }
  if (pathname !== "/" || (request.method !== "POST" && request.method !== "GET")) {
    response.writeHead(404, { "content-type": "text/plain" }).end("There is no handle\n");
    return;
  }
  const started = process.hrtime.bigint();
  const asked = readRequest(search, await decoded(request, options.maxBodyBytes ?? MAX_BODY_BYTES));
  const left = new AbortController();
  response.once("close", () => left.abort());
  const result = await options.engine.run(asked, left.signal);
  const summary: Readonly<Record<string, number | bigint>> = {
    read_rows: result.readRows,
    read_bytes: result.readBytes,
    written_rows: result.writtenRows,
    written_bytes: result.writtenBytes,
    total_rows_to_read: 0,
    result_rows: 0,
    result_bytes: result.bytes.byteLength,
    elapsed_ns: process.hrtime.bigint() - started,
  };
  const summaryText = JSON.stringify(
    Object.fromEntries(Object.entries(summary).map(([name, value]) => [name, String(value)])),
  );
  const headers: Record<string, string> = {
    "content-type": CONTENT_TYPES[asked.format] ?? "text/plain; charset=UTF-8",
    "x-clickhouse-format": asked.format,
    "x-clickhouse-query-id": search.get("query_id") ?? randomUUID(),
    "x-clickhouse-summary": summaryText,
    "x-clickhouse-timezone": "UTC",
  };
  let bytes: Uint8Array = result.bytes;
  const accepts = request.headers["accept-encoding"]?.toString().includes("gzip") ?? false;
  if (search.get("enable_http_compression") === "1" && accepts && bytes.byteLength > COMPRESS_FROM_BYTES) {
    bytes = await promisify(gzip)(bytes);
    headers["content-encoding"] = "gzip";
  }
  response.writeHead(200, headers).end(bytes);
}

function refuse(response: http.ServerResponse, error: unknown): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const known =
    error instanceof ClickhouseError ? error : new ClickhouseError(1002, "The request failed", "UNKNOWN_EXCEPTION");
  const status = error instanceof TooLarge ? 413 : known.code === 516 ? 401 : statusOf(known.code);
  response.writeHead(status, {
    "content-type": "text/plain; charset=UTF-8",
    "x-clickhouse-exception-code": String(known.code),
    connection: "close",
  });
  response.end(`${known.message} (version 26.7)\n`);
}

/** Starts the bridge on 127.0.0.1. The caller keeps the engine and closes it. */
export async function startClickhouseBridge(options: ClickhouseBridgeOptions): Promise<Listening> {
  // A query may block this process for longer than the usual 5 s. A client must not reuse a connection that is being closed
  // meanwhile.
  const server = http.createServer({ keepAliveTimeout: KEPT_MS }, (request, response) => {
    handle(options, request, response).catch((error: unknown) => refuse(response, error));
  });
  return listen(server, "127.0.0.1", options.port ?? 0);
}
