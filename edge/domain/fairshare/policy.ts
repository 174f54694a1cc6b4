/**
 * The two ways of choosing who is next (docs/rules/fairshare.md#choosing-the-next). A policy keeps the competitors in
 * order and counts what each is served; the scheduler says who waits, who holds slots, and who weighs what.
 */
import type { Score } from "./bottleneck-scores.ts";
import type { Bottleneck, Charge, GroupState, Head, ModelState, TenantState } from "./state.ts";

export interface Policy {
  /** A tenant's books have changed, and its group's with them: both are put where they now belong. */
  place(tenant: TenantState): void;
  /** Takes a tenant out of the order before what it is ordered by changes; it is to be placed again. */
  unplace(tenant: TenantState): void;
  /** A group's books have changed. */
  placeGroup(group: GroupState): void;
  /** A request for the model is about to join its tenant's queue, where nothing waits in that line: no banked credit. */
  start(tenant: TenantState, model: ModelState): void;
  /**
   * The tenant held as many slots as it may, and may have one more: it is back with the credit of one request at most.
   * `request`: of which model, and what it counts, in tokens.
   */
  resume(tenant: TenantState, request: ResumeCredit): void;
  /** Counts a grant; the group is that of the request, which its tenant may have left. */
  charge(tenant: TenantState, group: GroupState, charge: Charge): void;
  /** Actual less estimate of a grant. */
  correct(tenant: TenantState, group: GroupState, charge: Charge, tokens: number): void;
  /** A new weight of the tenant; what was served under the old one stays settled. It stands in no order. */
  reweigh(tenant: TenantState, weight: number): void;
  reweighGroup(group: GroupState, weight: number): void;
  /** The head that is granted next when a slot is free, caps included, else lent. `contended`: more than one request waits. */
  next(maxInFlight: number, contended: boolean): Head | undefined;
  /** How the head's tenant and its group stand now; for {@link Policy.advance}. */
  scores(head: Pick<Head, "tenant" | "model">): Scores;
  /** After a grant in a line: virtual time moves on. Scores are those before the charge. */
  advance(tenant: TenantState, line: Bottleneck, scores: Scores): void;
  /** Before a tenant changes its group: it leaves the old one's competition and takes only its lead over it along. */
  detach(tenant: TenantState, to: GroupState): void;
  /** The slot caps of groups, for the snapshot. */
  slotCaps(maxInFlight: number): (group: GroupState) => number;
  /** True when an idle tenant's books may be forgotten without anybody's gain or loss. */
  canForget(tenant: TenantState): boolean;
  /** The tenant is not known any more. */
  forget(tenant: TenantState): void;
}

/** What one may be behind with when it comes back. */
export interface ResumeCredit {
  readonly model: ModelState;
  readonly tokens: number;
}

/** `group` null: groups do not compete. */
export interface Scores {
  readonly tenant: Score;
  readonly group: Score | null;
}

/** Positions in the order of all events, each later than those before. */
export type NextPosition = () => number;
