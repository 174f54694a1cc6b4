/**
 * The TCP front before workerd, with or without TLS towards its clients. workerd alone does not notice a client that closes
 * politely before the first byte of its answer. The front turns a client's end into a reset of the inner connection, which
 * workerd notices at once. A client that already has its answer loses nothing by that. A request that is reset before the
 * Worker's code runs is dropped without a trace, so the reset of an unanswered request waits until the Worker has started it
 * (docs/rules/settlement-and-rows.md#clients-that-leave). Bytes are piped and never inspected; each client has one inner
 * connection. When there are several processes behind the front, the one with the fewest open connections gets the next; a
 * process that hangs keeps the connections it has.
 */
import { EventEmitter, once } from "node:events";
import net from "node:net";
import { setImmediate } from "node:timers/promises";
import { type Listening, listen } from "./http/listen.ts";
import type { SecureClients } from "./tls/secure-clients.ts";

const LINGER_MS = 5_000;
/** How long a drain waits for the connections that have arrived, and then for their first bytes. */
const ARRIVE_MS = 1_000;
const SHORT_TURN_MS = 0.5;

/** A running front. */
export interface FrontProxy extends Listening {
  /**
   * Takes no more connections; open ones continue until they end. Resolves when each of them has sent something, or a second
   * later.
   */
  drain(): Promise<void>;
  /** Resolves when no connection to a target is left. */
  quiet(): Promise<void>;
}

/**
 * Connects one client to `inner` until one of the two ends; `reset` breaks the client's connection off. `begun` resolves when
 * the part behind the front has started everything that was sent to it.
 */
function carry(client: net.Socket, inner: net.Socket, reset: () => void, begun: () => Promise<void>): void {
  let isUnanswered = false;
  client.on("data", () => (isUnanswered = true));
  inner.on("data", () => (isUnanswered = false));
  const leave = async (): Promise<void> => {
    if (isUnanswered) {
      if (inner.connecting) await once(inner, "connect");
      await begun();
    }
    inner.resetAndDestroy();
  };
  for (const event of ["end", "error", "close"]) client.on(event, () => void leave().catch(() => inner.destroy()));
  client.pipe(inner, { end: false });
  inner.pipe(client); // This ends the client's side when the runtime ends its own side.
  inner.on("error", reset);
  inner.on("close", () => {
    if (!client.writableEnded) client.end();
    // Data that the client still sends is read and discarded for a moment: closing a socket with unread bytes would cut off
    // its answer.
    client.unpipe(inner);
    client.resume();
    client.setTimeout(LINGER_MS, () => client.destroy());
  });
}

/** An address that a front connects to. */
export interface InnerAddress {
  readonly host: string;
  readonly port: number;
}

/** The address of a URL. */
export function innerOf(url: string): InnerAddress {
  const { hostname, port } = new URL(url);
  return { host: hostname.replace(/^\[|\]$/g, ""), port: Number(port) };
}

/**
 * Starts the front, on a port or on a socket that somebody else keeps open. `targets` returns the current addresses of the part
 * behind it; none while it restarts. With `secure` its clients speak TLS; the part behind it never does. `begun` resolves when
 * a target has started everything that was sent to it before. `carried` is called with each connection to a target. Clients
 * that come before `opened` wait for it.
 */
export async function startFrontProxy(
  host: string,
  port: number | net.Socket,
  targets: () => readonly InnerAddress[],
  secure: SecureClients | null = null,
  begun: (target: InnerAddress) => Promise<void> = async () => undefined,
  carried: (client: net.Socket, inner: net.Socket) => void = () => undefined,
  opened: Promise<unknown> = Promise.resolve(),
): Promise<FrontProxy> {
  const clients = new Set<net.Socket>();
  /** Clients that have sent nothing yet. */
  const silent = new Set<net.Socket>();
  const inners = new Set<net.Socket>();
  const changed = new EventEmitter();
  /** The number of inner connections, by the target's port. */
  const open = new Map<number, number>();
  let turn = 0;
  /** The number of clients that have come. */
  let taken = 0;
  /** Equal targets take turns. */
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
    const socket = net.connect({ ...inner, noDelay: true, allowHalfOpen: true });
    inners.add(socket);
    return socket.once("close", () => {
      count(-1);
      inners.delete(socket);
      changed.emit("less");
    });
  };
  const serve = (client: net.Socket, reset: () => void, heard: () => void): void => {
    const inner = next();
    if (inner === undefined) {
      reset();
      return;
    }
    const socket = connect(inner);
    client.once("data", heard);
    carried(client, socket);
    carry(client, socket, reset, async () => await begun(inner));
  };
  const take = async (client: net.Socket): Promise<void> => {
    taken += 1;
    clients.add(client);
    silent.add(client);
    const heard = (): void => {
      silent.delete(client);
      changed.emit("less");
    };
    client
      .once("close", heard)
      .once("close", () => clients.delete(client))
      .on("error", () => client.destroy());
    await opened;
    if (client.destroyed) return;
    if (secure === null) serve(client, () => client.resetAndDestroy(), heard);
    else secure.accept(client, (secured, reset) => serve(secured, reset, heard));
  };
  const server = net.createServer({ allowHalfOpen: true, noDelay: true }, (client) => void take(client));
  const listening = await listen(server, host, port);
  return {
    ...listening,
    drain: async () => {
      // The close resets connections that wait to be accepted, unless the socket stays open for the next process. A turn of the
      // event loop accepts one; after a short one that accepts none, hardly any are left.
      const busy = AbortSignal.timeout(ARRIVE_MS);
      await setImmediate(); // the end of this turn, in which none may be accepted any more
      for (let isLast = typeof port !== "number"; !isLast && !busy.aborted; ) {
        const [before, beganMs] = [taken, performance.now()];
        await setImmediate();
        isLast = taken === before && performance.now() - beganMs < SHORT_TURN_MS;
      }
      server.close();
      const late = AbortSignal.timeout(ARRIVE_MS);
      while (silent.size > 0 && !late.aborted) await once(changed, "less", { signal: late }).catch(() => undefined);
    },
    quiet: async () => {
      while (inners.size > 0) await once(changed, "less");
    },
    close: async () => {
      if (server.listening) server.close();
      for (const client of clients) client.destroy();
    },
  };
}
