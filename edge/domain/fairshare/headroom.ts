/**
 * The headroom of a cell: its last slots, which are granted only to tenants that hold less than their share
 * (docs/rules/fairshare.md#headroom). Who is below its share is the policy's decision.
 */
import { LIMITS } from "../../../shared/catalogues/limits.ts";

/** In a smaller cell a slot is more than a small part of it. */
const LEAST_SLOTS = LIMITS.headroomFrom;

/** The slots of the Cell at a decision. */
export interface Slots {
  readonly maxInFlight: number;
  readonly inFlight: number;
  /** How many of them are headroom. */
  readonly headroom: number;
}

/** How many of `slots` are headroom: the part `part`, at most 0.5, rounded up. */
export function headroomSlots(slots: number, part: number): number {
  // Less than a millionth of a slot is a rounding error of the product: 0.07 x 100 is 7.
  return slots < LEAST_SLOTS ? 0 : Math.max(0, Math.ceil(slots * part - 1e-6));
}

/** The most slots that a tenant's own share has: alone, it has no claim to the headroom. */
export function largestShare({ maxInFlight, headroom }: Slots): number {
  return maxInFlight - headroom;
}

/** True when no slot is free but headroom. */
export function onlyHeadroomIsFree(slots: Slots): boolean {
  return slots.inFlight >= largestShare(slots);
}
