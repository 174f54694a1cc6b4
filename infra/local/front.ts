/**
 * The TCP front before workerd. workerd alone does not notice a client that closes politely before the first byte of its
 * answer; here a client's end becomes a reset of the inner connection, which workerd sees at once. A client that is done
 * with an answered connection loses nothing by that. Bytes are piped, never looked at; one inner connection per client. Of
 * several processes behind it the one with the fewest open connections gets the next; one that hangs keeps those it has.
 */
import net from "node:net";
import { type Listening, listen } from "./http/listen.ts";

const LINGER_MS = 5_000;

/** A running front. */
export interface FrontProxy extends Listening {
  /** Takes no more connections and lets the open ones come to their end. */
  drain(): void;
}

/** Carries one client connection to `inner` until either side is done. */
function carry(client: net.Socket, inner: net.Socket): void {
  for (const event of ["end", "error", "close"]) client.on(event, () => inner.resetAndDestroy());
  client.pipe(inner, { end: false });
  inner.pipe(client); // ends the client's side when the runtime ends its own
  inner.on("error", () => client.resetAndDestroy());
  inner.on("close", () => {
    if (!client.writableEnded) client.end();
    // what the client is still sending is read away for a moment: closing on unread bytes would cut off its answer
    client.unpipe(inner);
    client.resume();
    client.setTimeout(LINGER_MS, () => client.destroy());
  });
}

/** Where a front connects to. */
export interface InnerAddress {
  readonly host: string;
  readonly port: number;
}

/** The address of a URL. */
export function innerOf(url: string): InnerAddress {
  const { hostname, port } = new URL(url);
  return { host: hostname.replace(/^\[|\]$/g, ""), port: Number(port) };
}

/** Starts the front. `targets` are where the part behind it listens now; none while it restarts. */
export async function startFrontProxy(
  host: string,
  port: number,
  targets: () => readonly InnerAddress[],
): Promise<FrontProxy> {
  const clients = new Set<net.Socket>();
  /** Inner connections, by the target's port. */
  const open = new Map<number, number>();
  let turn = 0;
  /** Equals take turns. */
  const next = (): InnerAddress | undefined => {
    const all = targets();
    const first = turn % Math.max(1, all.length);
    turn += 1;
    const openAt = ({ port: at }: InnerAddress): number => open.get(at) ?? 0;
    return [...all.slice(first), ...all.slice(0, first)].sort((a, b) => openAt(a) - openAt(b))[0];
  };
  const connect = (inner: InnerAddress): net.Socket => {
    const count = (by: number): void => void open.set(inner.port, (open.get(inner.port) ?? 0) + by);
    count(1);
    return net.connect({ ...inner, noDelay: true, allowHalfOpen: true }).once("close", () => count(-1));
  };
  const server = net.createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    const inner = next();
    if (inner === undefined) {
      client.resetAndDestroy();
      return;
    }
    clients.add(client);
    client.once("close", () => clients.delete(client));
    carry(client, connect(inner));
  });
  const listening = await listen(server, host, port);
  return {
    ...listening,
    drain: () => void server.close(),
    close: async () => {
      if (server.listening) server.close();
      for (const client of clients) client.destroy();
    },
  };
}
