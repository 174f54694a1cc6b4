/**
 * Hierarchical: slots are shared among active groups by group weight, within a group among its active tenants by w; below
 * their caps the smallest served / weight is next, group first. When no head is below its caps, free slots are lent to
 * whoever is admissible: caps bind only under contention (decisions §20.4).
 */
import { IndexedHeap } from "./indexed-heap.ts";
import type { Policy } from "./policy.ts";
import { Pool } from "./pool.ts";
import { Roster } from "./roster.ts";
import { effectiveWeight, type GroupState, type Head, oldest, type TenantState } from "./state.ts";

export function hierarchicalPolicy(probe: () => void = () => undefined): Policy {
  return new Hierarchical(probe);
}

class Hierarchical implements Policy {
  readonly #pools = new Map<GroupState, Pool>();
  readonly #active = new Roster<GroupState>();
  readonly #waiting = new IndexedHeap<GroupState>((a, b) => {
    this.#probe();
    return groupScore(a) - groupScore(b) || oldestOrder(a) - oldestOrder(b);
  });
  readonly #probe: () => void;
  #virtualTime = 0;

  constructor(probe: () => void) {
    this.#probe = probe;
  }

  place(head: Head): void {
    this.#pool(head.tenant.group).place(head);
  }

  unplace(head: Head): void {
    this.#pool(head.tenant.group).remove(head);
  }

  refresh(tenant: TenantState): void {
    const { group } = tenant;
    const pool = this.#pool(group);
    if (tenant.inFlight > 0 || tenant.queued > 0)
      pool.active.put(tenant, effectiveWeight(tenant.weight, tenant.lastAdmissionWeight));
    else pool.active.remove(tenant);
    this.refreshGroup(group);
  }

  lift(tenant: TenantState, admissionWeight: number, groupWasIdle: boolean): void {
    const { group } = tenant;
    if (groupWasIdle) group.served = Math.max(group.served, this.#virtualTime * group.weight);
    this.#pool(group).lift(tenant, admissionWeight);
  }

  next(maxInFlight: number): Head | undefined {
    return (
      this.#choose((group, tenant) => {
        const groupCap = this.#active.capOf(group, maxInFlight);
        if (group.inFlight >= groupCap) return false;
        return tenant === null || tenant.inFlight < this.#pool(group).active.capOf(tenant, groupCap);
      }) ?? this.#choose(() => true)
    );
  }

  advance(tenant: TenantState, tenantScore: number, scoreOfGroup: number): void {
    this.#pool(tenant.group).advance(tenantScore);
    const first = this.#waiting.peek();
    this.#virtualTime = first === undefined ? Math.max(this.#virtualTime, scoreOfGroup) : groupScore(first);
  }

  detach(tenant: TenantState, to: GroupState): void {
    const pool = this.#pool(tenant.group);
    for (const head of tenant.heads.values()) pool.remove(head);
    pool.active.remove(tenant);
    const weight = effectiveWeight(tenant.weight, tenant.lastAdmissionWeight);
    const lead = Math.max(0, tenant.served - pool.virtualTime * weight);
    tenant.served = this.#pool(to).virtualTime * weight + lead;
  }

  slotCap(group: GroupState, maxInFlight: number): number {
    return this.#active.capOf(group, maxInFlight);
  }

  reset(): void {
    this.#virtualTime = 0;
    for (const pool of this.#pools.values()) pool.reset();
  }

  /** The next head of the first group in order that has one within the bounds; `tenant` null asks for the group alone. */
  #choose(within: (group: GroupState, tenant: TenantState | null) => boolean): Head | undefined {
    let chosen: Head | undefined;
    this.#waiting.first((group) => {
      if (!within(group, null)) return false;
      chosen = this.#pool(group).next((tenant) => within(group, tenant));
      return chosen !== undefined;
    });
    return chosen;
  }

  refreshGroup(group: GroupState): void {
    if (group.waiters.size > 0) this.#waiting.put(group);
    else this.#waiting.remove(group);
    if (group.inFlight > 0 || group.waiters.size > 0) this.#active.put(group, group.weight);
    else this.#active.remove(group);
  }

  #pool(group: GroupState): Pool {
    let pool = this.#pools.get(group);
    if (pool === undefined) {
      pool = new Pool(this.#probe);
      this.#pools.set(group, pool);
    }
    return pool;
  }
}

function groupScore(group: GroupState): number {
  return group.served / group.weight;
}

function oldestOrder(group: GroupState): number {
  return oldest(group.waiters)?.order ?? Number.POSITIVE_INFINITY;
}
