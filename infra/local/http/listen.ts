/**
 * Binds a server to an address and releases it: the bound port is reported, and closing cuts the connections that are still
 * open.
 */
import http from "node:http";
import type { AddressInfo, Server } from "node:net";

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

/** Listens on `host` and `port` (0: a free port). Rejects with the system's error (EADDRINUSE ...). */
export async function listen(server: Server | http.Server, host: string, port: number): Promise<Listening> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
  const bound = (server.address() as AddressInfo).port;
  return {
    host,
    port: bound,
    url: `http://${clientHost(host)}:${bound}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        if (server instanceof http.Server) server.closeAllConnections();
      }),
  };
}
