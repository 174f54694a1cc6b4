/**
 * Hierarchical: slots are shared among active groups by group weight, and within a group among its active tenants by w; among
 * those below their caps the smallest score is next, groups first. When no head is below its caps, free slots are lent to any
 * admissible head: caps bind only under contention (docs/rules/fairshare.md#lending). Headroom is not lent: it goes to tenants
 * below their own caps, regardless of their group's slots. A group competes at every bottleneck at which one of its tenants
 * competes.
 */

import { IndexedHeap } from "../../../shared/fairshare/indexed-heap.ts";
import { ActiveSet } from "./active-set.ts";
import { BottleneckScores } from "./bottleneck-scores.ts";
import { largestShare, onlyHeadroomIsFree, type Slots } from "./headroom.ts";
import type { Claim, NextPosition, Policy, ResumeCredit, Scores, ShareLimit } from "./policy.ts";
import {
  type Bottleneck,
  bottleneckOf,
  bottlenecksOf,
  type Charge,
  type GroupState,
  type Head,
  hasRoom,
  isActiveGroup,
  type ModelState,
  oldestOrder,
  type TenantState,
} from "./state.ts";
import { TenantPool } from "./tenant-pool.ts";
import type { BusyPeriod } from "./virtual-time.ts";

export function hierarchicalPolicy(busyPeriod: BusyPeriod, position: NextPosition, probe: () => void): Policy {
  return new Hierarchical(busyPeriod, position, probe);
}

const ANY = (): boolean => true;

/** How far the groups of one bottleneck have been examined. */
interface Front {
  group: GroupState;
  readonly bottleneck: Bottleneck;
  readonly rest: Generator<GroupState, undefined>;
}

class Hierarchical implements Policy {
  readonly #pools = new Map<GroupState, TenantPool>();
  readonly #active: ActiveSet<GroupState>;
  readonly #scores: BottleneckScores<GroupState>;
  readonly #heaps = new Map<Bottleneck, IndexedHeap<GroupState>>();
  readonly #standing = new Map<GroupState, readonly Bottleneck[]>();
  readonly #busyPeriod: BusyPeriod;
  readonly #position: NextPosition;
  readonly #probe: () => void;

  constructor(busyPeriod: BusyPeriod, position: NextPosition, probe: () => void) {
    this.#busyPeriod = busyPeriod;
    this.#position = position;
    this.#probe = probe;
    this.#scores = new BottleneckScores(busyPeriod);
    this.#active = new ActiveSet(probe);
  }

  place(tenant: TenantState): void {
    const pool = this.#pool(tenant.group);
    pool.place(tenant, this.#position());
    pool.updateActive(tenant);
    this.placeGroup(tenant.group);
  }

  unplace(tenant: TenantState): void {
    this.#pool(tenant.group).unplace(tenant);
  }

  placeGroup(group: GroupState): void {
    const before = this.#standing.get(group) ?? [];
    const lines = this.#pool(group).contestedBottlenecks();
    for (const bottleneck of before) if (!lines.includes(bottleneck)) this.#remove(group, bottleneck);
    for (const bottleneck of lines) {
      this.#scores.enter(group, bottleneck, this.#position());
      this.#heap(bottleneck).put(group);
    }
    if (lines.length > 0) this.#standing.set(group, lines);
    else if (before.length > 0) this.#standing.delete(group);
    if (isActiveGroup(group)) this.#active.put(group, group.weight);
    else this.#active.remove(group);
  }

  start(tenant: TenantState, model: ModelState): void {
    const { group } = tenant;
    const pool = this.#pool(group);
    this.#scores.start(group, bottleneckOf(model), (bottleneck) => pool.isContested(bottleneck), this.#position());
    pool.start(tenant, model, this.#position());
  }

  resume(tenant: TenantState, request: ResumeCredit): void {
    const { group } = tenant;
    const pool = this.#pool(group);
    for (const bottleneck of bottlenecksOf(tenant))
      if (!pool.isContested(bottleneck))
        this.#scores.resume(group, bottleneck, request.tokens / group.weight, this.#position());
    pool.resume(tenant, request, this.#position());
  }

  charge(tenant: TenantState, group: GroupState, charge: Charge): void {
    this.#pool(tenant.group).scores.charge(tenant, charge, charge.weight);
    this.#scores.charge(group, charge, charge.groupWeight);
  }

  correct(tenant: TenantState, group: GroupState, charge: Charge, tokens: number): void {
    this.#pool(tenant.group).scores.correct(tenant, charge, charge.weight, tokens);
    this.#scores.correct(group, charge, charge.groupWeight, tokens);
  }

  reweigh(tenant: TenantState, weight: number): void {
    this.#pool(tenant.group).reweigh(tenant, weight, this.#position());
  }

  reweighGroup(group: GroupState, weight: number): void {
    this.#scores.reweigh(group, group.weight, weight, this.#position());
    group.weight = weight;
    this.placeGroup(group);
  }

  next(slots: Slots, contended: boolean): Head | undefined {
    const isKept = onlyHeadroomIsFree(slots);
    if (isKept && !this.#someBelowShare(slots)) return undefined;
    const isBelowShare = (tenant: TenantState): boolean => this.#isBelowShare(tenant, slots);
    const belowCaps = contended
      ? this.#choose((group) => this.#active.isBelowCap(group, slots.maxInFlight), isBelowShare)
      : undefined;
    return belowCaps ?? this.#choose(ANY, isKept ? isBelowShare : ANY);
  }

  scores({ tenant, model }: Pick<Head, "tenant" | "model">): Scores {
    const { group } = tenant;
    const bottleneck = bottleneckOf(model);
    return {
      tenant: this.#pool(group).scoreOf({ tenant, model }),
      group: { settled: this.#scores.settled(group, bottleneck), shift: this.#scores.shift(bottleneck) },
    };
  }

  advance(tenant: TenantState, bottleneck: Bottleneck, scores: Scores): void {
    const pool = this.#pool(tenant.group);
    pool.scores.advance(bottleneck, scores.tenant, (which) => pool.lowest(which));
    if (scores.group !== null) this.#scores.advance(bottleneck, scores.group, (which) => this.#lowest(which));
  }

  detach(tenant: TenantState, to: GroupState): void {
    const pool = this.#pool(tenant.group);
    pool.unplace(tenant);
    pool.active.remove(tenant);
    const target = this.#pool(to);
    for (const bottleneck of bottlenecksOf(tenant))
      this.#scores.start(to, bottleneck, (other) => target.isContested(other), this.#position());
    target.scores.transferFrom(tenant, pool.scores, this.#position());
  }

  shareLimits(competing: readonly Claim[], slots: Slots): (claim: Claim) => ShareLimit | null {
    const { maxInFlight, inFlight } = slots;
    if (inFlight < maxInFlight)
      return ({ tenant }) => (onlyHeadroomIsFree(slots) && !this.#isBelowShare(tenant, slots) ? "headroom" : null);
    const rivals = new Map<GroupState, Set<TenantState>>();
    for (const { tenant } of competing) {
      const known = rivals.get(tenant.group);
      if (known === undefined) rivals.set(tenant.group, new Set([tenant]));
      else known.add(tenant);
    }
    const othersThan = <T>(who: T, all: { readonly size: number; has(who: T): boolean }): boolean =>
      all.size > (all.has(who) ? 1 : 0);
    return ({ tenant }) => {
      const { group } = tenant;
      if (othersThan(group, rivals) && this.#active.isHeldByShare(group, maxInFlight)) return "group_share";
      const ofGroup = this.#active.mostOf(group, maxInFlight);
      const fellows = rivals.get(group);
      const competes = fellows !== undefined && othersThan(tenant, fellows);
      return competes && this.#pool(group).active.isHeldByShare(tenant, ofGroup) ? "tenant_share" : null;
    };
  }

  canForget(tenant: TenantState): boolean {
    return this.#pool(tenant.group).scores.canForget(tenant);
  }

  forget(tenant: TenantState): void {
    this.#pool(tenant.group).scores.forget(tenant);
  }

  /** The next head within the bounds, of the first group in order that has one. */
  #choose(groupFits: (group: GroupState) => boolean, tenantFits: (tenant: TenantState) => boolean): Head | undefined {
    const only = this.#heaps.size === 1 ? this.#heaps.get(null)?.peek() : undefined;
    const at = only !== undefined && groupFits(only) ? this.#pool(only).next(tenantFits) : undefined;
    if (at !== undefined) return at;
    const fronts = new IndexedHeap<Front>((a, b) => {
      this.#probe();
      const lead = this.#score(a.group, a.bottleneck) - this.#score(b.group, b.bottleneck);
      return lead || oldestOrder(a.group.waiters) - oldestOrder(b.group.waiters);
    });
    for (const [bottleneck, heap] of this.#heaps) {
      this.#probe();
      if (bottleneck !== null && !hasRoom(bottleneck)) continue;
      this.#catchUp(bottleneck);
      const rest = heap.inOrder();
      const first = rest.next();
      if (first.done !== true) fronts.put({ group: first.value, bottleneck, rest });
    }
    for (let front = fronts.peek(); front !== undefined; front = fronts.peek()) {
      const head = groupFits(front.group) ? this.#pool(front.group).next(tenantFits) : undefined;
      if (head !== undefined) return head;
      const following = front.rest.next();
      if (following.done === true) fronts.remove(front);
      else {
        front.group = following.value;
        fronts.put(front);
      }
    }
    return undefined;
  }

  /** A score that can be compared between bottlenecks. */
  #score(group: GroupState, bottleneck: Bottleneck): number {
    return this.#scores.score(group, bottleneck) + this.#scores.shift(bottleneck);
  }

  /** True when a tenant that waits is below its share; its model may be full. */
  #someBelowShare(slots: Slots): boolean {
    for (const group of this.#standing.keys())
      if (this.#pool(group).someBelowCap(this.#active.mostOf(group, slots.maxInFlight), largestShare(slots)))
        return true;
    return false;
  }

  #isBelowShare(tenant: TenantState, slots: Slots): boolean {
    if (tenant.inFlight >= largestShare(slots)) return false;
    const ofGroup = this.#active.mostOf(tenant.group, slots.maxInFlight);
    return this.#pool(tenant.group).active.isBelowCap(tenant, ofGroup);
  }

  #catchUp(bottleneck: Bottleneck): void {
    if (bottleneck === null || !this.#scores.lags(bottleneck)) return;
    const group = this.#heaps.get(bottleneck)?.peek();
    const cost = group?.waiters.peek()?.arrival.costTokens;
    if (group === undefined || cost === undefined) return;
    this.#scores.catchUp(bottleneck, this.#scores.settled(group, bottleneck), cost / group.weight);
  }

  /** The settled score of the first group at a bottleneck. */
  #lowest(bottleneck: Bottleneck): number | undefined {
    const group = this.#heaps.get(bottleneck)?.peek();
    return group === undefined ? undefined : this.#scores.settled(group, bottleneck);
  }

  /** The order of groups at one bottleneck. */
  #order(a: GroupState, b: GroupState, bottleneck: Bottleneck): number {
    this.#probe();
    const lead = this.#scores.score(a, bottleneck) - this.#scores.score(b, bottleneck);
    return lead || oldestOrder(a.waiters) - oldestOrder(b.waiters);
  }

  #heap(bottleneck: Bottleneck): IndexedHeap<GroupState> {
    let heap = this.#heaps.get(bottleneck);
    if (heap === undefined) {
      heap = new IndexedHeap((a, b) => this.#order(a, b, bottleneck));
      this.#heaps.set(bottleneck, heap);
    }
    return heap;
  }

  #remove(group: GroupState, bottleneck: Bottleneck): void {
    const heap = this.#heaps.get(bottleneck);
    heap?.remove(group);
    if (heap?.size === 0) this.#heaps.delete(bottleneck);
  }

  #pool(group: GroupState): TenantPool {
    let pool = this.#pools.get(group);
    if (pool === undefined) {
      pool = new TenantPool(this.#busyPeriod, this.#probe);
      this.#pools.set(group, pool);
    }
    return pool;
  }
}
