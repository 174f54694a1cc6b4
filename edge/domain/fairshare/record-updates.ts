/**
 * Weights, caps and groups that change while requests wait: the newest value counts, for everything that waits, from the
 * next decision on (docs/rules/fairshare.md#admissible-heads, docs/rules/fairshare.md#choosing-the-next). After every
 * change, each competitor is in the place that its state requires.
 */
import type { Policy } from "./policy.ts";
import type { Registry } from "./registry.ts";
import { type GroupState, hasRoom, type ModelState, type TenantState } from "./state.ts";
import type { Arrival, SchedulerEvent, SchedulerOptions } from "./types.ts";

type ChangeOf<Type extends SchedulerEvent["type"]> = Omit<Extract<SchedulerEvent, { type: Type }>, "type">;

/** The tenant, group and model of an arrival. */
export interface ArrivalState {
  readonly tenant: TenantState;
  readonly model: ModelState;
}

export class RecordUpdates {
  readonly #known: Registry;
  readonly #policy: Policy;
  readonly #capOf: NonNullable<SchedulerOptions["capOf"]>;

  constructor(known: Registry, policy: Policy, capOf: NonNullable<SchedulerOptions["capOf"]>) {
    this.#known = known;
    this.#capOf = capOf;
    this.#policy = policy;
  }

  /** Tenant, group and model of an arrival; its values are the newest and count from now on. */
  resolveArrival(arrival: Arrival, nowMs: number): ArrivalState {
    this.model(arrival.model);
    const met = this.resolveAdopted(arrival, nowMs);
    this.tenant({ ...arrival.tenant, group: arrival.group });
    return met;
  }

  /**
   * Tenant, group and model of a request that was admitted before a reset: its values may be older than the known ones, and
   * count only where none is known.
   */
  resolveAdopted(arrival: Arrival, nowMs: number): ArrivalState {
    const { model: stated } = arrival;
    const known = this.#known.knownModel(stated.name);
    const model = known ?? this.#known.model({ ...stated, maxInFlight: this.#capOf(stated) });
    const group = this.#known.group(arrival.group);
    const tenant = this.#known.tenant(arrival.tenant, group, nowMs);
    tenant.name = arrival.tenant.name;
    tenant.lastActiveMs = nowMs;
    group.lastActiveMs = nowMs;
    return { tenant, model };
  }

  /** Does nothing for an unknown tenant: its next arrival brings its values. */
  tenant(change: ChangeOf<"tenant">): void {
    if (change.group !== undefined) this.group(change.group);
    const tenant = this.#known.knownTenant(change.id);
    if (tenant === undefined) return;
    const group = change.group === undefined ? tenant.group : this.#known.group(change.group);
    const weight = change.weight ?? tenant.weight;
    const cap = change.maxInFlight === undefined ? tenant.maxInFlight : change.maxInFlight;
    if (group === tenant.group && weight === tenant.weight && cap === tenant.maxInFlight) return;
    const wasFull = !hasRoom(tenant);
    this.#policy.unplace(tenant);
    tenant.maxInFlight = cap;
    if (weight !== tenant.weight) this.#policy.reweigh(tenant, weight);
    if (group !== tenant.group) this.#move(tenant, group);
    const next = tenant.headsByArrival.peek()?.waiters.peek();
    if (wasFull && hasRoom(tenant) && next !== undefined)
      this.#policy.resume(tenant, { model: next.model, tokens: next.arrival.costTokens });
    this.#policy.place(tenant);
  }

  group(change: ChangeOf<"group">): void {
    const group = this.#known.knownGroup(change.name);
    if (group !== undefined && group.weight !== change.weight) this.#policy.reweighGroup(group, change.weight);
  }

  model(change: ChangeOf<"model">): void {
    const model = this.#known.knownModel(change.name);
    if (model === undefined) return;
    const { name, maxInFlight, adaptive } = change;
    if (maxInFlight !== undefined) model.maxInFlight = this.#capOf({ name, maxInFlight, adaptive: adaptive ?? null });
    this.noteFull(model);
    if (change.admissionWeight === undefined || change.admissionWeight === model.admissionWeight) return;
    // Granted requests stay charged with the weight at their grant; waiting ones will be charged with the new weight.
    model.admissionWeight = change.admissionWeight;
    for (const head of model.heads) this.#policy.place(head.tenant);
  }

  /**
   * Call this whenever a model may have become full. Makes it a separate bottleneck for the requests that wait for it, once,
   * until none waits. The cost is proportional to the number of waiting requests.
   */
  noteFull(model: ModelState): void {
    if (hasRoom(model)) return;
    model.timesFull += 1;
    if (model.isBottleneck || model.heads.size === 0) return;
    model.isBottleneck = true;
    model.bottleneckPeriods += 1;
    for (const head of model.heads) this.#policy.place(head.tenant);
  }

  #move(tenant: TenantState, group: GroupState): void {
    const old = tenant.group;
    this.#policy.detach(tenant, group);
    for (const { waiters } of tenant.heads.values())
      for (const waiter of waiters.values()) {
        old.waiters.remove(waiter);
        group.waiters.put(waiter);
      }
    old.queued -= tenant.queued;
    group.queued += tenant.queued;
    tenant.group = group;
    this.#policy.placeGroup(old);
  }
}
