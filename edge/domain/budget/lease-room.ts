/** What every limit of a request still has, in the order of decisions §19.3. */
import type { LeaseRequest, LeaseVerdict } from "./api.ts";
import type { Counters } from "./counters.ts";
import type { LeaseRoom } from "./lease-size.ts";
import type { BudgetLimits } from "./limits.ts";
import type { OutstandingLeases } from "./outstanding-leases.ts";
import { isClosed, roomIn } from "./term-budget.ts";
import type { TokenBucket } from "./token-bucket.ts";

/** The room for a lease, or the first limit that refuses: bucket, key, tenant. Takes nothing. */
export function leaseRoom(
  request: LeaseRequest,
  limits: BudgetLimits,
  { capTokens, levelTokens }: TokenBucket,
  counters: Counters,
  leases: OutstandingLeases,
): LeaseRoom | (LeaseVerdict & { readonly kind: "refused" }) {
  if (capTokens > 0 && levelTokens < request.need.bucketTokens) return { kind: "refused", reason: "rate" };
  const tenantOut = leases.tenantOut;
  const tenant = counters.read("tenant", limits);
  let room = roomIn(tenant, limits.tenant.term, tenantOut);
  if (request.pool !== null) {
    const keyOut = leases.keyOut(request.pool);
    const key = counters.read("key", limits);
    if (isClosed(key, limits.key.term, keyOut)) return { kind: "refused", reason: "key" };
    const own = roomIn(key, limits.key.term, keyOut);
    room = { tokens: Math.min(room.tokens, own.tokens), nanoUsd: Math.min(room.nanoUsd, own.nanoUsd) };
  }
  if (isClosed(tenant, limits.tenant.term, tenantOut)) return { kind: "refused", reason: "tenant" };
  return { kind: "room", bucketTokens: capTokens === 0 ? Infinity : levelTokens, ...room };
}
