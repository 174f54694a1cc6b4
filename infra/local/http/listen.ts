/**
 * Binds a server to an address and releases it: the bound port is reported, and closing cuts the connections that are still
 * open.
 */
import http from "node:http";
import type { AddressInfo, Server, Socket } from "node:net";

/** A server that accepts connections. */
export interface Listening {
  readonly host: string;
  readonly port: number;
  /** The address for a client on this machine: `http://host:port`, with loopback instead of a wildcard address. */
  readonly url: string;
  /** Stops accepting and cuts open connections. */
  close(): Promise<void>;
}

/** The address at which a client on this machine reaches a listener on `host`. */
function clientHost(host: string): string {
  if (host === "0.0.0.0" || host === "") return "127.0.0.1";
  if (host === "::") return "[::1]";
  return host.includes(":") ? `[${host}]` : host;
}

/** The URL of a bound address for a client on this machine. */
export function clientUrl({ address, port }: Pick<AddressInfo, "address" | "port">): string {
  return `http://${clientHost(address)}:${port}`;
}

/** How many connections wait on a socket that outlives the process. The system cuts it down to its own limit. */
const WAITING_MAX = 4096;

/**
 * Listens on `host` and `port` (0: a free port), or on a socket that this process was handed. Rejects with the system's error
 * (EADDRINUSE ...).
 */
export async function listen(server: Server | http.Server, host: string, port: number | Socket): Promise<Listening> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    const done = (): void => {
      server.off("error", reject);
      resolve();
    };
    if (typeof port === "number") server.listen(port, host, done);
    else server.listen(port, WAITING_MAX, done);
  });
  const bound = server.address() as AddressInfo;
  const address = typeof port === "number" ? host : bound.address;
  return {
    host: address,
    port: bound.port,
    url: clientUrl({ address, port: bound.port }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        if (server instanceof http.Server) server.closeAllConnections();
      }),
  };
}
