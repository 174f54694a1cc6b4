/**
 * Every tenant, group and model that the scheduler has seen, with the newest values. Creates, finds and forgets; decides
 * nothing. Service before the Cell was last idle counts as 0 from the next read on.
 */
import { IndexedHeap } from "../../../shared/fairshare/indexed-heap.ts";
import { ServedScore } from "./served-score.ts";
import { type GroupState, isActive, type ModelState, oldestOrder, type TenantState, waiterQueue } from "./state.ts";
import type { Arrival } from "./types.ts";
import type { BusyPeriod } from "./virtual-time.ts";

/** With fewer tenants than this, no sweep is made. */
const SWEEP_AT_LEAST = 1024;

export class Registry {
  readonly busyPeriod: BusyPeriod = { count: 0 };
  readonly #tenants = new Map<string, TenantState>();
  readonly #groups = new Map<string, GroupState>();
  readonly #models = new Map<string, ModelState>();
  #nextOrder = 1;
  #sweepAt = SWEEP_AT_LEAST;

  /** A position later than every one that was returned before. */
  order(): number {
    this.#nextOrder += 1;
    return this.#nextOrder;
  }

  tenants(): readonly TenantState[] {
    return [...this.#tenants.values()].map((tenant) => this.#settled(tenant));
  }

  groups(): readonly GroupState[] {
    return [...this.#groups.values()].map((group) => this.#settled(group));
  }

  models(): readonly ModelState[] {
    return [...this.#models.values()];
  }

  knownTenant(id: string): TenantState | undefined {
    const tenant = this.#tenants.get(id);
    return tenant === undefined ? undefined : this.#settled(tenant);
  }

  knownGroup(name: string): GroupState | undefined {
    const group = this.#groups.get(name);
    return group === undefined ? undefined : this.#settled(group);
  }

  knownModel(name: string): ModelState | undefined {
    return this.#models.get(name);
  }

  group(given: Arrival["group"]): GroupState {
    const known = this.knownGroup(given.name);
    if (known !== undefined) return known;
    const group: GroupState = {
      ...given,
      inFlight: 0,
      queued: 0,
      served: new ServedScore(),
      servedTokens: 0,
      busyPeriod: this.busyPeriod.count,
      lastActiveMs: Number.NEGATIVE_INFINITY,
      waiters: waiterQueue(),
    };
    this.#groups.set(group.name, group);
    return group;
  }

  model(given: Arrival["model"]): ModelState {
    const known = this.#models.get(given.name);
    if (known !== undefined) return known;
    const model: ModelState = {
      ...given,
      inFlight: 0,
      queued: 0,
      heads: new Set(),
      isBottleneck: false,
      bottleneckPeriods: 0,
      timesFull: 0,
    };
    this.#models.set(model.name, model);
    return model;
  }

  tenant(given: Arrival["tenant"], group: GroupState, nowMs: number): TenantState {
    const known = this.knownTenant(given.id);
    if (known !== undefined) return known;
    const tenant: TenantState = {
      ...given,
      group,
      inFlight: 0,
      linesInFlight: 0,
      linesKnown: 0,
      queued: 0,
      deferred: 0,
      passedOver: false,
      served: new ServedScore(),
      servedTokens: 0,
      busyPeriod: this.busyPeriod.count,
      heads: new Map(),
      headsByArrival: new IndexedHeap((a, b) => oldestOrder(a.waiters) - oldestOrder(b.waiters)),
      runningWeights: 0,
      lastActiveMs: nowMs,
    };
    this.#tenants.set(tenant.id, tenant);
    return tenant;
  }

  /**
   * Forgets tenants not seen since `beforeMs` for which `forgiven` is true, and returns them. It sweeps only when there are
   * twice as many tenants as the last sweep left, so that its cost is spread over the arrivals in between.
   */
  sweep(beforeMs: number, forgiven: (tenant: TenantState) => boolean): readonly TenantState[] {
    if (this.#tenants.size < this.#sweepAt) return [];
    const forgotten = this.tenants().filter(
      (tenant) => !isActive(tenant) && tenant.linesKnown === 0 && tenant.lastActiveMs < beforeMs && forgiven(tenant),
    );
    for (const { id } of forgotten) this.#tenants.delete(id);
    this.#sweepAt = Math.max(SWEEP_AT_LEAST, 2 * this.#tenants.size);
    return forgotten;
  }

  #settled<T extends { served: ServedScore; servedTokens: number; busyPeriod: number }>(state: T): T {
    if (state.busyPeriod !== this.busyPeriod.count) {
      state.busyPeriod = this.busyPeriod.count;
      state.served = new ServedScore();
      state.servedTokens = 0;
    }
    return state;
  }
}
