/**
 * The control service: configuration, database, listeners, jobs, and an orderly end. An invalid variable, a locked
 * folder or a port in use is reported in one line, with exit code 1. The database is required at start; the other
 * stores may become available later (docs/rules/configuration.md#start-and-stop).
 */
import type { Hono } from "hono";
import { rootCause } from "../shared/text/root-cause.ts";
import { configWarnings } from "./config-warnings.ts";
import { serveDashboard } from "./dashboard/serve.ts";
import { compose } from "./deps.ts";
import { type ControlEnv, parseEnv } from "./env.ts";
import { checkNames } from "./kernel/check-names.ts";
import { startJobs } from "./kernel/jobs/jobs.ts";
import { createLog, type Logger } from "./kernel/log.ts";
import { CONTROL_SOCKETS, handedSockets } from "./process/handed-sockets.ts";
import { serveAt } from "./process/http-server.ts";
import { migrateWithRetries } from "./process/open-database.ts";
import { OrderlyEnd } from "./process/orderly-end.ts";
import { withProbes } from "./process/probes.ts";
import { startOrExit } from "./process/start-error.ts";

await startOrExit("control service", async () => {
  const log = createLog();
  checkNames(process.env, (warning) => log.warn(warning));
  await main(parseEnv(process.env), log);
});

async function main(env: ControlEnv, log: Logger): Promise<void> {
  const end = new OrderlyEnd();
  if (env.parentWatch) end.watchParent(); // the launcher may be killed at any time, even while this service starts
  const deps = await compose(env, log);
  log.info({ event: "starting", ...deps.build, node: process.versions.node });
  await migrateWithRetries(deps.connection, log);
  await deps.prepare();
  const notYet = (line: object) => (error: unknown) => log.warn({ ...line, reason: rootCause(error) });
  await deps.analytics.migrate().catch(notYet({ event: "analytics_not_ready" }));
  await deps.syncAtStart().catch(notYet({ event: "hot_copies_not_synced" }));
  for (const warning of configWarnings(env)) log.warn(warning);
  const probed = (app: { readonly fetch: Hono["fetch"] }) => withProbes(app.fetch, deps.needs);
  const sockets = handedSockets(process.env, CONTROL_SOCKETS);
  const { stalledReaderMs } = env;
  const admin = await serveAt(probed(deps.app), env.adminListen, {
    variable: "GATEWAY_ADMIN_LISTEN",
    stalledReaderMs,
    fd: sockets.get("admin"),
  });
  const metrics = await serveAt(probed(deps.metrics), env.metricsListen, {
    variable: "GATEWAY_METRICS_LISTEN",
    stalledReaderMs,
    fd: sockets.get("metrics"),
  });
  const dashboard =
    deps.dashboard === null
      ? null
      : await serveDashboard(probed(deps.dashboard), env.dashboard?.listen ?? null, {
          stalledReaderMs,
          fd: sockets.get("dashboard"),
        });
  const stopLeases = deps.leases.start();
  const stopJobs = startJobs(deps.jobs, deps.leases, deps.runs);
  const listening = {
    event: "listening",
    admin: admin.address,
    metrics: metrics.address,
    ...(dashboard === null ? {} : { dashboard: dashboard.address }),
  };
  process.stdout.write(`${JSON.stringify(listening)}\n`);

  const steps = async (): Promise<void> => {
    deps.end();
    await Promise.all([
      deps.prober.stop(),
      deps.benchmarks.stop(),
      ...[admin, metrics, dashboard].map(async (server) => await server?.close()),
    ]);
    await stopJobs();
    await stopLeases();
    await deps.analytics.close();
    deps.store.close();
    await deps.connection.close();
  };
  // A terminal sends SIGINT to the launcher too, which then ends its parts in order.
  end.prepare(steps, { drainMs: env.drainMs, interrupt: !env.parentWatch });
}
