/**
 * The front before the processes that serve requests. The runtime drops a request without a trace when its connection is reset
 * before the Worker's code runs. It serves requests in the order of arrival, so an answered health check shows that the code of
 * every earlier request runs.
 */
import type net from "node:net";
import type { ClientAddresses } from "./client-addresses.ts";
import { type FrontProxy, type InnerAddress, startFrontProxy } from "./front.ts";
import { askHealth } from "./process/ask-health.ts";
import type { SecureClients } from "./tls/secure-clients.ts";

/** A process that hangs for longer loses the requests that it has not started. */
const BEGUN_WITHIN_MS = 10_000;

/** Starts the front; `ports` returns the current loopback ports of the processes, none while they restart; `clients` learns who its clients are. */
export async function startWorkerFront(
  host: string,
  port: number | net.Socket,
  ports: () => readonly number[],
  secure: SecureClients | null = null,
  clients?: ClientAddresses,
): Promise<FrontProxy> {
  const targets = (): readonly InnerAddress[] => ports().map((at) => ({ host: "127.0.0.1", port: at }));
  return await startFrontProxy(host, port, targets, secure, requestsBegun(), (client, inner) =>
    clients?.carried(client, inner),
  );
}

/**
 * Returns a function that waits until a process has started every request that was sent to it before the call. Calls share a
 * check, and each process has one at a time.
 */
export function requestsBegun(ask = askHealth): (process: InnerAddress) => Promise<void> {
  const underWay = new Map<number, Promise<void>>();
  const next = new Map<number, Promise<void>>();
  return async ({ host, port }) => {
    const check = async (): Promise<void> => {
      await underWay.get(port);
      next.delete(port);
      const asked = ask(`http://${host}:${port}/health`, BEGUN_WITHIN_MS).then(() => undefined);
      underWay.set(port, asked);
      await asked;
      if (underWay.get(port) === asked) underWay.delete(port);
    };
    const shared = next.get(port) ?? check();
    next.set(port, shared);
    await shared;
  };
}
