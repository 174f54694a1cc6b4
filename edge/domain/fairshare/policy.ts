/**
 * The two ways of choosing the next request (docs/rules/fairshare.md#choosing-the-next). A policy keeps the competitors in
 * order and counts the service of each; the scheduler reports to it which requests wait, which hold slots, and the weights.
 */
import type { Score } from "./bottleneck-scores.ts";
import type { Slots } from "./headroom.ts";
import type { Bottleneck, Charge, GroupState, Head, ModelState, TenantState } from "./state.ts";

export interface Policy {
  /** The state of a tenant or its group has changed: moves both to the places where they belong now. */
  place(tenant: TenantState): void;
  /** Takes a tenant out of the order before a value that it is ordered by changes; call place afterwards. */
  unplace(tenant: TenantState): void;
  /** The state of a group has changed. */
  placeGroup(group: GroupState): void;
  /**
   * A request for the model is about to join its tenant's queue, and no other request of the tenant waits at that bottleneck:
   * the tenant starts there without banked credit.
   */
  start(tenant: TenantState, model: ModelState): void;
  /**
   * The tenant held as many slots as it may, and may have one more now: it resumes with the credit of one request at most.
   * `request`: its model, and its cost in tokens.
   */
  resume(tenant: TenantState, request: ResumeCredit): void;
  /** Counts a grant. The group is that of the request; its tenant may have left that group. */
  charge(tenant: TenantState, group: GroupState, charge: Charge): void;
  /** Corrects a grant by actual use less estimate. */
  correct(tenant: TenantState, group: GroupState, charge: Charge, tokens: number): void;
  /** Applies a new weight of the tenant; service under the old one stays settled. The tenant must be out of the order. */
  reweigh(tenant: TenantState, weight: number): void;
  reweighGroup(group: GroupState, weight: number): void;
  /**
   * The head that is granted next when a slot is free: within caps, else lent. Headroom goes only to a tenant below its
   * share. `contended`: more than one request waits.
   */
  next(slots: Slots, contended: boolean): Head | undefined;
  /** The current scores of the head's tenant and its group; for {@link Policy.advance}. */
  scores(head: Pick<Head, "tenant" | "model">): Scores;
  /** Moves virtual time on after a grant at a bottleneck. Scores are those before the charge. */
  advance(tenant: TenantState, bottleneck: Bottleneck, scores: Scores): void;
  /** Before a tenant changes its group: it leaves the competition of the old group and takes only its lead there along. */
  detach(tenant: TenantState, to: GroupState): void;
  /**
   * Which share keeps a tenant's request from a slot, if it waits for a slot; null: none does, its turn has come or more slots
   * alone would be enough. `competing`: everything that its tenant and its model have room for, in order of arrival. Changes
   * nothing.
   */
  shareLimits(competing: readonly Claim[], slots: Slots): (claim: Claim) => ShareLimit | null;
  /** True when an idle tenant's state may be forgotten without gain or loss for any tenant. */
  canForget(tenant: TenantState): boolean;
  /** Forgets a tenant. */
  forget(tenant: TenantState): void;
}

/** The slot that a queue waits for: for requests of this tenant for this model. */
export type Claim = Pick<Head, "tenant" | "model">;

/**
 * The share, of the group among groups or of the tenant within its group, that is used up; or the free slots are headroom,
 * which the tenant may not have (why-it-waits.ts).
 */
export type ShareLimit = "group_share" | "tenant_share" | "headroom";

/** The request that a tenant may be behind by when it resumes. */
export interface ResumeCredit {
  readonly model: ModelState;
  readonly tokens: number;
}

/** The scores of a tenant and its group; `group` null: groups do not compete. */
export interface Scores {
  readonly tenant: Score;
  readonly group: Score | null;
}

/** Returns positions in the order of all events, each later than those before. */
export type NextPosition = () => number;
