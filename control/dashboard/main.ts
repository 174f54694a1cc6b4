/**
 * `npm run dashboard`: the console as a process of its own, before a gateway that runs elsewhere
 * (docs/rules/console.md#alone). An invalid variable or a port in use is reported in one line, with exit code 1. The
 * Management API may become available later, and may go away.
 */
import { randomBytes } from "node:crypto";
import { sql } from "drizzle-orm";
import { managementLiveRoutes } from "../app.ts";
import { connect } from "../db/connect.ts";
import { checkNames } from "../kernel/check-names.ts";
import { createLog, type Logger } from "../kernel/log.ts";
import { StoreWatch } from "../kernel/store-watch.ts";
import { handedSockets } from "../process/handed-sockets.ts";
import { migrateWithRetries } from "../process/open-database.ts";
import { OrderlyEnd } from "../process/orderly-end.ts";
import { withProbes } from "../process/probes.ts";
import { startOrExit } from "../process/start-error.ts";
import { createDashboard } from "./app.ts";
import { BUILT_CONSOLE, ConsoleAssets } from "./assets.ts";
import { parseStandaloneEnv, type StandaloneEnv } from "./env.ts";
import { remoteManagement } from "./remote-management.ts";
import { serveDashboard } from "./serve.ts";

/** How long requests that are under way at the end may take. */
const DRAIN_MS = 5_000;

await startOrExit("console", async () => {
  const log = createLog();
  checkNames(process.env, (warning) => log.warn(warning));
  await main(parseStandaloneEnv(process.env), log);
});

async function main(env: StandaloneEnv, log: Logger): Promise<void> {
  const end = new OrderlyEnd();
  if (process.connected) end.watchParent();
  const connection = await connect(env.databaseUrl, new StoreWatch("database", log));
  await migrateWithRetries(connection, log);
  const dashboard = createDashboard({
    env: env.dashboard,
    db: connection.db,
    assets: ConsoleAssets.read(BUILT_CONSOLE),
    adminToken: env.adminToken,
    management: remoteManagement(env.adminBaseUrl, log),
    routes: managementLiveRoutes(),
    now: () => new Date(),
    randomBytes: (count) => new Uint8Array(randomBytes(count)),
    log,
  });
  const needs = { database: async () => await connection.db.execute(sql`SELECT 1`), runtimeReadyUrl: "" };
  const fd = handedSockets(process.env, ["dashboard"]).get("dashboard");
  const { stalledReaderMs } = env;
  const server = await serveDashboard(withProbes(dashboard.fetch, needs), env.dashboard.listen, {
    stalledReaderMs,
    fd,
  });
  process.stdout.write(`${JSON.stringify({ event: "listening", dashboard: server.address })}\n`);
  const steps = async (): Promise<void> => {
    await server.close();
    await connection.close();
  };
  end.prepare(steps, { drainMs: DRAIN_MS, interrupt: true });
}
