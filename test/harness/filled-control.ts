/**
 * A control service over an analytics store full of traffic, with the tenants, keys and models of that traffic in its
 * database: the whole application over HTTP, on the embedded engine, which reports how much each answer had to read.
 */
import type { Server } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import { sql } from "drizzle-orm";
import { pino } from "pino";
import type { Database } from "../../control/db/connect.ts";
import { migrate } from "../../control/db/migrate.ts";
import { compose } from "../../control/deps.ts";
import { parseEnv } from "../../control/env.ts";
import { startClickhouseBridge } from "../../infra/local/clickhouse/bridge.ts";
import { openEngine } from "../../infra/local/clickhouse/engine.ts";
import { listen } from "../../infra/local/http/listen.ts";
import { type Fill, filledKey, filledTenant, fillStatements } from "./ledger-fill.ts";
import type { Stored } from "./ledger-reads.ts";

const TOKEN = "token";
const DB = "gateway";
const SESSIONS = 3;

/** Who may sign in to the console. */
export const FILLED_ADMIN = { email: "admin@example.org", password: "correct horse" };

/** The engine's counters of what was read from tables since it was opened. */
const ACCOUNT = `SELECT toFloat64(sumIf(value, event = 'SelectedRows')) AS rows, toFloat64(sumIf(value, event = 'SelectedBytes')) AS bytes
  FROM system.events`;
type Account = Readonly<Record<"rows" | "bytes", number>>;

export interface MeasuredAnswer {
  readonly status: number;
  readonly body: unknown;
  readonly ms: number;
  readonly rowsRead: number;
  readonly bytesRead: number;
}

export type FilledControl = Awaited<ReturnType<typeof startFilledControl>>;

export async function startFilledControl(folder: string, fill: Fill) {
  const engine = openEngine(folder, SESSIONS);
  const bridge = await startClickhouseBridge({ engine, user: "default", password: TOKEN });
  const env = parseEnv({
    GATEWAY_ADMIN_TOKEN: TOKEN,
    GATEWAY_DATABASE_URL: "pglite:",
    GATEWAY_REDIS_TOKEN: TOKEN,
    GATEWAY_CLICKHOUSE_URL: bridge.url,
    GATEWAY_CLICKHOUSE_DB: DB,
    GATEWAY_CLICKHOUSE_PASSWORD: TOKEN,
    DASHBOARD_ADMIN_EMAIL: FILLED_ADMIN.email,
    DASHBOARD_PASSWORD: FILLED_ADMIN.password,
    DASHBOARD_SESSION_SECRET: "s".repeat(32),
  });
  const { app, dashboard, analytics, connection } = await compose(env, pino({ level: "silent" }));
  await migrate(connection);
  await seed(connection.db, fill);
  await analytics.migrate();
  const run = async (text: string): Promise<string> => {
    const request = { sql: text, data: undefined, database: DB, format: "JSONEachRow", settings: {}, params: {} };
    return Buffer.from((await engine.run(request)).bytes).toString("utf8");
  };
  const account = async (): Promise<Account> => JSON.parse(await run(ACCOUNT)) as Account;
  for (const statement of fillStatements(DB, fill)) await run(statement);
  // What a read has to look at depends on how many parts are merged, which the engine does when it has time.
  for (const table of ["usage_raw", "usage_daily", "usage_quarter", "spans"])
    await run(`OPTIMIZE TABLE ${DB}.${table} FINAL`);
  const [stored] = await analytics.rows<Omit<Stored, "fill">>(
    `SELECT (SELECT count() FROM ${DB}.usage_daily) AS rollupRows,
       (SELECT count() FROM ${DB}.usage_quarter) AS quarterRows, (SELECT count() FROM ${DB}.spans) AS spanRows,
       (SELECT toString(request_id) FROM ${DB}.usage_raw ORDER BY ts LIMIT 1 OFFSET ${Math.floor(fill.rows / 2)}) AS requestId`,
    {},
  );
  if (stored === undefined) throw new Error("nothing is stored");
  const server = await listen(createAdaptorServer({ fetch: app.fetch }) as Server, "127.0.0.1", 0);
  if (dashboard === null) throw new Error("its variables are set");
  const console = await listen(createAdaptorServer({ fetch: dashboard.fetch }) as Server, "127.0.0.1", 0);
  return {
    /** Its console, whose admin is {@link FILLED_ADMIN}; it is served where the console has been built. */
    consoleUrl: console.url,
    stored: { fill, ...stored } as Stored,
    /** Requests a path under `/api/v1`. One at a time, because the engine has one set of counters for all. */
    get: async (path: string): Promise<MeasuredAnswer> => {
      const [before, idle] = [await account(), await account()];
      const startedMs = performance.now();
      const response = await fetch(`${server.url}/api/v1${path}`, { headers: { authorization: `Bearer ${TOKEN}` } });
      const body: unknown = await response.json();
      const ms = performance.now() - startedMs;
      const after = await account();
      // what reading the counters itself costs is the difference between the first two readings
      const spent = (field: keyof Account): number => after[field] - idle[field] - (idle[field] - before[field]);
      return { status: response.status, body, ms, rowsRead: spent("rows"), bytesRead: spent("bytes") };
    },
    rows: async <T>(statement: string): Promise<readonly T[]> => await analytics.rows<T>(statement, {}),
    close: async (): Promise<void> => {
      await server.close();
      await console.close();
      await analytics.close();
      await connection.close();
      await bridge.close();
      await engine.close();
    },
  };
}

/** Fills an empty database with the records that the traffic names. The key hashes belong to no secret. */
async function seed(db: Database, fill: Fill): Promise<void> {
  const tenantIds = Array.from({ length: fill.tenants }, (_, tenant) => filledTenant(tenant));
  const keyIds = tenantIds.flatMap((_, tenant) =>
    Array.from({ length: fill.keysEach }, (__, key) => filledKey(fill, tenant, key)),
  );
  await db.execute(sql`
    INSERT INTO tenants (id, name, rev)
    SELECT id::uuid, 'tenant ' || n, nextval('config_rev')
    FROM jsonb_array_elements_text(${JSON.stringify(tenantIds)}::jsonb) WITH ORDINALITY AS t (id, n)`);
  await db.execute(sql`
    INSERT INTO api_keys (id, tenant_id, name, key_prefix, key_hash, rev)
    SELECT id::uuid, (${JSON.stringify(tenantIds)}::jsonb ->> ((n - 1) / ${fill.keysEach}::int)::int)::uuid, 'key ' || n,
      'sk_' || left(md5(id), 15), md5(id) || md5(id || 'x'), nextval('config_rev')
    FROM jsonb_array_elements_text(${JSON.stringify(keyIds)}::jsonb) WITH ORDINALITY AS k (id, n)`);
  await db.execute(sql`
    INSERT INTO models (model_name, upstream_model, input_cost_per_token, output_cost_per_token, rev)
    SELECT 'model-' || n, 'm', 0.000001 * (1 + n), 0.000004 * (1 + n), nextval('config_rev')
    FROM generate_series(0, ${fill.models}::int - 1) AS n`);
}
