/**
 * Whether a lease is granted, how much it takes of every limit, and how long it lasts (docs/rules/budgets.md#leases): as much
 * as the Cell can use, at most an eighth of what a limit still has, and never less than the request needs. Near a limit, where
 * another Cell could miss what this one holds, leases shrink to exactly `need` and end soon.
 */
import { type Amounts, NO_AMOUNTS } from "../amounts.ts";
import type { BudgetLimits, BudgetOwner } from "../limits.ts";
import { LEASE_MAX_MS, type LeaseRequest, type LeaseVerdict } from "../messages/rpc.ts";
import { RATE_NAMES, RATES } from "../rates.ts";
import { type Headroom, headroomOf, isExhausted } from "../term-budget.ts";
import { roomOf, shortRate } from "../token-bucket.ts";
import type { BudgetOwners } from "./budget-owners.ts";

const NO_BOUNDS: Headroom = { tokens: Infinity, nanoUsd: Infinity };
const SHARE = 8;
/** A Cell that gets less than this part of what it wants is near a limit, and gets a short lease. */
const AMPLE_PART = 1 / 8;
const NEAR_TTL_MS = 2_000;

/**
 * Takes nothing. The first limit that refuses does so, in the order of docs/rules/budgets.md#one-decision: buckets, key,
 * tenant. `out`: what is out on lease of the tenant's budgets (null) or of a key's.
 */
export function sizeLease(
  { need, want, pool }: LeaseRequest,
  limits: BudgetLimits,
  owners: BudgetOwners,
  out: (keyId: string | null) => Amounts,
): LeaseVerdict & { readonly kind: "granted" | "refused" } {
  const buckets = owners.bucketsOf(pool);
  const short = shortRate(buckets, need);
  if (short !== null) return { kind: "refused", reason: RATES[short].reason };
  const left = (whose: BudgetOwner, keyId: string | null) =>
    headroomOf(owners.usedOf(whose, limits), limits[whose].term, out(keyId));
  const ofTenant = left("tenant", null);
  const ofKey = pool === null ? NO_BOUNDS : left("key", pool);
  if (isExhausted(ofKey)) return { kind: "refused", reason: "key" };
  if (isExhausted(ofTenant)) return { kind: "refused", reason: "tenant" };

  let ample = true;
  const grant: { -readonly [Part in keyof Amounts]: Amounts[Part] } = { ...NO_AMOUNTS };
  const take = (part: keyof Amounts, available: number): void => {
    const [needed, wanted] = [need[part] ?? 0, want[part] ?? 0];
    const share = Math.floor(available / SHARE);
    if (share < wanted * AMPLE_PART || share < needed) ample = false;
    grant[part] = Math.max(needed, Math.min(wanted, share));
  };
  take("termTokens", Math.min(ofTenant.tokens, ofKey.tokens));
  take("nanoUsd", Math.min(ofTenant.nanoUsd, ofKey.nanoUsd));
  for (const rate of RATE_NAMES) take(RATES[rate].amount, roomOf(buckets, rate));
  return { kind: "granted", grant, ttlMs: ample ? LEASE_MAX_MS : NEAR_TTL_MS, ample };
}
