/**
 * Connections for addresses that admins have registered: what a name resolves to is judged when the connection is made, so
 * that a name which has changed since it was checked leads nowhere it must not (decisions §16).
 */
import { lookup } from "node:dns";
import type { LookupFunction } from "node:net";
import { Agent } from "undici";
import { isAddressAllowed, type SsrfPolicy } from "../../shared/ssrf.ts";

/** Raised within a connection attempt; carries no address. */
export class BlockedAddress extends Error {
  override readonly name = "BlockedAddress";
}

const agents = new WeakMap<SsrfPolicy, Agent>();

/** One agent per policy. Literal addresses need no look-up: the caller judges those by the URL. */
export function judgedConnections(policy: SsrfPolicy): Agent {
  const known = agents.get(policy);
  if (known !== undefined) return known;
  const agent = new Agent({ connect: { lookup: judgedLookup(policy) } });
  agents.set(policy, agent);
  return agent;
}

function judgedLookup(policy: SsrfPolicy): LookupFunction {
  return (host, options, done) => {
    lookup(host, { ...options, all: true }, (error, found) => {
      if (error !== null) return done(error, "");
      const [first] = found;
      const refused = found.some(({ address }) => !isAddressAllowed(address, policy));
      if (refused || first === undefined) return done(new BlockedAddress("blocked address"), "");
      if (options.all === true) return done(null, found);
      return done(null, first.address, first.family);
    });
  };
}
