/**
 * How much a lease takes and how long it lives (design §7): an eighth of what a limit still has, never less than the
 * request that needs it and never more than the cell can use. So leases shrink to exactly `need` near a limit, where
 * what one cell holds could be missed by another, and live short there.
 */
import type { Amounts } from "./amounts.ts";

/** What the applicable limits still have, all positive; Infinity where no cap binds. */
export interface LeaseRoom {
  readonly kind: "room";
  readonly bucketTokens: number;
  readonly tokens: number;
  readonly nanoUsd: number;
}

const SHARE = 8;
const NEAR_TTL_MS = 2_000;
const FAR_TTL_MS = 10_000;
/** No lease lives longer. */
export const LEASE_MAX_MS = FAR_TTL_MS;

export function sizeLease(
  need: Amounts,
  want: Amounts,
  room: LeaseRoom,
): { readonly grant: Amounts; readonly ttlMs: number } {
  let near = false;
  const take = (needed: number, wanted: number, available: number): number => {
    const share = Math.floor(available / SHARE);
    if (share < wanted) near = true;
    return Math.max(needed, Math.min(wanted, share));
  };
  const grant = {
    bucketTokens: take(need.bucketTokens, want.bucketTokens, room.bucketTokens),
    termTokens: take(need.termTokens, want.termTokens, room.tokens),
    nanoUsd: take(need.nanoUsd, want.nanoUsd, room.nanoUsd),
  };
  return { grant, ttlMs: near ? NEAR_TTL_MS : FAR_TTL_MS };
}
