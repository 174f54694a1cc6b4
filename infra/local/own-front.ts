/**
 * The front to which the clients of a launcher come. Its port opens when a request would be served: until then connections are
 * refused, so that a load balancer or a client goes elsewhere.
 */
import net, { type AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { type StackConfig, StackEnvError } from "./env.ts";
import type { FrontProxy } from "./front.ts";
import { clientUrl } from "./http/listen.ts";
import { checkFree, named } from "./named-address.ts";

/** A front that is opened late. */
interface OwnFront extends Pick<FrontProxy, "url" | "drain" | "quiet" | "close"> {
  open(): Promise<void>;
}

/**
 * A front on the address of GATEWAY_PROXY_LISTEN, or on a socket that the process was handed: there connections wait until the front
 * is opened. Throws StackEnvError when that cannot be used.
 */
export async function ownFront(
  { proxy: address, handed }: Pick<StackConfig, "proxy" | "handed">,
  start: (port: number | net.Socket) => Promise<FrontProxy>,
): Promise<OwnFront> {
  const fd = handed.get("proxy");
  // Not readable: a read of a listening socket fails as soon as a connection waits there.
  const waiting = fd === undefined ? undefined : new net.Socket({ fd, readable: false });
  const port = waiting ?? address.port;
  const listen = async (): Promise<FrontProxy> =>
    await named("GATEWAY_PROXY_LISTEN", address, async () => await start(port));
  // The system chooses a port when it opens it, and the parts learn which.
  let front = port === 0 ? await listen() : undefined;
  return {
    url: front?.url ?? (waiting && handedUrl(waiting)) ?? (await checkFree("GATEWAY_PROXY_LISTEN", address)),
    open: async () => {
      front ??= await listen();
    },
    drain: async () => await front?.drain(),
    quiet: async () => await front?.quiet(),
    close: async () => await front?.close(),
  };
}

/** Nothing listens on the socket yet, so connections stay in the system's queue. */
function handedUrl(socket: net.Socket): string {
  const { address, port } = socket.address() as Partial<AddressInfo>;
  if (address === undefined || port === undefined)
    throw new StackEnvError("ListenStream= of the socket unit must be a TCP port");
  return clientUrl({ address, port });
}

const ASK_EVERY_MS = 50;
const ANSWER_WITHIN_MS = 5_000;

/** What {@link untilReady} waits for, and for how long. */
interface ReadyOptions {
  /** The loopback ports of the processes that serve. */
  readonly ports: () => readonly number[];
  readonly withinMs: number;
  readonly abandoned: AbortSignal;
  /** Called with the missing part. */
  readonly heard: (what: string) => void;
}

/** Resolves when every process reports that it can serve. Rejects when that takes too long, with the missing part. */
export async function untilReady({ ports, withinMs, abandoned, heard }: ReadyOptions): Promise<void> {
  const untilMs = performance.now() + withinMs;
  for (;;) {
    const answers = await Promise.all(ports().map(async (port) => await missingAt(port, abandoned)));
    const missing = answers.length === 0 ? "the Worker runtime is not there" : answers.find((what) => what !== null);
    abandoned.throwIfAborted();
    if (!missing) return;
    heard(missing);
    if (performance.now() > untilMs)
      throw new Error(
        `the data plane was not ready after ${withinMs / 1000} s (GATEWAY_START_TIMEOUT_SECS): ${missing}`,
      );
    await pause(ASK_EVERY_MS, undefined, { signal: abandoned });
  }
}

/** The part that a process waits for; null: none. */
async function missingAt(port: number, abandoned: AbortSignal): Promise<string | null> {
  try {
    const signal = AbortSignal.any([abandoned, AbortSignal.timeout(ANSWER_WITHIN_MS)]);
    const answer = await fetch(`http://127.0.0.1:${port}/ready`, { signal });
    const text = await answer.text();
    // A Worker of an older version has no such path.
    return answer.status === 503 ? text : null;
  } catch {
    return "the Worker does not answer";
  }
}
