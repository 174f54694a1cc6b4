/**
 * The addresses that the network of registered upstreams may reach on this machine. The runtime resolves a host name
 * when it connects, so a private address behind a public name can be refused only here
 * (docs/rules/network-safety.md#checked-at-every-connection).
 */
import { z } from "zod";
import { envCidrs, envFlag } from "../../../shared/env/env-fields.ts";
import { reopenedRanges } from "../../../shared/network/ssrf.ts";

const schema = z.object({
  GATEWAY_BLOCK_PRIVATE_NETWORKS: envFlag(false),
  GATEWAY_ALLOWED_PRIVATE_CIDRS: envCidrs,
});

/** Networks under the names of workerd's configuration; null: every address that is not always blocked. */
export function reachableUpstreams(bindings: Readonly<Record<string, string>>): readonly string[] | null {
  const policy = schema.parse(bindings);
  if (!policy.GATEWAY_BLOCK_PRIVATE_NETWORKS) return null;
  return ["public", ...reopenedRanges(policy.GATEWAY_ALLOWED_PRIVATE_CIDRS)];
}
