/** Where the console listens (docs/rules/console.md#variables). */
import type { Listen } from "../kernel/env-field.ts";
import { type HttpServer, serveAt, serveAtFreePort } from "../process/http-server.ts";

const VARIABLE = "GATEWAY_DASHBOARD_LISTEN";
/** Where it listens when no variable says it, and how many ports after it are tried. */
const DEFAULT_LISTEN: Listen = { host: "127.0.0.1", port: 3000 };
const MORE_PORTS = 20;

/** Serves the console; `listen` null: on the first free port from the usual one on. `fd`: on that socket. Throws EnvError. */
export async function serveDashboard(
  answer: Parameters<typeof serveAt>[0],
  listen: Listen | null,
  { stalledReaderMs, fd }: Omit<Parameters<typeof serveAt>[2], "variable">,
): Promise<HttpServer> {
  const options = { variable: VARIABLE, stalledReaderMs, fd };
  if (listen !== null || fd !== undefined) return await serveAt(answer, listen ?? DEFAULT_LISTEN, options);
  return await serveAtFreePort(answer, DEFAULT_LISTEN, MORE_PORTS, options);
}
