/**
 * The two ways of choosing who is next (decisions §20.4). A policy keeps the competitors in order; the scheduler keeps
 * the books. It is told of every change of who waits, who holds slots, and who weighs what.
 */
import type { GroupState, Head, TenantState } from "./state.ts";

export interface Policy {
  /** A tenant's books have changed, and its group's with them: both are put where they now belong. */
  place(tenant: TenantState): void;
  /** Takes a tenant out of the order before what it is ordered by changes for many at once; it is to be placed again. */
  unplace(tenant: TenantState): void;
  /** A group's books have changed. */
  placeGroup(group: GroupState): void;
  /** A tenant came back from idle, and perhaps its group with it: no banked credit. */
  lift(tenant: TenantState, admissionWeight: number, groupWasIdle: boolean): void;
  /** New weights; what was served under the old ones stays settled. The tenant is to be placed again. */
  reweigh(tenant: TenantState, weight: number): void;
  reweighGroup(group: GroupState, weight: number): void;
  /** The head that is granted next when a slot is free, caps included, else lent. `contended`: more than one request waits. */
  next(maxInFlight: number, contended: boolean): Head | undefined;
  /** After a grant: virtual time moves on. Scores are those before the charge. */
  advance(tenant: TenantState, tenantScore: number, groupScore: number): void;
  /** Before a tenant changes its group: it leaves the old one's competition and takes only its lead over it along. */
  detach(tenant: TenantState, to: GroupState): void;
  /** The slot caps of groups, for the snapshot. */
  slotCaps(maxInFlight: number): (group: GroupState) => number;
  /** True when an idle tenant's books may be forgotten without anybody's gain or loss. */
  forgives(tenant: TenantState): boolean;
}
