/**
 * The scheduler of one cell: a pure state machine (decisions §20). It keeps the books - who waits, who holds a slot, what
 * was served - and asks its policy who is next. The estimate is charged at grant and corrected at release. Invariants:
 * in-flight and lent slots never exceed the cap by a grant; no slot stays free while an admissible head waits, unless grants
 * are held.
 */

import { LentSlots, mayLend } from "./lent-slots.ts";
import { LiveValues, type Met } from "./live-values.ts";
import type { Policy } from "./policy.ts";
import { hierarchicalPolicy } from "./policy-hierarchical.ts";
import { weightedPolicy } from "./policy-weighted.ts";
import { Registry } from "./registry.ts";
import { snapshotOf } from "./snapshot.ts";
import { type Head, headScore, type Running, type Waiter } from "./state.ts";
import type {
  Arrival,
  Scheduler,
  SchedulerEvent,
  SchedulerGrant,
  SchedulerOptions,
  SchedulerSnapshot,
} from "./types.ts";
import { WaiterQueue } from "./waiter-queue.ts";

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
  readonly #values: LiveValues;
  readonly #waiting = new Map<string, Waiter>();
  readonly #running = new Map<string, Running>();
  readonly #lent = new LentSlots();
  #maxInFlight: number;
  #held = false;

  constructor(options: SchedulerOptions) {
    this.#options = options;
    this.#maxInFlight = options.maxInFlight;
    const makePolicy = options.algorithm === "weighted" ? weightedPolicy : hierarchicalPolicy;
    this.#policy = makePolicy(this.#known.spell, options.probe ?? (() => undefined));
    this.#values = new LiveValues(this.#known, this.#policy);
  }

  get inFlight(): number {
    return this.#running.size;
  }

  get lent(): number {
    return this.#lent.size;
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
        this.#release(event.requestId, event.actualTokens, null, nowMs);
        break;
      case "vacate":
        this.#release(event.requestId, event.actualTokens, event.lentId, nowMs);
        break;
      case "occupy":
        this.#occupy(event.lentId, event.arrival, nowMs);
        break;
      case "unlend":
        this.#unlend(event.lentId);
        break;
      case "adopt":
        this.#adopt(event.arrival, nowMs);
        break;
      case "capacity":
        this.#maxInFlight = event.maxInFlight;
        break;
      case "tenant":
        this.#values.tenant(event);
        break;
      case "group":
        this.#values.group(event);
        break;
      case "model":
        this.#values.model(event);
        break;
      case "hold":
        this.#held = event.on;
        break;
      default:
        event satisfies never;
    }
    return this.#dispatch(event.type === "arrive" ? event.arrival.requestId : null, nowMs);
  }

  lend(lentId: string, arrival: Arrival): boolean {
    if (this.#lent.has(lentId)) return true;
    if (this.#held || this.#free <= 1 || !mayLend(this.#known, arrival)) return false;
    const { tenant, model } = this.#values.foresee(arrival);
    this.#lent.put(lentId, tenant, model);
    return true;
  }

  lentInTheWay(): boolean {
    if (this.#held || this.#waiting.size === 0 || this.#lent.size === 0) return false;
    return this.#free <= 0 || this.#lent.fillACap();
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
      tenants: this.#known.tenants().filter((tenant) => recent(tenant, tenant.queued)),
      groups: this.#known.groups().filter((group) => recent(group, group.waiters.size)),
      models: this.#known.models(),
      slotCap: this.#policy.slotCaps(this.#maxInFlight),
    });
  }

  /** Slots that are neither in use nor lent; negative after a cap was lowered. */
  get #free(): number {
    return this.#maxInFlight - this.#running.size - this.#lent.size;
  }

  #dispatch(arrivedId: string | null, nowMs: number): readonly SchedulerGrant[] {
    const grants: SchedulerGrant[] = [];
    while (!this.#held && this.#free > 0) {
      const head = this.#policy.next(this.#maxInFlight, this.#waiting.size > 1);
      const waiter = head?.waiters.oldest;
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
    if (this.#running.size === 0 && this.#waiting.size === 0) this.#known.spell.count += 1;
    return grants;
  }

  #arrive(arrival: Arrival, nowMs: number): void {
    const { requestId } = arrival;
    if (this.#waiting.has(requestId) || this.#running.has(requestId)) return;
    this.#sweep(nowMs);
    const { tenant, model } = this.#come(this.#values.meet(arrival, nowMs));
    const waiter: Waiter = { arrival, arrivedMs: nowMs, order: this.#known.order(), tenant, model };
    let head = tenant.heads.get(model.name);
    if (head === undefined) {
      head = { tenant, model, waiters: new WaiterQueue() };
      tenant.heads.set(model.name, head);
      model.heads.add(head);
    }
    head.waiters.add(waiter);
    tenant.headsByArrival.put(head);
    this.#waiting.set(requestId, waiter);
    tenant.group.waiters.add(waiter);
    tenant.queued += 1;
    model.queued += 1;
    this.#policy.place(tenant);
    this.#values.watch(model);
  }

  #sweep(nowMs: number): void {
    this.#known.sweep(nowMs - RECENT_MS, (tenant) => this.#policy.forgives(tenant));
  }

  /** Somebody comes, who may have been idle until now. */
  #come({ tenant, model, wasIdle, groupWasIdle }: Met): Pick<Head, "tenant" | "model"> {
    if (wasIdle) this.#policy.lift(tenant, model.admissionWeight, groupWasIdle);
    return { tenant, model };
  }

  #leave(requestId: string, nowMs: number): void {
    const waiter = this.#waiting.get(requestId);
    if (waiter === undefined) return;
    this.#unqueue(waiter);
    waiter.tenant.lastActiveMs = nowMs;
    this.#policy.place(waiter.tenant);
  }

  #grant(head: Head, waiter: Waiter, nowMs: number): void {
    this.#unqueue(waiter);
    this.#charge(head, waiter.arrival, nowMs);
  }

  /** Takes a slot for a request that is next, or that had one waiting for it. */
  #charge({ tenant, model }: Pick<Head, "tenant" | "model">, arrival: Arrival, nowMs: number): void {
    const { group } = tenant;
    const tenantScore = headScore({ tenant, model });
    const groupScore = group.served / group.weight;
    this.#hold({ tenant, group, model, chargedTokens: arrival.costTokens }, arrival.requestId, nowMs);
    this.#policy.advance(tenant, tenantScore, groupScore);
  }

  #occupy(lentId: string, arrival: Arrival, nowMs: number): void {
    this.#unlend(lentId);
    if (this.#running.has(arrival.requestId)) return;
    this.#leave(arrival.requestId, nowMs);
    this.#sweep(nowMs);
    // It may come later than news of its records: its values count only where nothing is known.
    this.#charge(this.#come(this.#values.recall(arrival, nowMs)), arrival, nowMs);
  }

  #unlend(lentId: string): void {
    const slot = this.#lent.take(lentId);
    if (slot !== undefined) this.#policy.place(slot.tenant);
  }

  #adopt(arrival: Arrival, nowMs: number): void {
    if (this.#running.has(arrival.requestId)) return;
    const { tenant, model } = this.#values.recall(arrival, nowMs);
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
    this.#policy.place(tenant);
    this.#values.watch(model);
  }

  /** `lentId` not null: the slot is lent in the same turn. */
  #release(requestId: string, actualTokens: number, lentId: string | null, nowMs: number): void {
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
    if (lentId !== null) this.#lent.put(lentId, tenant, model);
    this.#policy.place(tenant);
    if (group !== tenant.group) this.#policy.placeGroup(group);
  }

  /** Takes a waiter out of every list it stands in; its tenant is to be placed again. */
  #unqueue(waiter: Waiter): void {
    const { tenant, model, arrival } = waiter;
    const head = tenant.heads.get(model.name);
    this.#waiting.delete(arrival.requestId);
    tenant.group.waiters.remove(arrival.requestId);
    tenant.queued -= 1;
    model.queued -= 1;
    if (head === undefined) return;
    head.waiters.remove(arrival.requestId);
    if (head.waiters.size > 0) {
      tenant.headsByArrival.put(head);
      return;
    }
    tenant.headsByArrival.remove(head);
    tenant.heads.delete(model.name);
    model.heads.delete(head);
    if (model.heads.size === 0) model.watched = false;
  }
}
