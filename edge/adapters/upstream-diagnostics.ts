/**
 * Examines an upstream's address after it failed: whether its name resolves, and whether its port accepts a connection
 * (docs/rules/upstream-calls.md#answers). Read-only: a connection is opened and closed, and nothing is sent. The
 * runtime has no resolver, so that a public one is queried for the name, and only when the connection does not already
 * prove that the name resolves.
 */
import { connect } from "cloudflare:sockets";
import type { Clock, Diagnosis, Diagnostics } from "../ports.ts";

/** Each of the two examinations takes at most this long. */
const DEADLINE_MS = 2_000;
const RESOLVER = "https://cloudflare-dns.com/dns-query";
const LITERAL = /^(\d{1,3}(\.\d{1,3}){3}|\[.*\])$/;

interface Resolved {
  /** Null: the resolver could not be reached. */
  readonly ok: boolean | null;
  readonly addresses: readonly string[];
}

export class UpstreamDiagnostics implements Diagnostics {
  readonly #clock: Clock;
  readonly #network: Pick<Fetcher, "connect">;

  /** `registered`: as in upstreamHttp. */
  constructor(clock: Clock, registered: Fetcher | undefined) {
    this.#clock = clock;
    this.#network = registered ?? { connect };
  }

  async check(url: string): Promise<Diagnosis> {
    const startedMs = this.#clock();
    const { hostname, port, protocol } = new URL(url);
    const portNumber = port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);
    const portOpen = await opens(this.#network, hostname, portNumber);
    const resolved = LITERAL.test(hostname)
      ? { ok: true, addresses: [hostname] }
      : portOpen
        ? { ok: true, addresses: [] }
        : await resolve(hostname);
    return {
      dnsOk: resolved.ok,
      addresses: resolved.addresses,
      portOpen,
      elapsedMs: Math.max(0, this.#clock() - startedMs),
      error: complaint(resolved, portOpen),
    };
  }
}

function complaint(resolved: Resolved, portOpen: boolean): string | null {
  if (portOpen) return null;
  if (resolved.ok === null) return "no connection, and the public resolver could not be asked";
  return resolved.ok ? "no connection" : "the name does not resolve publicly";
}

async function opens(network: Pick<Fetcher, "connect">, hostname: string, port: number): Promise<boolean> {
  let socket: Socket | null = null;
  try {
    socket = network.connect({ hostname, port });
    socket.closed.catch(() => undefined);
    return await within(
      socket.opened.then(() => true),
      false,
    );
  } catch {
    return false;
  } finally {
    await within(socket?.close() ?? Promise.resolve(), undefined).catch(() => undefined);
  }
}

async function resolve(hostname: string): Promise<Resolved> {
  try {
    const found = await Promise.all(
      ["A", "AAAA"].map(async (type) => {
        const response = await fetch(`${RESOLVER}?name=${encodeURIComponent(hostname)}&type=${type}`, {
          headers: { accept: "application/dns-json" },
          signal: AbortSignal.timeout(DEADLINE_MS),
        });
        if (!response.ok) throw new Error(`the resolver answered ${response.status}`);
        const { Answer: answers = [] } = await response.json<{ Answer?: { type: number; data: string }[] }>();
        // The answer may contain CNAME records; addresses have the types 1 and 28 (RFC 1035, RFC 3596).
        return answers.filter((answer) => answer.type === 1 || answer.type === 28).map((answer) => answer.data);
      }),
    );
    const addresses = found.flat();
    return { ok: addresses.length > 0, addresses };
  } catch {
    return { ok: null, addresses: [] };
  }
}

async function within<T>(work: Promise<T>, otherwise: T): Promise<T> {
  const late = Promise.withResolvers<T>();
  const timer = setTimeout(() => late.resolve(otherwise), DEADLINE_MS);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
