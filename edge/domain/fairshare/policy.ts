/**
 * The two ways of choosing who is next (decisions §20.4). A policy keeps the competitors in order; the scheduler keeps
 * the books. It is told of every change of who waits, who holds slots, and who weighs what.
 */
import type { GroupState, Head, TenantState } from "./state.ts";

export interface Policy {
  /** Puts a head where it now belongs (also when its last waiter has left it). */
  place(head: Head): void;
  /** Takes a head out of the order, to be placed again. */
  unplace(head: Head): void;
  /** What a tenant waits for or holds has changed, or its weight has; its group's with it. */
  refresh(tenant: TenantState): void;
  /** A group's weight, waiters or slots have changed. */
  refreshGroup(group: GroupState): void;
  /** A tenant came back from idle, and perhaps its group with it: no banked credit. */
  lift(tenant: TenantState, admissionWeight: number, groupWasIdle: boolean): void;
  /** The head that is granted next when `freeSlots` > 0, caps included, else lent. */
  next(maxInFlight: number): Head | undefined;
  /** After a grant: virtual time moves on. Scores are those before the charge. */
  advance(tenant: TenantState, tenantScore: number, groupScore: number): void;
  /** Before a tenant changes its group: it leaves the old one's competition and takes only its lead over it along. */
  detach(tenant: TenantState, to: GroupState): void;
  /** The slot cap of a group, for the snapshot. */
  slotCap(group: GroupState, maxInFlight: number): number;
  /** The whole cell is idle. */
  reset(): void;
}
