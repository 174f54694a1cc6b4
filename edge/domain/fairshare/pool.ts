/**
 * The tenants that compete with one another - all of them in weighted mode, those of one group in hierarchical mode - and
 * their virtual time (decisions §20.1). A tenant competes with its earliest admissible head; heads stand in one lane per
 * model, so that a full model costs nothing to pass over.
 */
import { IndexedHeap } from "./indexed-heap.ts";
import { Roster } from "./roster.ts";
import { effectiveWeight, type Head, hasRoom, headOrder, headScore, type Lane, type TenantState } from "./state.ts";

export class Pool {
  /** Tenants that wait or hold a slot. */
  readonly active = new Roster<TenantState>();
  readonly #lanes = new Map<string, Lane>();
  readonly #probe: () => void;
  #virtualTime = 0;

  constructor(probe: () => void = () => undefined) {
    this.#probe = probe;
  }

  get virtualTime(): number {
    return this.#virtualTime;
  }

  /** Puts a head where it now belongs, or takes it out when nobody waits in it. */
  place(head: Head): void {
    const lane = this.#lanes.get(head.model.name);
    if (head.waiters.size === 0) {
      lane?.heads.remove(head);
      if (lane?.heads.size === 0) this.#lanes.delete(head.model.name);
      return;
    }
    if (lane !== undefined) {
      lane.heads.put(head);
      return;
    }
    const heads = new IndexedHeap<Head>((a, b) => {
      this.#probe();
      return headScore(a) - headScore(b) || headOrder(a) - headOrder(b);
    });
    heads.put(head);
    this.#lanes.set(head.model.name, { model: head.model, heads });
  }

  /** Takes a head out, wherever it stands. */
  remove(head: Head): void {
    this.#lanes.get(head.model.name)?.heads.remove(head);
    if (this.#lanes.get(head.model.name)?.heads.size === 0) this.#lanes.delete(head.model.name);
  }

  /**
   * The head that is next among admissible ones whose tenant passes `fits`. Lanes are merged in order: a tenant's later
   * heads of equal weight stand behind its earliest one and are never reached.
   */
  next(fits: (tenant: TenantState) => boolean): Head | undefined {
    const fronts = [...this.#lanes.values()].flatMap((lane) => {
      if (!hasRoom(lane.model)) return [];
      const rest = lane.heads.inOrder();
      const head = rest.next().value;
      return head === undefined ? [] : [{ head, rest }];
    });
    for (;;) {
      const front = fronts.reduce<(typeof fronts)[number] | undefined>(
        (best, other) => (best === undefined || comesFirst(other.head, best.head) ? other : best),
        undefined,
      );
      if (front === undefined) return undefined;
      const { tenant, model } = front.head;
      if (hasRoom(tenant) && fits(tenant) && competesWith(tenant, model.name)) return front.head;
      const following = front.rest.next().value;
      if (following === undefined) fronts.splice(fronts.indexOf(front), 1);
      else front.head = following;
    }
  }

  /** After a dispatch: the smallest score among those still waiting, else the start of what was just granted. */
  advance(grantedScore: number): void {
    const scores = [...this.#lanes.values()].flatMap((lane) => {
      const head = lane.heads.peek();
      return head === undefined ? [] : [headScore(head)];
    });
    this.#virtualTime = scores.length > 0 ? Math.min(...scores) : Math.max(this.#virtualTime, grantedScore);
  }

  /** A tenant that comes back from idle has banked nothing. */
  lift(tenant: TenantState, admissionWeight: number): void {
    tenant.served = Math.max(tenant.served, this.#virtualTime * effectiveWeight(tenant.weight, admissionWeight));
  }

  reset(): void {
    this.#virtualTime = 0;
  }
}

/** True when this model is the tenant's earliest admissible head. */
function competesWith(tenant: TenantState, modelName: string): boolean {
  if (tenant.heads.size === 1) return true;
  let earliest: Head | undefined;
  for (const head of tenant.heads.values()) {
    if (hasRoom(head.model) && (earliest === undefined || headOrder(head) < headOrder(earliest))) earliest = head;
  }
  return earliest?.model.name === modelName;
}

function comesFirst(a: Head, b: Head): boolean {
  const difference = headScore(a) - headScore(b);
  return difference === 0 ? headOrder(a) < headOrder(b) : difference < 0;
}
