/**
 * PostgreSQL as the control service uses it: whether it answers, its release, its clock, what its role may do, how many
 * connections are left, and how old the oldest change is that has not reached the data plane. It reads only.
 */
import pg from "pg";
import { clockFromInstant } from "./clocks.ts";
import type { Examination } from "./examination.ts";
import { type DoctorFinding, type Examined, findingsOf } from "./finding.ts";
import { codeOf, unreachable } from "./unreachable.ts";

export const DATABASE = "database";
const { ok, skipped, warning, failure } = findingsOf(DATABASE);

/** The oldest release that its makers still fix. */
const OLDEST_MAJOR = 14;
const OUTBOX_WARN_SECS = 60;
const OUTBOX_FAIL_SECS = 300;
const CONNECTIONS_PART = 0.9;

const STATE = `
SELECT current_setting('server_version') AS version,
  current_setting('server_version_num')::int / 10000 AS major,
  extract(epoch FROM clock_timestamp()) * 1000 AS now_ms,
  pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on' AS read_only,
  current_setting('server_encoding') AS encoding,
  has_schema_privilege(current_schema(), 'CREATE') AS may_create,
  to_regclass('outbox') IS NOT NULL AND to_regclass('schema_migrations') IS NOT NULL AS has_tables,
  (SELECT count(*) FROM pg_stat_activity)::int AS connections,
  current_setting('max_connections')::int AS connections_max`;

const TABLES = `
SELECT c.relname AS name,
  has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT')
    AND has_table_privilege(c.oid, 'UPDATE') AND has_table_privilege(c.oid, 'DELETE') AS may_write,
  pg_has_role(c.relowner, 'USAGE') AS owns
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p') ORDER BY 1`;

const OUTBOX = `
SELECT count(*)::int AS pending, coalesce(extract(epoch FROM now() - min(created_at)), 0)::float8 AS oldest_secs
FROM outbox WHERE done_at IS NULL`;

/** What the database says of itself. */
export interface DatabaseState {
  readonly version: string;
  readonly major: number;
  readonly now_ms: number;
  readonly read_only: boolean;
  readonly encoding: string;
  readonly may_create: boolean;
  readonly has_tables: boolean;
  readonly connections: number;
  readonly connections_max: number;
}

/** What its role may do with one of its tables. */
interface TableRights {
  readonly name: string;
  readonly may_write: boolean;
  readonly owns: boolean;
}

/** `withinMs`: of the connection and of each statement. */
export function databaseExamination(url: string, withinMs: number): Examination {
  return { part: DATABASE, run: async () => await examine(url, withinMs) };
}

async function examine(url: string, withinMs: number): Promise<Examined> {
  if (url.startsWith("pglite:")) {
    const fix = "see above what the control service reports about it; gateway drill checks its backup";
    return { findings: [skipped("reachable", "is embedded: only the control service can open it", fix)] };
  }
  let client: pg.Client;
  try {
    client = new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: withinMs,
      query_timeout: withinMs,
      application_name: "gateway doctor",
    });
  } catch (error) {
    // the driver reads the files that the URL names, and decodes its parts
    if (codeOf(error) !== "") {
      const fix = "make the files of sslrootcert, sslcert and sslkey in GATEWAY_DATABASE_URL readable here";
      return { findings: [failure("reachable", "has an address with a file that cannot be read", fix)] };
    }
    const fix = "write a percent sign of user, password or name as %25 in GATEWAY_DATABASE_URL";
    return { findings: [failure("reachable", "has an address that cannot be read", fix)] };
  }
  client.on("error", () => undefined); // a cut connection fails its statement, which reports it
  try {
    await client.connect();
    const sentMs = Date.now();
    const state = await one<DatabaseState>(client, STATE);
    const gotMs = Date.now();
    const findings = stateFindings(state);
    if (state.has_tables) {
      const { rows: tables } = await client.query<TableRights>(TABLES);
      findings.push(...rightsFindings(state, tables));
      if (tables.find(({ name }) => name === "outbox")?.may_write === true)
        findings.push(outboxFinding(await one(client, OUTBOX)));
    }
    return { findings, clocks: [clockFromInstant(DATABASE, Number(state.now_ms), sentMs, gotMs)] };
  } catch (error) {
    return { findings: [refused(error, url)] };
  } finally {
    void client.end().catch(() => undefined);
  }
}

async function one<T extends object>(client: pg.Client, statement: string): Promise<T> {
  const { rows } = await client.query<T>(statement);
  const [row] = rows;
  if (row === undefined) throw new Error("the database answered without a row");
  return row;
}

/** Release, tables, encoding and connections. */
function stateFindings(state: DatabaseState): DoctorFinding[] {
  const upgrade = `upgrade PostgreSQL to ${OLDEST_MAJOR} or newer`;
  const findings = [
    state.major < OLDEST_MAJOR
      ? warning("reachable", `answers; PostgreSQL ${state.version} is no longer supported`, upgrade)
      : ok("reachable", `answers; PostgreSQL ${state.version}`),
  ];
  if (!state.has_tables) {
    const fix = "check the name of the database in GATEWAY_DATABASE_URL; the control service creates the tables";
    findings.push(failure("schema", "has no tables of the gateway", fix));
  }
  if (state.encoding !== "UTF8")
    findings.push(failure("schema", `stores text as ${state.encoding}`, "use a database with the encoding UTF8"));
  const used = `${state.connections} of ${state.connections_max} connections are in use`;
  const room = "raise max_connections, or put a pooler in front of the database";
  const isFull = state.connections >= state.connections_max * CONNECTIONS_PART;
  findings.push(isFull ? warning("connections", used, room) : ok("connections", used));
  return findings;
}

/** What the role may do. Pure. */
export function rightsFindings(state: DatabaseState, tables: readonly TableRights[]): readonly DoctorFinding[] {
  if (state.read_only) {
    const fix = "GATEWAY_DATABASE_URL must be the primary: a replica or a read-only role cannot write";
    return [failure("permission", "is read-only", fix)];
  }
  const closed = tables.filter(({ may_write }) => !may_write).map(({ name }) => name);
  if (closed.length > 0) {
    const fix = "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ... TO the role of the URL";
    return [failure("permission", `its role cannot write ${named(closed)}`, fix)];
  }
  const foreign = tables.filter(({ owns }) => !owns).map(({ name }) => name);
  if (!state.may_create || foreign.length > 0) {
    const what = state.may_create ? `does not own ${named(foreign)}` : "cannot create tables";
    const fix = "the next upgrade cannot migrate: make the role of the URL the owner of schema and tables";
    return [warning("permission", `its role ${what}`, fix)];
  }
  return [ok("permission", `its role may write and migrate ${tables.length} tables`)];
}

function named(tables: readonly string[]): string {
  const [first = "", ...rest] = tables;
  return rest.length === 0 ? first : `${first} and ${rest.length} more tables`;
}

function outboxFinding({ pending, oldest_secs: secs }: { pending: number; oldest_secs: number }): DoctorFinding {
  if (secs < OUTBOX_WARN_SECS) return ok("lag", `${pending} configuration changes are waiting`);
  const detail = `${pending} configuration changes are waiting, the oldest for ${Math.round(secs)} s`;
  const fix = "check that a control service is running, and check the key-value store and the cells";
  return (secs < OUTBOX_FAIL_SECS ? warning : failure)("lag", detail, fix, { cause: "outbox" });
}

const SQLSTATES: Readonly<Record<string, readonly [detail: string, fix: string]>> = {
  "28P01": ["does not accept the password", "check user and password of GATEWAY_DATABASE_URL"],
  "28000": ["does not accept the user", "check the user of GATEWAY_DATABASE_URL, and pg_hba.conf"],
  "3D000": ["has no database of that name", "check the name at the end of GATEWAY_DATABASE_URL"],
  "42501": ["does not let the role read its tables", "grant the role of GATEWAY_DATABASE_URL access to its tables"],
  "53300": ["has no connection left", "raise max_connections, or put a pooler in front of the database"],
  "57P03": ["is starting or stopping", "check again in a minute, then read its log"],
};

function refused(error: unknown, url: string): DoctorFinding {
  const code = codeOf(error);
  const [detail, fix] = SQLSTATES[code] ?? [];
  if (detail !== undefined && fix !== undefined) return failure("reachable", detail, fix);
  if (/^[0-9A-Z]{5}$/.test(code)) return failure("reachable", `answers with the error ${code}`, "read its log");
  const reason = unreachable(error, url);
  return failure("reachable", reason.detail, reason.fix);
}
