/**
 * What every limit of a request still has, how much a lease takes of it, and how long it lives
 * (docs/rules/budgets.md#leases): as much as the Cell can use, at most an eighth of what a limit still has, and never less
 * than the request needs. Near a limit, where another Cell could miss what this one holds, leases shrink to exactly `need`
 * and live short.
 */
import { type Amounts, NO_AMOUNTS } from "../amounts.ts";
import type { BudgetLimits } from "../limits.ts";
import { LEASE_MAX_MS, type LeaseRequest, type LeaseVerdict } from "../messages/rpc.ts";
import { amountOf, byRate, RATE_NAMES, RATES, type Rate } from "../rates.ts";
import { type Headroom, headroomOf, isExhausted } from "../term-budget.ts";
import { bucketsIn, shortRate } from "../token-bucket.ts";
import type { BudgetOwners } from "./budget-owners.ts";

/** What the applicable limits still have, all positive; Infinity where there is no cap. */
interface LeaseHeadroom extends Headroom {
  readonly kind: "room";
  readonly rates: Readonly<Record<Rate, number>>;
}

/** Size and lifetime of a lease. */
interface LeaseSize {
  readonly grant: Amounts;
  readonly ttlMs: number;
  /** A good part of what is wanted was had from every limit: none is near. */
  readonly ample: boolean;
}

const NO_BOUNDS: Headroom = { tokens: Infinity, nanoUsd: Infinity };
const SHARE = 8;
/** A Cell that gets less than this part of what it wants is near a limit, and gets a short lease. */
const AMPLE_PART = 1 / 8;
const NEAR_TTL_MS = 2_000;

/**
 * What a lease may take, or the first limit that refuses, in the order of docs/rules/budgets.md#one-decision: buckets,
 * key, tenant. Takes nothing. `out`: what is out on lease of the tenant's budgets (null) or of a key's.
 */
export function leaseHeadroom(
  { need, pool }: LeaseRequest,
  limits: BudgetLimits,
  owners: BudgetOwners,
  out: (keyId: string | null) => Amounts,
): LeaseHeadroom | (LeaseVerdict & { readonly kind: "refused" }) {
  const buckets = owners.bucketsOf(pool);
  const short = shortRate(buckets, need);
  if (short !== null) return { kind: "refused", reason: RATES[short].reason };
  const ofTenant = headroomOf(owners.usedOf("tenant", limits), limits.tenant.term, out(null));
  const ofKey = pool === null ? NO_BOUNDS : headroomOf(owners.usedOf("key", limits), limits.key.term, out(pool));
  if (isExhausted(ofKey)) return { kind: "refused", reason: "key" };
  if (isExhausted(ofTenant)) return { kind: "refused", reason: "tenant" };
  return {
    kind: "room",
    rates: byRate((rate) => {
      const levels = bucketsIn(buckets).map((of) => (of[rate].capTokens === 0 ? Infinity : of[rate].levelTokens));
      return Math.min(...levels);
    }),
    tokens: Math.min(ofTenant.tokens, ofKey.tokens),
    nanoUsd: Math.min(ofTenant.nanoUsd, ofKey.nanoUsd),
  };
}

/** The size of a lease; `want` is at least `need`. */
export function sizeLease(need: Amounts, want: Amounts, room: LeaseHeadroom): LeaseSize {
  let ample = true;
  const take = (needed: number, wanted: number, available: number): number => {
    const share = Math.floor(available / SHARE);
    if (share < wanted * AMPLE_PART || share < needed) ample = false;
    return Math.max(needed, Math.min(wanted, share));
  };
  const grant = {
    ...NO_AMOUNTS,
    termTokens: take(need.termTokens, want.termTokens, room.tokens),
    nanoUsd: take(need.nanoUsd, want.nanoUsd, room.nanoUsd),
  };
  for (const rate of RATE_NAMES)
    grant[RATES[rate].amount] = take(amountOf(need, rate), amountOf(want, rate), room.rates[rate]);
  return { grant, ttlMs: ample ? LEASE_MAX_MS : NEAR_TTL_MS, ample };
}
