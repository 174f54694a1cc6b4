/** HTTP servers of a process: they listen where a variable says, and close when the process ends. */
import type { AddressInfo, Server } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import { EnvError, type Listen } from "../kernel/env-field.ts";

/** What answers requests. */
type Answer = (request: Request) => Response | Promise<Response>;

/** A server that listens. */
export interface HttpServer {
  /** The origin at which it listens, with the true port. */
  readonly address: string;
  /** Takes no new connection, and resolves when the requests under way have their answers. */
  close(): Promise<void>;
}

/**
 * Listens; `variable` names who chose the address. With `fd` it listens on that socket instead (handed-sockets.ts). Throws EnvError
 * when another process has the address.
 */
export async function serveAt(
  answer: Answer,
  { host, port }: Listen,
  variable: string,
  fd?: number,
): Promise<HttpServer> {
  const { promise, resolve, reject } = Promise.withResolvers<Server>();
  const server = createAdaptorServer({ fetch: answer, hostname: host });
  server.listen(fd === undefined ? { host, port } : { fd }, () => resolve(server as Server));
  server.on("error", (error: NodeJS.ErrnoException) =>
    reject(
      error.code === "EADDRINUSE" ? new EnvError(`${variable} ${host}:${port} is in use by another process`) : error,
    ),
  );
  const listening = await promise;
  return { address: addressOf(listening), close: async () => await close(listening) };
}

/** Listens on the first port that is free of `ports` ports from an address on. Throws EnvError when there is none. */
export async function serveAtFreePort(
  answer: Answer,
  { host, port: first }: Listen,
  ports: number,
  variable: string,
): Promise<HttpServer> {
  for (let port = first; ; port += 1) {
    try {
      return await serveAt(answer, { host, port }, variable);
    } catch (error) {
      if (!(error instanceof EnvError) || port >= first + ports) throw error;
    }
  }
}

function addressOf(server: Server): string {
  const { address, family, port } = server.address() as AddressInfo;
  return `http://${family === "IPv6" ? `[${address}]` : address}:${port}`;
}

async function close(server: Server): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  if ("closeIdleConnections" in server && typeof server.closeIdleConnections === "function")
    server.closeIdleConnections();
  await promise;
}
