/**
 * Connections for addresses that admins have registered: what a name resolves to is judged when the connection is made, so
 * that a name which has changed since it was checked leads nowhere it must not (decisions §16).
 */
import { lookup } from "node:dns";
import net, { type LookupFunction, type Socket } from "node:net";
import { Agent } from "undici";
import { isAddressAllowed, type SsrfPolicy } from "../../shared/ssrf.ts";

/** Raised within a connection attempt; carries no address. */
export class BlockedAddressError extends Error {
  override readonly name = "BlockedAddressError";
}

/** What is judged, and how long a connection is kept: unused in the pool, and before the peer is asked for a sign of life. */
export interface OutboundPolicy extends SsrfPolicy {
  readonly poolIdleMs: number;
  readonly tcpKeepAliveMs: number;
}

const agents = new WeakMap<SsrfPolicy, Agent>();

/**
 * One agent per policy; what the policy does not say of keeping is left to the library. Literal addresses need no look-up:
 * the caller judges those by the URL.
 */
export function guardedAgent(policy: SsrfPolicy & Partial<OutboundPolicy>): Agent {
  const known = agents.get(policy);
  if (known !== undefined) return known;
  const { poolIdleMs, tcpKeepAliveMs } = policy;
  const agent = new Agent({
    ...(poolIdleMs === undefined ? {} : { keepAliveTimeout: poolIdleMs, keepAliveMaxTimeout: poolIdleMs }),
    connect: {
      lookup: judgedLookup(policy),
      ...(tcpKeepAliveMs === undefined ? {} : { keepAliveInitialDelay: tcpKeepAliveMs }),
    },
  });
  agents.set(policy, agent);
  return agent;
}

/**
 * A plain connection to a host, literal or named, for a protocol that is not HTTP. Rejects with BlockedAddressError, or with the
 * system's error (`ETIMEDOUT` after `timeoutMs`).
 */
export async function guardedSocket(
  { host, port }: { readonly host: string; readonly port: number },
  policy: SsrfPolicy,
  timeoutMs: number,
): Promise<Socket> {
  if (net.isIP(host) !== 0 && !isAddressAllowed(host, policy)) throw new BlockedAddressError("blocked address");
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const socket = net.connect({ host, port, lookup: judgedLookup(policy), autoSelectFamily: true });
  const late = setTimeout(() => reject(Object.assign(new Error("timeout"), { code: "ETIMEDOUT" })), timeoutMs);
  socket.once("connect", () => resolve(socket)).once("error", reject);
  try {
    return await promise;
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    clearTimeout(late);
    socket.off("error", reject);
  }
}

function judgedLookup(policy: SsrfPolicy): LookupFunction {
  return (host, options, done) => {
    lookup(host, { ...options, all: true }, (error, found) => {
      if (error !== null) return done(error, "");
      const [first] = found;
      const refused = found.some(({ address }) => !isAddressAllowed(address, policy));
      if (refused || first === undefined) return done(new BlockedAddressError("blocked address"), "");
      if (options.all === true) return done(null, found);
      return done(null, first.address, first.family);
    });
  };
}
