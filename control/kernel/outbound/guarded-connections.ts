/**
 * Connections for addresses that admins have registered. The addresses that a name resolves to are checked when the
 * connection is made, so that a name that has changed since it was registered cannot lead to a forbidden address
 * (docs/rules/network-safety.md#checked-at-every-connection).
 */
import { lookup } from "node:dns";
import net, { type LookupFunction, type Socket } from "node:net";
import { Agent } from "undici";
import { isAddressAllowed, type SsrfPolicy } from "../../../shared/network/ssrf.ts";

/** Thrown within a connection attempt; contains no address. */
export class BlockedAddressError extends Error {
  override readonly name = "BlockedAddressError";
}

/** The policy, and how long a connection is kept: unused in the pool, and idle before a keep-alive probe is sent. */
export interface OutboundPolicy extends SsrfPolicy {
  readonly poolIdleMs: number;
  readonly tcpKeepAliveMs: number;
}

const agents = new WeakMap<SsrfPolicy, Agent>();

/**
 * One agent per policy. Where the policy says nothing about keeping connections, the library's defaults apply. Literal
 * addresses need no look-up: the caller checks those by the URL.
 */
export function guardedAgent(policy: SsrfPolicy & Partial<OutboundPolicy>): Agent {
  const known = agents.get(policy);
  if (known !== undefined) return known;
  const { poolIdleMs, tcpKeepAliveMs } = policy;
  const agent = new Agent({
    ...(poolIdleMs === undefined ? {} : { keepAliveTimeout: poolIdleMs, keepAliveMaxTimeout: poolIdleMs }),
    connect: {
      lookup: checkedLookup(policy),
      ...(tcpKeepAliveMs === undefined ? {} : { keepAliveInitialDelay: tcpKeepAliveMs }),
    },
  });
  agents.set(policy, agent);
  return agent;
}

/**
 * A plain connection to a host, by address or name, for a protocol that is not HTTP. Rejects with BlockedAddressError, or
 * with the system's error (`ETIMEDOUT` after `timeoutMs`).
 */
export async function guardedSocket(
  { host, port }: { readonly host: string; readonly port: number },
  policy: SsrfPolicy,
  timeoutMs: number,
): Promise<Socket> {
  if (net.isIP(host) !== 0 && !isAddressAllowed(host, policy)) throw new BlockedAddressError("blocked address");
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const socket = net.connect({ host, port, lookup: checkedLookup(policy), autoSelectFamily: true });
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

function checkedLookup(policy: SsrfPolicy): LookupFunction {
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
