/**
 * Hierarchical: slots are shared among active groups by group weight, within a group among its active tenants by w; below
 * their caps the smallest served / weight is next, group first. When no head is below its caps, free slots are lent to
 * whoever is admissible: caps bind only under contention (decisions §20.4).
 */
import { type Lane, Lanes } from "./lanes.ts";
import type { Policy } from "./policy.ts";
import { Pool } from "./pool.ts";
import { Roster } from "./roster.ts";
import { type GroupState, type Head, isActiveGroup, type TenantState } from "./state.ts";
import { type Spell, VirtualTime } from "./virtual-time.ts";

export function hierarchicalPolicy(spell: Spell, probe: () => void): Policy {
  return new Hierarchical(spell, probe);
}

class Hierarchical implements Policy {
  readonly #pools = new Map<GroupState, Pool>();
  readonly #active: Roster<GroupState>;
  /** A group stands in every lane in which one of its tenants does. */
  readonly #lanes: Lanes<GroupState>;
  readonly #standings = new Map<GroupState, readonly Lane[]>();
  readonly #time: VirtualTime;
  readonly #spell: Spell;
  readonly #probe: () => void;

  constructor(spell: Spell, probe: () => void) {
    this.#spell = spell;
    this.#probe = probe;
    this.#time = new VirtualTime(spell);
    this.#active = new Roster(probe);
    this.#lanes = new Lanes((a, b) => {
      probe();
      return groupScore(a) - groupScore(b) || a.waiters.oldestOrder - b.waiters.oldestOrder;
    });
  }

  place(tenant: TenantState): void {
    const pool = this.#pool(tenant.group);
    pool.place(tenant);
    pool.enrol(tenant);
    this.placeGroup(tenant.group);
  }

  unplace(tenant: TenantState): void {
    this.#pool(tenant.group).unplace(tenant);
  }

  placeGroup(group: GroupState): void {
    const { lanes } = this.#pool(group);
    const standings = lanes.lanes();
    for (const { key } of this.#standings.get(group) ?? []) if (!lanes.has(key)) this.#lanes.remove(key, group);
    for (const lane of standings) this.#lanes.put(lane, group);
    this.#standings.set(group, standings);
    if (isActiveGroup(group)) this.#active.put(group, group.weight);
    else this.#active.remove(group);
  }

  lift(tenant: TenantState, admissionWeight: number, groupWasIdle: boolean): void {
    const { group } = tenant;
    if (groupWasIdle) group.served = this.#time.lifted(group.served, group.weight);
    this.#pool(group).lift(tenant, admissionWeight);
  }

  reweigh(tenant: TenantState, weight: number): void {
    this.#pool(tenant.group).reweigh(tenant, weight);
  }

  reweighGroup(group: GroupState, weight: number): void {
    group.served = this.#time.reweighed(group.served, group.weight, weight);
    group.weight = weight;
    this.placeGroup(group);
  }

  next(maxInFlight: number, contended: boolean): Head | undefined {
    const belowCaps = contended
      ? this.#choose((group, tenant) => {
          if (tenant === null) return this.#active.isBelowCap(group, maxInFlight);
          return this.#isBelowCap(tenant, maxInFlight);
        })
      : undefined;
    return belowCaps ?? this.#choose(() => true);
  }

  advance(tenant: TenantState, tenantScore: number, scoreOfGroup: number): void {
    this.#pool(tenant.group).advance(tenantScore);
    const top = this.#lanes.top();
    this.#time.advance(top === undefined ? undefined : groupScore(top), scoreOfGroup);
  }

  detach(tenant: TenantState, to: GroupState): void {
    const pool = this.#pool(tenant.group);
    pool.unplace(tenant);
    pool.active.remove(tenant);
    if (!isActiveGroup(to)) to.served = this.#time.lifted(to.served, to.weight);
    this.#pool(to).receive(tenant, pool);
  }

  slotCaps(maxInFlight: number): (group: GroupState) => number {
    const caps = this.#active.caps(maxInFlight);
    return (group) => caps.get(group) ?? 1;
  }

  forgives(tenant: TenantState): boolean {
    return this.#pool(tenant.group).forgives(tenant);
  }

  /** The next head of the first group in order that has one within the bounds; `tenant` null asks for the group alone. */
  #choose(within: (group: GroupState, tenant: TenantState | null) => boolean): Head | undefined {
    let chosen: Head | undefined;
    this.#lanes.first((group) => {
      if (!within(group, null)) return false;
      chosen = this.#pool(group).next((tenant) => within(group, tenant));
      return chosen !== undefined;
    });
    return chosen;
  }

  #isBelowCap(tenant: TenantState, maxInFlight: number): boolean {
    return this.#pool(tenant.group).active.isBelowCap(tenant, this.#active.mostOf(tenant.group, maxInFlight));
  }

  #pool(group: GroupState): Pool {
    let pool = this.#pools.get(group);
    if (pool === undefined) {
      pool = new Pool(this.#spell, this.#probe);
      this.#pools.set(group, pool);
    }
    return pool;
  }
}

function groupScore(group: GroupState): number {
  return group.served / group.weight;
}
