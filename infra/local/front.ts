/**
 * The TCP front before workerd. workerd alone does not notice a client that closes politely before the first byte of its
 * answer; here a client's end becomes a reset of the inner connection, which workerd sees at once. A client that is done
 * with an answered connection loses nothing by that. Bytes are piped, never looked at; one inner connection per client.
 */
import net from "node:net";
import { type Listening, listen } from "./listen.ts";

const LINGER_MS = 5_000;

/** A running front. */
export interface Front extends Listening {
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
export interface Inner {
  readonly host: string;
  readonly port: number;
}

/** The address of a URL. */
export function innerOf(url: string): Inner {
  const { hostname, port } = new URL(url);
  return { host: hostname.replace(/^\[|\]$/g, ""), port: Number(port) };
}

/** Starts the front. `target` is where the part behind it listens now; undefined while it restarts. */
export async function startFront(host: string, port: number, target: () => Inner | undefined): Promise<Front> {
  const clients = new Set<net.Socket>();
  const server = net.createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    const inner = target();
    if (inner === undefined) {
      client.resetAndDestroy();
      return;
    }
    clients.add(client);
    client.once("close", () => clients.delete(client));
    carry(client, net.connect({ ...inner, noDelay: true, allowHalfOpen: true }));
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
