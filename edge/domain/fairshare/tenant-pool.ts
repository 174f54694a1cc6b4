/**
 * The tenants that compete with one another: all of them in weighted mode, those of one group in hierarchical mode. A
 * tenant competes with its earliest admissible head; the smallest score is next, ties by arrival
 * (docs/rules/fairshare.md#admissible-heads, docs/rules/fairshare.md#choosing-the-next). Skipping a full model costs
 * nothing, however many requests wait for it: heads are ordered by the bottleneck of their model, and a tenant's later
 * heads also by one earlier model (their witness), with which they are skipped while it has room. So a decision examines
 * bottlenecks, not tenants; a head that is held back by another earlier model is moved to that witness when it is met.
 */

import { effectiveWeight } from "../../../shared/fairshare/entitled-slots.ts";
import { ActiveSet } from "./active-set.ts";
import { BottleneckScores, type Score } from "./bottleneck-scores.ts";
import { HeadOrder } from "./head-order.ts";
import type { ResumeCredit } from "./policy.ts";
import {
  type Bottleneck,
  bottleneckOf,
  bottlenecksOf,
  type Head,
  hasRoom,
  isActive,
  isUnobstructed,
  type ModelState,
  oldestOrder,
  type TenantState,
  weightOf,
} from "./state.ts";
import type { BusyPeriod } from "./virtual-time.ts";

export class TenantPool {
  /** Tenants that wait or hold a slot. */
  readonly active: ActiveSet<TenantState>;
  readonly scores: BottleneckScores<TenantState>;
  readonly #heads: HeadOrder;
  readonly #standing = new Map<TenantState, readonly Head[]>();
  readonly #probe: () => void;

  constructor(busyPeriod: BusyPeriod, probe: () => void) {
    this.#probe = probe;
    this.scores = new BottleneckScores(busyPeriod);
    this.active = new ActiveSet(probe);
    this.#heads = new HeadOrder((a, b) => this.#order(a, b), probe);
  }

  /** Moves a tenant to the place where it belongs now; `at`: position among all events. */
  place(tenant: TenantState, at: number): void {
    const before = this.#standing.get(tenant) ?? [];
    const heads = standingHeads(tenant);
    for (const head of before) if (!heads.includes(head)) this.#heads.remove(head);
    for (const [place, head] of heads.entries())
      this.#put(head, bottleneckOf(head.model), witnessOf(head, heads, place), at);
    if (heads.length > 0) this.#standing.set(tenant, heads);
    else if (before.length > 0) this.#standing.delete(tenant);
  }

  /** Takes a tenant out of the order. */
  unplace(tenant: TenantState): void {
    for (const head of this.#standing.get(tenant) ?? []) this.#heads.remove(head);
    this.#standing.delete(tenant);
  }

  /** Updates the active tenants, for the slot caps; call it after {@link TenantPool.place}. */
  updateActive(tenant: TenantState): void {
    if (isActive(tenant)) this.active.put(tenant, capWeight(tenant, this.#standing.get(tenant) ?? []));
    else this.active.remove(tenant);
  }

  /** The bottlenecks at which a tenant competes. */
  contestedBottlenecks(): readonly Bottleneck[] {
    return this.#heads.bottlenecks();
  }

  /** True when a tenant competes at the bottleneck. */
  isContested(bottleneck: Bottleneck): boolean {
    return this.#heads.has(bottleneck);
  }

  /** A request for the model is about to join the queue of its tenant. */
  start(tenant: TenantState, model: ModelState, at: number): void {
    const waits = bottlenecksOf(tenant);
    this.scores.start(tenant, bottleneckOf(model), (bottleneck) => waits.has(bottleneck), at);
  }

  /** The tenant held as many slots as it may, and may have one more now. */
  resume(tenant: TenantState, { model, tokens }: ResumeCredit, at: number): void {
    for (const bottleneck of bottlenecksOf(tenant))
      this.scores.resume(tenant, bottleneck, tokens / weightOf(tenant, model), at);
  }

  /** The head that is next among admissible ones whose tenant passes `fits`. */
  next(fits: (tenant: TenantState) => boolean): Head | undefined {
    if (!this.#heads.isDivided) {
      const head = this.#heads.first(null);
      if (head === undefined || fits(head.tenant)) return head;
    }
    const open = this.#heads.bottlenecks().filter((bottleneck) => this.#hasRoom(bottleneck));
    const fronts = open.map((bottleneck) => ({ bottleneck, head: this.#heads.first(bottleneck) }));
    for (;;) {
      const front = this.#foremost(fronts);
      if (front?.head === undefined) return undefined;
      const earlier = this.#keptBackBy(front.head);
      if (earlier === null) return fits(front.head.tenant) ? front.head : this.#search(open, fits);
      this.#put(front.head, front.bottleneck, earlier, 0);
      front.head = this.#heads.first(front.bottleneck);
    }
  }

  /**
   * True when a tenant that competes is below its cap and holds less than `most`. Others hold a slot, so that few are looked
   * at.
   */
  someBelowCap(slots: number, most: number): boolean {
    for (const tenant of this.#standing.keys()) {
      this.#probe();
      if (tenant.inFlight < most && this.active.isBelowCap(tenant, slots)) return true;
    }
    return false;
  }

  /** The score of a tenant with a request for a model. */
  scoreOf({ tenant, model }: Pick<Head, "tenant" | "model">): Score {
    const bottleneck = bottleneckOf(model);
    return { settled: this.scores.settled(tenant, bottleneck), shift: this.scores.shift(bottleneck) };
  }

  /** The score of a tenant with a request for a model, in the form that is compared with other tenants' scores. */
  comparableScore({ tenant, model }: Pick<Head, "tenant" | "model">): number {
    const bottleneck = bottleneckOf(model);
    return this.scores.score(tenant, bottleneck) + this.scores.shift(bottleneck);
  }

  /**
   * The settled score of the first tenant at a bottleneck, whether or not it can be granted; undefined when none competes
   * there.
   */
  lowest(bottleneck: Bottleneck): number | undefined {
    const top = this.#heads.lowest(bottleneck);
    return top === undefined ? undefined : this.scores.settled(top.tenant, bottleneck);
  }

  /** Applies a new weight of a tenant that is out of the order. */
  reweigh(tenant: TenantState, weight: number, at: number): void {
    this.scores.reweigh(tenant, tenant.weight, weight, at);
    tenant.weight = weight;
  }

  #score(head: Head): number {
    return this.scores.score(head.tenant, head.bottleneck);
  }

  #put(head: Head, bottleneck: Bottleneck, witness: ModelState | null, at: number): void {
    this.scores.enter(head.tenant, bottleneck, at);
    this.#heads.put(head, bottleneck, witness);
  }

  /** The order of heads at one bottleneck. */
  #order(a: Head, b: Head): number {
    this.#probe();
    return this.#score(a) - this.#score(b) || orderOf(a) - orderOf(b);
  }

  /** The next head when the very first does not fit: heads are read in order until one does. */
  #search(open: readonly Bottleneck[], fits: (tenant: TenantState) => boolean): Head | undefined {
    const keptBack: (readonly [Head, ModelState])[] = [];
    const fronts = open.map((bottleneck) => {
      const rest = this.#heads.inOrder(bottleneck);
      return { bottleneck, rest, head: rest.next().value };
    });
    let found: Head | undefined;
    while (found === undefined) {
      const front = this.#foremost(fronts);
      if (front?.head === undefined) break;
      const earlier = this.#keptBackBy(front.head);
      if (earlier !== null) keptBack.push([front.head, earlier]);
      else if (fits(front.head.tenant)) found = front.head;
      front.head = front.rest.next().value;
    }
    for (const [head, earlier] of keptBack) this.#put(head, head.bottleneck, earlier, 0);
    return found;
  }

  /** The bottleneck whose first head is next of all. */
  #foremost<F extends Front>(fronts: readonly F[]): F | undefined {
    let foremost: { readonly front: F; readonly score: number; readonly order: number } | undefined;
    for (const front of fronts) {
      this.#probe();
      if (front.head === undefined) continue;
      const score = this.#score(front.head) + this.scores.shift(front.bottleneck);
      const order = orderOf(front.head);
      const lead = foremost === undefined ? -1 : score - foremost.score || order - foremost.order;
      if (lead < 0) foremost = { front, score, order };
    }
    return foremost?.front;
  }

  #hasRoom(bottleneck: Bottleneck): boolean {
    this.#probe();
    if (bottleneck !== null && !hasRoom(bottleneck)) return false;
    this.#catchUp(bottleneck);
    return true;
  }

  #catchUp(bottleneck: Bottleneck): void {
    if (bottleneck === null || !this.scores.lags(bottleneck)) return;
    const head = this.#heads.lowest(bottleneck);
    const cost = head?.waiters.peek()?.arrival.costTokens;
    if (head === undefined || cost === undefined) return;
    this.scores.catchUp(
      bottleneck,
      this.scores.settled(head.tenant, bottleneck),
      cost / weightOf(head.tenant, head.model),
    );
  }

  /** The earlier model of the same tenant that has room: the tenant competes with the head of that model. Null: no such model. */
  #keptBackBy(head: Head): ModelState | null {
    if (head.witness === null) return null;
    for (const earlier of head.tenant.headsByArrival.inOrder()) {
      this.#probe();
      if (earlier === head) return null;
      if (isUnobstructed(earlier.model)) return earlier.model;
    }
    return null;
  }
}

/** A bottleneck, and its first head that has not been examined; undefined: none is left. */
interface Front {
  readonly bottleneck: Bottleneck;
  head: Head | undefined;
}

function orderOf(head: Head): number {
  return oldestOrder(head.waiters);
}

/**
 * A tenant's heads up to the first that its model does not hold back; none while the tenant holds as many slots as it may.
 */
function standingHeads(tenant: TenantState): readonly Head[] {
  if (tenant.headsByArrival.size === 0 || !hasRoom(tenant) || tenant.passedOver) return [];
  const heads: Head[] = [];
  for (const head of tenant.headsByArrival.inOrder()) {
    heads.push(head);
    if (!head.model.isBottleneck) break;
  }
  return heads;
}

/** An earlier model of the same tenant: its present witness if it still is one, else the earliest. */
function witnessOf(head: Head, heads: readonly Head[], place: number): ModelState | null {
  const earlier = heads.slice(0, place).map(({ model }) => model);
  return head.witness !== null && earlier.includes(head.witness) ? head.witness : (earlier[0] ?? null);
}

/**
 * The weight for a tenant's slot cap: w of the request that it may be granted next; the lightest if that depends on which model
 * has room, so that a request for a heavy model does not raise the cap for a light one. While no request of it may be granted,
 * w with the mean of its running requests; its own weight if none runs.
 */
function capWeight(tenant: TenantState, standing: readonly Head[]): number {
  if (standing.length > 0) return Math.min(...standing.map(({ model }) => weightOf(tenant, model)));
  return tenant.inFlight > 0 ? effectiveWeight(tenant.weight, tenant.runningWeights / tenant.inFlight) : tenant.weight;
}
