/**
 * The scheduler of one cell: a pure state machine (decisions §20). It keeps the books - who waits, who holds a slot, what
 * was served - and asks its policy who is next. The estimate is charged at grant and corrected at release. Invariants:
 * in-flight never exceeds the cap by a grant; no slot stays free while an admissible head waits, unless grants are held.
 */

import type { Policy } from "./policy.ts";
import { hierarchicalPolicy } from "./policy-hierarchical.ts";
import { weightedPolicy } from "./policy-weighted.ts";
import { Registry } from "./registry.ts";
import { snapshotOf } from "./snapshot.ts";
import {
  type GroupState,
  type Head,
  headScore,
  type ModelState,
  oldest,
  type Running,
  type TenantState,
  type Waiter,
} from "./state.ts";
import type {
  Arrival,
  Scheduler,
  SchedulerEvent,
  SchedulerGrant,
  SchedulerOptions,
  SchedulerSnapshot,
} from "./types.ts";

/** Idle tenants and groups are shown this long (decisions §7.2). */
export const RECENT_MS = 60_000;

/** A scheduler with the policy of `options.algorithm`. */
export function createScheduler(options: SchedulerOptions): Scheduler {
  return new FairshareScheduler(options);
}

class FairshareScheduler implements Scheduler {
  readonly #options: SchedulerOptions;
  readonly #policy: Policy;
  readonly #known = new Registry();
  readonly #waiting = new Map<string, Waiter>();
  readonly #running = new Map<string, Running>();
  #maxInFlight: number;
  #held = false;

  constructor(options: SchedulerOptions) {
    this.#options = options;
    this.#maxInFlight = options.maxInFlight;
    this.#policy = options.algorithm === "weighted" ? weightedPolicy(options.probe) : hierarchicalPolicy(options.probe);
  }

  get inFlight(): number {
    return this.#running.size;
  }

  get queued(): number {
    return this.#waiting.size;
  }

  get maxInFlight(): number {
    return this.#maxInFlight;
  }

  apply(event: SchedulerEvent, nowMs: number): readonly SchedulerGrant[] {
    switch (event.type) {
      case "arrive":
        this.#arrive(event.arrival, nowMs);
        break;
      case "leave":
        this.#leave(event.requestId, nowMs);
        break;
      case "release":
        this.#release(event.requestId, event.actualTokens, nowMs);
        break;
      case "adopt":
        this.#adopt(event.arrival, nowMs);
        break;
      case "capacity":
        this.#maxInFlight = event.maxInFlight;
        break;
      case "tenant":
        this.#changeTenant(event);
        break;
      case "group":
        this.#changeGroup(event.name, event.weight);
        break;
      case "model":
        this.#changeModel(event);
        break;
      case "hold":
        this.#held = event.on;
        break;
      default:
        event satisfies never;
    }
    return this.#dispatch(event.type === "arrive" ? event.arrival.requestId : null, nowMs);
  }

  snapshot(nowMs: number): SchedulerSnapshot {
    const recent = <T extends { readonly lastActiveMs: number; readonly inFlight: number }>(
      state: T,
      waits: number,
    ): boolean => state.inFlight > 0 || waits > 0 || nowMs - state.lastActiveMs < RECENT_MS;
    return snapshotOf({
      algorithm: this.#options.algorithm,
      maxInFlight: this.#maxInFlight,
      inFlight: this.inFlight,
      queued: this.queued,
      tenants: [...this.#known.tenants.values()].filter((tenant) => recent(tenant, tenant.queued)),
      groups: [...this.#known.groups.values()].filter((group) => recent(group, group.waiters.size)),
      models: [...this.#known.models.values()],
      slotCap: (group) => this.#policy.slotCap(group, this.#maxInFlight),
    });
  }

  #dispatch(arrivedId: string | null, nowMs: number): readonly SchedulerGrant[] {
    const grants: SchedulerGrant[] = [];
    while (!this.#held && this.#running.size < this.#maxInFlight) {
      const head = this.#policy.next(this.#maxInFlight);
      const waiter = head === undefined ? undefined : oldest(head.waiters);
      if (head === undefined || waiter === undefined) break;
      this.#grant(head, waiter, nowMs);
      const { requestId } = waiter.arrival;
      const fast = requestId === arrivedId;
      grants.push({
        requestId,
        admission: fast ? "fast" : "queued",
        queueWaitMs: fast ? 0 : Math.max(0, nowMs - waiter.arrivedMs),
      });
    }
    if (this.#running.size === 0 && this.#waiting.size === 0) {
      this.#policy.reset();
      this.#known.settleAll(nowMs - RECENT_MS);
    }
    return grants;
  }

  #arrive(arrival: Arrival, nowMs: number): void {
    const { requestId } = arrival;
    if (this.#waiting.has(requestId) || this.#running.has(requestId)) return;
    const { tenant, model, wasIdle, groupWasIdle } = this.#meet(arrival, nowMs);
    if (wasIdle) this.#policy.lift(tenant, model.admissionWeight, groupWasIdle);
    const waiter: Waiter = { arrival, arrivedMs: nowMs, order: this.#known.order(), tenant, model };
    let head = tenant.heads.get(model.name);
    if (head === undefined) {
      head = { tenant, model, waiters: new Map() };
      tenant.heads.set(model.name, head);
    }
    head.waiters.set(requestId, waiter);
    this.#waiting.set(requestId, waiter);
    tenant.group.waiters.set(requestId, waiter);
    tenant.queued += 1;
    model.queued += 1;
    this.#replace(tenant);
  }

  #leave(requestId: string, nowMs: number): void {
    const waiter = this.#waiting.get(requestId);
    if (waiter === undefined) return;
    this.#unqueue(waiter);
    waiter.tenant.lastActiveMs = nowMs;
    this.#replace(waiter.tenant);
  }

  #grant(head: Head, waiter: Waiter, nowMs: number): void {
    const { tenant, model, arrival } = waiter;
    const { group } = tenant;
    const tenantScore = headScore(head);
    const groupScore = group.served / group.weight;
    this.#unqueue(waiter);
    this.#hold({ tenant, group, model, chargedTokens: arrival.costTokens }, arrival.requestId, nowMs);
    this.#policy.advance(tenant, tenantScore, groupScore);
  }

  #adopt(arrival: Arrival, nowMs: number): void {
    if (this.#running.has(arrival.requestId)) return;
    const { tenant, model } = this.#meet(arrival, nowMs);
    this.#hold({ tenant, group: tenant.group, model, chargedTokens: arrival.costTokens }, arrival.requestId, nowMs);
  }

  #hold(running: Running, requestId: string, nowMs: number): void {
    const { tenant, group, model, chargedTokens } = running;
    this.#running.set(requestId, running);
    tenant.inFlight += 1;
    group.inFlight += 1;
    model.inFlight += 1;
    tenant.served += chargedTokens;
    group.served += chargedTokens;
    tenant.lastActiveMs = nowMs;
    group.lastActiveMs = nowMs;
    this.#replace(tenant);
  }

  #release(requestId: string, actualTokens: number, nowMs: number): void {
    const running = this.#running.get(requestId);
    if (running === undefined) return;
    this.#running.delete(requestId);
    const { tenant, group, model } = running;
    const correction = actualTokens - running.chargedTokens;
    tenant.inFlight -= 1;
    group.inFlight -= 1;
    model.inFlight -= 1;
    tenant.served = Math.max(0, tenant.served + correction);
    group.served = Math.max(0, group.served + correction);
    tenant.lastActiveMs = nowMs;
    group.lastActiveMs = nowMs;
    this.#replace(tenant);
    if (group !== tenant.group) this.#policy.refreshGroup(group);
  }

  /** Takes a waiter out of every list it stands in. */
  #unqueue(waiter: Waiter): void {
    const { tenant, model, arrival } = waiter;
    const head = tenant.heads.get(model.name);
    head?.waiters.delete(arrival.requestId);
    this.#waiting.delete(arrival.requestId);
    tenant.group.waiters.delete(arrival.requestId);
    tenant.queued -= 1;
    model.queued -= 1;
    if (head !== undefined && head.waiters.size === 0) {
      this.#policy.place(head);
      tenant.heads.delete(model.name);
    }
  }

  /** The tenant's books have changed: it stands elsewhere in the order now. */
  #replace(tenant: TenantState): void {
    for (const head of tenant.heads.values()) this.#policy.place(head);
    this.#policy.refresh(tenant);
  }

  /** Tenant, group and model of an arrival; its values are the latest seen and count from now on. */
  #meet(
    arrival: Arrival,
    nowMs: number,
  ): { tenant: TenantState; model: ModelState; wasIdle: boolean; groupWasIdle: boolean } {
    this.#changeModel(arrival.model);
    this.#changeGroup(arrival.group.name, arrival.group.weight);
    const model = this.#known.model(arrival.model);
    const group = this.#known.group(arrival.group);
    const tenant = this.#known.tenant(arrival.tenant, group, model, nowMs);
    const wasIdle = tenant.inFlight === 0 && tenant.queued === 0;
    const groupWasIdle = group.inFlight === 0 && group.waiters.size === 0;
    tenant.name = arrival.tenant.name;
    tenant.lastAdmissionWeight = model.admissionWeight;
    tenant.lastActiveMs = nowMs;
    group.lastActiveMs = nowMs;
    this.#changeTenant({ ...arrival.tenant, group: arrival.group });
    return { tenant, model, wasIdle, groupWasIdle };
  }

  #changeTenant(change: Omit<Extract<SchedulerEvent, { type: "tenant" }>, "type">): void {
    const tenant = this.#known.tenants.get(change.id);
    if (tenant === undefined) return;
    const group = change.group === undefined ? tenant.group : this.#known.group(change.group);
    const weight = change.weight ?? tenant.weight;
    if (change.maxInFlight !== undefined) tenant.maxInFlight = change.maxInFlight;
    if (group === tenant.group && weight === tenant.weight) return;
    tenant.weight = weight;
    if (group !== tenant.group) this.#moveTo(tenant, group);
    this.#replace(tenant);
  }

  #moveTo(tenant: TenantState, group: GroupState): void {
    const old = tenant.group;
    this.#policy.detach(tenant, group);
    const moved = [...tenant.heads.values()].flatMap((head) => [...head.waiters.values()]);
    for (const waiter of moved) old.waiters.delete(waiter.arrival.requestId);
    const all = [...group.waiters.values(), ...moved].sort((a, b) => a.order - b.order);
    group.waiters.clear();
    for (const waiter of all) group.waiters.set(waiter.arrival.requestId, waiter);
    tenant.group = group;
    this.#policy.refreshGroup(old);
  }

  #changeGroup(name: string, weight: number): void {
    const group = this.#known.groups.get(name);
    if (group === undefined || group.weight === weight) return;
    group.weight = weight;
    this.#policy.refreshGroup(group);
  }

  #changeModel(change: {
    readonly name: string;
    readonly admissionWeight?: number;
    readonly maxInFlight?: number | null;
  }): void {
    const model = this.#known.models.get(change.name);
    if (model === undefined) return;
    if (change.maxInFlight !== undefined) model.maxInFlight = change.maxInFlight;
    if (change.admissionWeight === undefined || change.admissionWeight === model.admissionWeight) return;
    // Every head of the model changes its place at once: a heap bears one change at a time.
    const heads = [...this.#known.tenants.values()].flatMap((tenant) => tenant.heads.get(model.name) ?? []);
    for (const head of heads) this.#policy.unplace(head);
    model.admissionWeight = change.admissionWeight;
    for (const head of heads) this.#policy.place(head);
  }
}
