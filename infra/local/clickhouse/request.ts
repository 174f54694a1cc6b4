/**
 * Reads a request to ClickHouse's HTTP interface: query, data, settings, bound parameters, database. Pure. It decides what
 * the embedded engine may run: one statement, no table function that reaches outside the engine (file, url, remote and
 * similar ones), settings and parameters with plain names only. SQL of users never gets here; this is a second barrier.
 */

/** An error as ClickHouse reports it. */
export class ClickhouseError extends Error {
  override readonly name = "ClickhouseError";
  readonly code: number;

  constructor(code: number, message: string, kind: string) {
    super(`Code: ${code}. DB::Exception: ${message} (${kind})`);
    this.code = code;
  }
}

/** One statement, ready to run. */
export interface EngineRequest {
  readonly sql: string;
  /** The rows of an INSERT ... FORMAT, as bytes. */
  readonly data: Buffer | undefined;
  readonly database: string;
  readonly format: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly params: Readonly<Record<string, string>>;
}

/** An INSERT whose rows come as data. */
interface InsertTarget {
  readonly table: string;
  readonly columns: readonly string[] | undefined;
  readonly format: string;
  /** The statement's own SETTINGS, which replace those of the request. */
  readonly settings: Readonly<Record<string, string>>;
}

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const NOT_SETTINGS = new Set(
  (
    "query database query_id user password default_format session_id session_timeout session_check compress decompress role " +
    "enable_http_compression http_zlib_compression_level buffer_size wait_end_of_query send_progress_in_http_headers " +
    "http_headers_progress_interval_ms quota_key stacktrace cancel_http_readonly_queries_on_client_close"
  ).split(" "),
);
const OUTSIDE =
  /\b(file|fileCluster|url|urlCluster|remote|remoteSecure|cluster|clusterAllReplicas|s3|s3Cluster|gcs|hdfs|hdfsCluster|azureBlobStorage|mysql|postgresql|mongodb|redis|sqlite|jdbc|odbc|executable|input|deltaLake|hudi|iceberg\w*|python|arrowFlight|ytsaurus|fuzzQuery|Python|urlEngine)\s*\(/i;
const OUTSIDE_STATEMENT =
  /\bINTO\s+OUTFILE\b|\bFROM\s+INFILE\b|\bENGINE\s*=?\s*(File|URL|S3|HDFS|MySQL|PostgreSQL|MongoDB|Redis|SQLite|Kafka|RabbitMQ|NATS|Executable|JDBC|ODBC)\b/i;

/**
 * The SQL without parts that could hide something: string literals become `''`, comments a space, quoted names their plain
 * spelling. Throws ClickhouseError for SQL that another parser might split differently (heredocs, `#` comments, escapes in
 * quoted names, unbalanced quotes).
 */
function skeleton(sql: string): string {
  const bare = sql.replace(/'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|"")*"|`(?:[^`\\]|``)*`|--[^\n]*|\/\*.*?\*\//gs, (found) => {
    if (found.startsWith("'")) return "''";
    if (found.startsWith("-") || found.startsWith("/")) return " ";
    const name = found.slice(1, -1);
    return NAME.test(name) ? name : " _ ";
  });
  if (/[$#"`]/.test(bare) || bare.replaceAll("''", "").includes("'")) {
    throw new ClickhouseError(62, "Syntax error (not readable without doubt)", "SYNTAX_ERROR");
  }
  return bare;
}

function checkStatement(bare: string): void {
  if (bare.includes(";")) {
    throw new ClickhouseError(62, "Syntax error (Multi-statements are not allowed)", "SYNTAX_ERROR");
  }
  const outside = OUTSIDE.exec(bare)?.[1] ?? OUTSIDE_STATEMENT.exec(bare)?.[0];
  if (outside !== undefined) throw new ClickhouseError(497, `Not allowed here: ${outside}`, "ACCESS_DENIED");
}

/** Reads URL parameters and body. Throws ClickhouseError for a request that may not run. */
export function readRequest(search: URLSearchParams, body: Buffer): EngineRequest {
  const settings: Record<string, string> = {};
  const params: Record<string, string> = {};
  for (const [name, value] of search) {
    if (NOT_SETTINGS.has(name)) continue;
    const target = name.startsWith("param_") ? params : settings;
    const key = target === params ? name.slice("param_".length) : name;
    if (!NAME.test(key)) throw new ClickhouseError(115, "Unknown setting", "UNKNOWN_SETTING");
    target[key] = value;
  }
  const inUrl = search.get("query");
  let sql = (inUrl ?? body.toString("utf8")).trim();
  if (sql.endsWith(";")) sql = sql.slice(0, -1).trimEnd();
  if (sql === "") throw new ClickhouseError(62, "Syntax error: empty query", "SYNTAX_ERROR");
  const isInsertWithData = inUrl !== null && body.length > 0;
  const bare = skeleton(sql);
  checkStatement(bare);
  if (isInsertWithData && readInsert(sql) === undefined) {
    throw new ClickhouseError(62, "Syntax error: data without an INSERT ... FORMAT", "SYNTAX_ERROR");
  }
  const missing = [...bare.matchAll(/\{\s*([A-Za-z_]\w*)\s*:/g)].find(([, name]) => !(String(name) in params));
  if (missing !== undefined) {
    throw new ClickhouseError(456, `Substitution \`${missing[1]}\` is not set`, "UNKNOWN_QUERY_PARAMETER");
  }
  return {
    sql,
    data: isInsertWithData ? body : undefined,
    database: search.get("database") || "default",
    format:
      /\bFORMAT\s+([A-Za-z0-9]+)\s*(?:SETTINGS\b[\s\S]*)?$/i.exec(bare)?.[1] ??
      search.get("default_format") ??
      "TabSeparated",
    settings,
    params,
  };
}

/**
 * Reads `INSERT INTO [TABLE] [db.]table [(columns)] [SETTINGS ...] FORMAT f`; returns undefined for any other statement.
 */
export function readInsert(sql: string): InsertTarget | undefined {
  const found =
    /^INSERT\s+INTO\s+(?:TABLE\s+)?((?:[`"]?\w+[`"]?\.)?[`"]?\w+[`"]?)\s*(\([^)]*\))?\s*(?:SETTINGS\s+([\s\S]+?)\s+)?FORMAT\s+(\w+)\s*$/i.exec(
      sql,
    );
  if (found === null) return undefined;
  const [, table = "", columns, settings, format = ""] = found;
  const bare = (name: string) => name.trim().replace(/[`"]/g, "");
  const own: Record<string, string> = {};
  for (const [, name = "", quoted, plain] of (settings ?? "").matchAll(
    /(\w+)\s*=\s*(?:'((?:[^'\\]|\\.)*)'|([^,\s]+))/g,
  )) {
    own[name] = quoted?.replace(/\\(.)/gs, "$1") ?? plain ?? "";
  }
  return { table: bare(table), columns: columns?.slice(1, -1).split(",").map(bare), format, settings: own };
}

/** A value as a string literal of SQL. */
export function literal(value: string): string {
  return `'${value.replace(/[\\']/g, "\\$&")}'`;
}

/** The HTTP status for an error code of the engine. */
export function statusOf(code: number): number {
  if (code === 60 || code === 81) return 404;
  if (code === 497) return 403;
  if (code === 159) return 408;
  return [6, 27, 36, 46, 47, 53, 62, 70, 115, 117, 386, 395, 456].includes(code) ? 400 : 500;
}
