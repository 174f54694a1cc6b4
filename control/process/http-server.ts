/** HTTP servers of a process: they listen where a variable says, and close when the process ends. */
import type { AddressInfo, Server, Socket } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import { EnvError, type Listen } from "../kernel/env-field.ts";
import { StalledReaders, watchReaders } from "./stalled-readers.ts";

/** What answers requests. */
type Answer = (request: Request) => Response | Promise<Response>;

/** How a server listens. */
interface ServeOptions {
  /** Names who chose the address. */
  readonly variable: string;
  /** How long a client may take nothing of its answer, in milliseconds; 0: for ever. */
  readonly stalledReaderMs: number;
  /** The socket to listen on instead (handed-sockets.ts). */
  readonly fd?: number | undefined;
}

/** A server that listens. */
export interface HttpServer {
  /** The origin at which it listens, with the true port. */
  readonly address: string;
  /** Takes no new connection, and resolves when the requests under way have their answers. */
  close(): Promise<void>;
}

/** Throws EnvError when another process has the address. */
export async function serveAt(
  answer: Answer,
  { host, port }: Listen,
  { variable, stalledReaderMs, fd }: ServeOptions,
): Promise<HttpServer> {
  const { promise, resolve, reject } = Promise.withResolvers<Server>();
  const server = createAdaptorServer({ fetch: answer, hostname: host });
  const readers = new StalledReaders();
  server.on("connection", (socket: Socket) => {
    readers.add(socket);
    socket.once("close", () => readers.remove(socket));
  });
  server.listen(fd === undefined ? { host, port } : { fd }, () => resolve(server as Server));
  server.on("error", (error: NodeJS.ErrnoException) =>
    reject(
      error.code === "EADDRINUSE" ? new EnvError(`${variable} ${host}:${port} is in use by another process`) : error,
    ),
  );
  const listening = await promise;
  const stopWatching = watchReaders(readers, stalledReaderMs);
  return {
    address: addressOf(listening),
    close: async () => await close(listening).finally(stopWatching),
  };
}

/** Listens on the first port that is free of `ports` ports from an address on. Throws EnvError when there is none. */
export async function serveAtFreePort(
  answer: Answer,
  { host, port: first }: Listen,
  ports: number,
  options: ServeOptions,
): Promise<HttpServer> {
  for (let port = first; ; port += 1) {
    try {
      return await serveAt(answer, { host, port }, options);
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
