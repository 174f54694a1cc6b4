/**
 * The tenants that compete with one another - all of them in weighted mode, those of one group in hierarchical mode - and
 * their virtual time (decisions §20.1). A tenant competes with its earliest admissible head; the smallest served / w is next,
 * ties by arrival.
 */
import { Lanes, type Standing, standingsOf } from "./lanes.ts";
import { Roster } from "./roster.ts";
import { effectiveWeight, type Head, headScore, isActive, lastWeight, type TenantState } from "./state.ts";
import { type Spell, VirtualTime } from "./virtual-time.ts";

export class Pool {
  /** Tenants that wait or hold a slot. */
  readonly active: Roster<TenantState>;
  readonly lanes: Lanes<Head>;
  readonly #standings = new Map<TenantState, readonly Standing[]>();
  readonly #time: VirtualTime;

  constructor(spell: Spell, probe: () => void) {
    this.#time = new VirtualTime(spell);
    this.active = new Roster(probe);
    this.lanes = new Lanes((a, b) => {
      probe();
      return headScore(a) - headScore(b) || a.waiters.oldestOrder - b.waiters.oldestOrder;
    });
  }

  /** Puts a tenant where it now belongs. */
  place(tenant: TenantState): void {
    const standings = standingsOf(tenant);
    const before = this.#standings.get(tenant);
    for (const { lane, head } of before ?? [])
      if (!standings.some((other) => other.head === head && other.lane.key === lane.key))
        this.lanes.remove(lane.key, head);
    for (const { lane, head } of standings) this.lanes.put(lane, head);
    if (standings.length > 0) this.#standings.set(tenant, standings);
    else if (before !== undefined) this.#standings.delete(tenant);
  }

  /** Takes a tenant out of the order. */
  unplace(tenant: TenantState): void {
    for (const { lane, head } of this.#standings.get(tenant) ?? []) this.lanes.remove(lane.key, head);
    this.#standings.delete(tenant);
  }

  /** Keeps who is active, for the slot caps. */
  enrol(tenant: TenantState): void {
    if (isActive(tenant)) this.active.put(tenant, lastWeight(tenant));
    else this.active.remove(tenant);
  }

  /** The head that is next among admissible ones whose tenant passes `fits`. */
  next(fits: (tenant: TenantState) => boolean): Head | undefined {
    return this.lanes.first((head) => fits(head.tenant));
  }

  /** After a grant to a tenant that stood at `grantedScore` before its charge. */
  advance(grantedScore: number): void {
    const top = this.lanes.top();
    this.#time.advance(top === undefined ? undefined : headScore(top), grantedScore);
  }

  /** A tenant that comes back from idle has banked nothing. */
  lift(tenant: TenantState, admissionWeight: number): void {
    tenant.served = this.#time.lifted(tenant.served, effectiveWeight(tenant.weight, admissionWeight));
  }

  /** Gives a tenant a new weight; it stands out of the order. */
  reweigh(tenant: TenantState, weight: number): void {
    tenant.served = this.#time.reweighed(tenant.served, lastWeight(tenant), lastWeight(tenant, weight));
    tenant.weight = weight;
  }

  /** Takes over a tenant of another pool with its lead over the others there. */
  receive(tenant: TenantState, from: Pool): void {
    const weight = lastWeight(tenant);
    const lead = Math.max(0, tenant.served - from.#time.score * weight);
    tenant.served = this.#time.score * weight + lead;
  }

  /** True when forgetting the tenant's books would change nothing: it would be lifted to where they are anyway. */
  forgives(tenant: TenantState): boolean {
    return tenant.served <= this.#time.score * lastWeight(tenant);
  }
}
