/**
 * The control service: configuration, database, listeners, jobs, and an orderly end. An invalid variable, a locked
 * folder or a port in use is reported in one line, with exit code 1. The database is required at start; the other
 * stores may become available later (docs/rules/configuration.md#start-and-stop).
 */
import type { AddressInfo, Server } from "node:net";
import { serve } from "@hono/node-server";
import { terminalText } from "../shared/printable.ts";
import { configWarnings } from "./config-warnings.ts";
import type { DashboardEnv } from "./dashboard/env.ts";
import { DatabaseLocked } from "./db/folder-lock.ts";
import { migrate } from "./db/migrate.ts";
import { compose, type Deps } from "./deps.ts";
import { EncryptionKeyError } from "./encryption/encryption-check.ts";
import { type ControlEnv, parseEnv } from "./env.ts";
import { startJobs } from "./jobs/jobs.ts";
import { EnvError, type Listen } from "./kernel/env-field.ts";
import { createLog, type Logger } from "./kernel/log.ts";

const DATABASE_TRIES = 10;
const DATABASE_WAIT_MS = 2000;
/** Where the console listens when no variable says it, and how many ports after it are tried. */
const DASHBOARD_PORT = 3000;
const DASHBOARD_PORTS = 20;

type Fetch = (request: Request) => Response | Promise<Response>;

try {
  await main(parseEnv(process.env), createLog());
} catch (error) {
  process.stderr.write(`${terminalText(messageOf(error))}\n`);
  process.exit(1);
}

async function main(env: ControlEnv, log: Logger): Promise<void> {
  let end = async (): Promise<void> => process.exit(0); // nothing is served yet, and the database survives a crash
  if (env.parentWatch) watchParent(() => void end());
  const deps = await compose(env, log);
  await migrateWithRetries(deps, log);
  await deps.prepare();
  await deps.analytics.migrate().catch(() => log.warn({ event: "analytics_not_ready" }));
  await deps.syncAtStart().catch(() => log.warn({ event: "hot_copies_not_synced" }));
  for (const warning of configWarnings(env)) log.warn(warning);
  const admin = await listen(deps.app.fetch, env.adminListen, "GATEWAY_ADMIN_LISTEN");
  const metrics = await listen(deps.metrics.fetch, env.metricsListen, "GATEWAY_METRICS_LISTEN");
  const dashboard = deps.dashboard === null ? null : await listenDashboard(deps.dashboard.fetch, env.dashboard);
  const stopLeases = deps.leases.start();
  const stopJobs = startJobs(deps.jobs, deps.leases, deps.runs);
  process.stdout.write(
    `${JSON.stringify({ event: "listening", admin: addressOf(admin), metrics: addressOf(metrics), ...(dashboard === null ? {} : { dashboard: addressOf(dashboard) }) })}\n`,
  );

  let ending = false;
  end = async () => {
    if (ending) return;
    ending = true;
    setTimeout(() => process.exit(0), env.drainMs).unref();
    deps.end();
    await Promise.all([
      deps.prober.stop(),
      ...[admin, metrics, dashboard].map(async (server) => server && close(server)),
    ]);
    await stopJobs();
    await stopLeases();
    await deps.analytics.close();
    deps.store.close();
    await deps.connection.close();
    process.exit(0);
  };
  process.on("SIGTERM", () => void end());
  if (env.parentWatch) {
    // A terminal sends SIGINT to the launcher too, which then ends its parts in order.
    process.on("SIGINT", () => undefined);
  } else {
    process.on("SIGINT", () => void end());
  }
}

/**
 * Ends the service when the launcher is gone. The launcher may be killed at any time, even while this service starts; its
 * end is noticed by the connection that closes with it.
 */
function watchParent(onGone: () => void): void {
  if (process.connected) process.once("disconnect", onGone);
  else process.stdin.once("end", onGone).once("close", onGone).once("error", onGone).resume();
}

async function migrateWithRetries(deps: Deps, log: Logger): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const applied = await migrate(deps.connection);
      if (applied.length > 0) log.info({ event: "migrated", applied });
      return;
    } catch (error) {
      if (isRefusal(error) || attempt >= DATABASE_TRIES) throw error;
      log.warn({ event: "database_not_ready", attempt, reason: error instanceof Error ? error.name : "unknown" });
      await new Promise((resolve) => setTimeout(resolve, DATABASE_WAIT_MS));
    }
  }
}

/** Listens where the console is to be, or on the first free port from the usual one on. */
async function listenDashboard(fetch: Fetch, env: DashboardEnv | null): Promise<Server> {
  const variable = "GATEWAY_DASHBOARD_LISTEN";
  if (env !== null && env.listen !== null) return await listen(fetch, env.listen, variable);
  for (let port = DASHBOARD_PORT; ; port += 1) {
    try {
      return await listen(fetch, { host: "127.0.0.1", port }, variable);
    } catch (error) {
      if (!(error instanceof EnvError) || port >= DASHBOARD_PORT + DASHBOARD_PORTS) throw error;
    }
  }
}

async function listen(fetch: Fetch, { host, port }: Listen, variable: string): Promise<Server> {
  return await new Promise((resolve, reject) => {
    const server = serve({ fetch, hostname: host, port }, () => resolve(server as Server));
    server.on("error", (error: NodeJS.ErrnoException) =>
      reject(
        error.code === "EADDRINUSE" ? new EnvError(`${variable} ${host}:${port} is in use by another process`) : error,
      ),
    );
  });
}

function addressOf(server: Server): string {
  const { address, family, port } = server.address() as AddressInfo;
  return `http://${family === "IPv6" ? `[${address}]` : address}:${port}`;
}

async function close(server: Server): Promise<void> {
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    if ("closeIdleConnections" in server && typeof server.closeIdleConnections === "function")
      server.closeIdleConnections();
  });
}

function messageOf(error: unknown): string {
  const said = error instanceof EnvError || error instanceof DatabaseLocked || error instanceof EncryptionKeyError;
  if (said) return error.message;
  return `control service cannot start: ${innermost(error).message.split("\n")[0]}`;
}

/** The original error: the errors that wrap it quote the executed statement, which must not be logged. */
function innermost(error: unknown): Error {
  let at = error;
  while (at instanceof Error && at.cause instanceof Error) at = at.cause;
  if (at instanceof Error) return at.cause instanceof Event ? new Error("the database cannot be reached") : at;
  return new Error(at instanceof Event ? "the database cannot be reached" : "unknown failure");
}

/**
 * True when the database answered with a refusal, so that trying again changes nothing. Classes 08, 53 and 57 are errors of
 * a database that is starting, stopping or overloaded.
 */
function isRefusal(error: unknown): boolean {
  const cause = innermost(error);
  const { code } = cause as { code?: unknown };
  if (typeof code === "string" && /^[0-9A-Z]{5}$/.test(code)) return !/^(08|53|57)/.test(code);
  return cause.message.startsWith("migration");
}
