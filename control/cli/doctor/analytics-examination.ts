/**
 * ClickHouse as both planes use it: whether it answers, its release and clock, its tables, what its user may do, the
 * room on its disks, and how old the newest usage row is. It reads only.
 */
import { ClickHouseError, createClient } from "@clickhouse/client-web";
import { z } from "zod";
import { type ColumnDrift, columnDrift, columnSchema, columnsQuery } from "../../usage/analytics/schema-drift.ts";
import { fetchLimited, shaped } from "./answers.ts";
import { clockFromInstant } from "./clocks.ts";
import { diskFinding } from "./disk-finding.ts";
import type { Examination } from "./examination.ts";
import { type DoctorFinding, type Examined, findingsOf } from "./finding.ts";
import { unreachable } from "./unreachable.ts";

export const ANALYTICS = "analytics store";
const { ok, failure } = findingsOf(ANALYTICS);

const TABLES = ["usage_raw", "usage_daily", "usage_quarter", "spans"] as const;
/** What the control service does in its database: the Worker inserts, retention drops partitions. */
const GRANTS = ["SELECT", "INSERT", "CREATE TABLE", "CREATE VIEW", "ALTER TABLE"] as const;

/** A number, which releases of the store write as a text too. */
const figure = z.coerce.number();
const disk = z.object({ name: z.string(), free: figure, total: figure });

interface AnalyticsAccess {
  readonly url: string;
  readonly db: string;
  readonly user: string;
  readonly password: string;
}

/** Two ways to ask, because a statement that is no query takes no format. */
interface Store {
  rows<T>(query: string, row: z.ZodType<T>): Promise<readonly T[]>;
  text(statement: string): Promise<string>;
}

export function analyticsExamination(access: AnalyticsAccess, withinMs: number): Examination {
  return {
    part: ANALYTICS,
    run: async (signal) => {
      const client = createClient({
        url: access.url,
        username: access.user,
        password: access.password,
        request_timeout: withinMs,
        fetch: fetchLimited,
        clickhouse_settings: { output_format_json_quote_64bit_integers: 0 },
      });
      const store: Store = {
        rows: async <T>(query: string, row: z.ZodType<T>) => {
          const result = await client.query({ query, format: "JSONEachRow", abort_signal: signal });
          return shaped(z.array(row), await result.json());
        },
        text: async (query) => {
          const { stream } = await client.exec({ query, abort_signal: signal });
          return await new Response(stream).text();
        },
      };
      try {
        return await examine(store, access.db);
      } catch (error) {
        return { findings: [refusal(error, access.url)] };
      } finally {
        await client.close();
      }
    },
  };
}

async function examine(store: Store, db: string): Promise<Examined> {
  const sentMs = Date.now();
  const [state] = await store.rows(
    "SELECT version() AS version, toUnixTimestamp64Milli(now64(3)) AS now_ms",
    z.object({ version: z.string(), now_ms: figure }),
  );
  const gotMs = Date.now();
  const [tables, columns, disks, grants, readonly] = await Promise.all([
    store.rows(`SELECT name FROM system.tables WHERE database = '${db}'`, z.object({ name: z.string() })),
    store.rows(columnsQuery(db), columnSchema),
    // both need rights that a user of the gateway may lack
    store.rows("SELECT name, free_space AS free, total_space AS total FROM system.disks", disk).catch(() => []),
    missingGrants(store, db),
    store
      .rows("SELECT value FROM system.settings WHERE name = 'readonly'", z.object({ value: z.string() }))
      .catch(() => []),
  ]);
  const missing = TABLES.filter((table) => !tables.some(({ name }) => name === table));
  const age = missing.includes("usage_raw") ? [] : [await ageFinding(store, db)];
  return {
    findings: [
      ok("reachable", `answers; ClickHouse ${state?.version ?? "of an unknown release"}`),
      schemaFinding(db, missing),
      ...columnFindings(columnDrift(db, columns)),
      permissionFinding(grants, Number(readonly[0]?.value ?? 0)),
      ...diskFindings(disks),
      ...age,
    ],
    clocks: state === undefined ? [] : [clockFromInstant(ANALYTICS, state.now_ms, sentMs, gotMs)],
  };
}

/** Grants that the user lacks; null when the server does not know how to say it. */
async function missingGrants(store: Store, db: string): Promise<readonly string[] | null> {
  try {
    const has = await Promise.all(
      GRANTS.map(async (grant) => (await store.text(`CHECK GRANT ${grant} ON ${db}.*`)).trim() === "1"),
    );
    return GRANTS.filter((_, at) => has[at] === false);
  } catch {
    return null;
  }
}

function schemaFinding(db: string, missing: readonly string[]): DoctorFinding {
  if (missing.length === 0) return ok("schema", `has the ${TABLES.length} tables of the gateway`);
  const fix = "check GATEWAY_CLICKHOUSE_DB; the control service creates the tables within a minute of its start";
  return failure("schema", `the database ${db} lacks ${missing.join(", ")}`, fix);
}

/** Columns that were dropped or changed. Pure. */
function columnFindings(drift: readonly ColumnDrift[]): readonly DoctorFinding[] {
  return drift.map(({ detail, statement }) =>
    failure("schema", `${detail}: usage rows wait at the cells, and are lost when these are full`, `run ${statement}`),
  );
}

/** What the user may do; `readonly` is the setting of that name. Pure. */
export function permissionFinding(missing: readonly string[] | null, readonly: number): DoctorFinding {
  if (readonly === 1 || readonly === 2)
    return failure("permission", "its user is read-only", "use a user whose profile has readonly = 0");
  if (missing === null) return ok("permission", "its user is not read-only");
  if (missing.length === 0) return ok("permission", `its user has ${GRANTS.join(", ")}`);
  const fix = `GRANT ${missing.join(", ")} ON the database TO the user of GATEWAY_CLICKHOUSE_USER`;
  return failure("permission", `its user lacks ${missing.join(", ")}`, fix);
}

type Disk = z.infer<typeof disk>;

/** The room of the disks; a disk in a bucket has no size. Pure. */
export function diskFindings(disks: readonly Disk[]): readonly DoctorFinding[] {
  const fix = "make room, or keep raw rows for fewer days (PUT /api/v1/settings/usage-retention)";
  return disks.flatMap(({ name, free, total }) => diskFinding(ANALYTICS, `the disk ${name}`, { free, total }, fix));
}

/** How old the newest row is says nothing alone: without requests there are no rows. */
async function ageFinding(store: Store, db: string): Promise<DoctorFinding> {
  const [row] = await store.rows(
    `SELECT count() AS rows, dateDiff('second', max(ts), now64(3)) AS age
     FROM ${db}.usage_raw WHERE ts > now64(3) - INTERVAL 1 DAY`,
    z.object({ rows: figure, age: figure }),
  );
  if (row === undefined || row.rows === 0) return ok("lag", "no usage row in the last day");
  return ok("lag", `the newest usage row is ${Math.max(0, row.age)} s old`);
}

const CODES: Readonly<Record<string, readonly [detail: string, fix: string]>> = {
  "516": ["does not accept user and password", "check GATEWAY_CLICKHOUSE_USER and GATEWAY_CLICKHOUSE_PASSWORD"],
  "194": ["requires a password", "set GATEWAY_CLICKHOUSE_PASSWORD"],
  "192": ["does not know the user", "check GATEWAY_CLICKHOUSE_USER"],
  "497": ["does not let its user read", "grant the user access to the database in GATEWAY_CLICKHOUSE_DB"],
  "202": ["is running too many queries", "raise max_concurrent_queries, or check what else uses the store"],
  "241": ["does not have enough memory for a query", "give the store more memory"],
};

function refusal(error: unknown, url: string): DoctorFinding {
  if (!(error instanceof ClickHouseError)) {
    const { detail, fix } = unreachable(error, url);
    return failure("reachable", detail, fix);
  }
  const [detail, fix] = CODES[error.code] ?? [`answers with the error ${error.code}`, "read the log of the store"];
  return failure("reachable", detail, fix);
}
