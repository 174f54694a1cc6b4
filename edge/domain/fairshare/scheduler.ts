/**
 * The scheduler of one Cell: a pure state machine (docs/rules/fairshare.md#choosing-the-next). It keeps the state (which
 * requests wait, which hold a slot, what was served) and asks its policy which request is next. The estimate is charged at
 * grant and corrected at release. Invariants: a grant never takes in-flight above the cap; no slot stays free while an
 * admissible head waits, unless it is headroom, grants are held, or the requests of that head's tenant are being checked again.
 * A line of a batch gets only a slot that no waiting request could use (batch-lines.ts).
 */

import type { WaitingQueue } from "../../../shared/schema/load.ts";
import { type BatchLine, BatchLines } from "./batch-lines.ts";
import { headroomSlots, onlyHeadroomIsFree, type Slots } from "./headroom.ts";
import type { Claim, Policy } from "./policy.ts";
import { hierarchicalPolicy } from "./policy-hierarchical.ts";
import { weightedPolicy } from "./policy-weighted.ts";
import { type ArrivalState, RecordUpdates } from "./record-updates.ts";
import { Registry } from "./registry.ts";
import { RunningRequests } from "./running-requests.ts";
import { RECENT_MS, snapshotOf } from "./snapshot.ts";
import {
  type Bottleneck,
  bottleneckOf,
  hasRoom,
  type Running,
  slotsLeft,
  type TenantState,
  type Waiter,
} from "./state.ts";
import type {
  Arrival,
  GrantCheck,
  Scheduler,
  SchedulerEvent,
  SchedulerGrant,
  SchedulerOptions,
  SchedulerSnapshot,
} from "./types.ts";
import { WaitingRequests } from "./waiting-requests.ts";
import { heldUp } from "./why-it-waits.ts";

const NO_CHECK: GrantCheck = { mayHave: () => true };
const NONE: readonly string[] = [];

/** A scheduler with the policy of `options.algorithm`. */
export function createScheduler(options: SchedulerOptions): Scheduler {
  return new FairshareScheduler(options);
}

class FairshareScheduler implements Scheduler, Slots {
  readonly #options: SchedulerOptions;
  readonly #grantCheck: GrantCheck;
  readonly #policy: Policy;
  readonly #known = new Registry();
  readonly #values: RecordUpdates;
  readonly #queues = new WaitingRequests();
  readonly #running = new RunningRequests();
  readonly #lines = new BatchLines();
  #maxInFlight: number;
  #headroom: number;
  #held = false;
  /** When the first event came, epoch ms. */
  #beganMs: number | null = null;
  /** Requests that were deferred at their turn and not yet taken by takeDeferred. */
  #deferred: string[] = [];

  constructor(options: SchedulerOptions) {
    this.#options = options;
    this.#grantCheck = options.grantCheck ?? NO_CHECK;
    this.#maxInFlight = options.maxInFlight;
    this.#headroom = headroomSlots(options.maxInFlight, options.headroom ?? 0);
    const makePolicy = options.algorithm === "weighted" ? weightedPolicy : hierarchicalPolicy;
    const position = () => this.#known.order();
    this.#policy = makePolicy(this.#known.busyPeriod, position, options.probe ?? (() => undefined));
    this.#values = new RecordUpdates(this.#known, this.#policy, options.capOf ?? (({ maxInFlight }) => maxInFlight));
  }

  get inFlight(): number {
    return this.#running.size + this.#lines.inFlight;
  }

  get queued(): number {
    return this.#queues.size;
  }

  get batchInFlight(): number {
    return this.#lines.inFlight;
  }

  get maxInFlight(): number {
    return this.#maxInFlight;
  }

  get headroom(): number {
    return this.#headroom;
  }

  queuedOf(tenantId: string): number {
    return this.#known.knownTenant(tenantId)?.queued ?? 0;
  }

  inFlightBy(tenantId: string): number {
    return this.#known.knownTenant(tenantId)?.inFlight ?? 0;
  }

  inFlightOf(modelName: string): number {
    return this.#known.knownModel(modelName)?.inFlight ?? 0;
  }

  inFlightByModel(): readonly (readonly [modelName: string, inFlight: number])[] {
    return this.#known.models().flatMap(({ name, inFlight }) => (inFlight > 0 ? [[name, inFlight] as const] : []));
  }

  apply(event: SchedulerEvent, nowMs: number): readonly SchedulerGrant[] {
    this.#beganMs ??= nowMs;
    switch (event.type) {
      case "arrive":
        this.#arrive(event.arrival, event.waitedMs ?? null, nowMs);
        break;
      case "defer":
        this.#defer(event.requestId, nowMs);
        break;
      case "unheard":
        this.#unheard(event.requestId);
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
        this.#headroom = headroomSlots(event.maxInFlight, this.#options.headroom ?? 0);
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

  takeDeferred(): readonly string[] {
    if (this.#deferred.length === 0) return NONE;
    const deferred = this.#deferred;
    this.#deferred = [];
    return deferred;
  }

  snapshot(nowMs: number): SchedulerSnapshot {
    const { algorithm } = this.#options;
    const { maxInFlight, headroom, inFlight, queued } = this;
    const lines = this.#lines;
    return snapshotOf({ algorithm, maxInFlight, headroom, inFlight, queued, lines, known: this.#known }, nowMs);
  }

  waiting(nowMs: number): readonly WaitingQueue[] {
    const shareLimits = (competing: readonly Claim[]) => this.#policy.shareLimits(competing, this);
    return heldUp({ waiters: this.#queues.all(), slotIsFree: this.#free > 0, shareLimits }, nowMs);
  }

  /** Slots that are not in use; negative after the cap was lowered. */
  get #free(): number {
    return this.#maxInFlight - this.inFlight;
  }

  #dispatch(arrivedId: string | null, nowMs: number): readonly SchedulerGrant[] {
    const grants: SchedulerGrant[] = [];
    while (!this.#held && this.#free > 0) {
      const waiter = this.#policy.next(this, this.#queues.contended)?.waiters.peek();
      if (waiter === undefined) break;
      const { requestId } = waiter.arrival;
      if (!this.#grantCheck.mayHave(requestId)) {
        this.#putOff(waiter);
        continue;
      }
      this.#grant(waiter, nowMs);
      const fast = requestId === arrivedId && !waiter.returning;
      grants.push({
        requestId,
        admission: fast ? "fast" : "queued",
        queueWaitMs: fast ? 0 : Math.max(0, nowMs - waiter.arrivedMs),
      });
    }
    if (this.#running.size === 0 && this.#queues.size === 0) this.#known.busyPeriod.count += 1;
    this.#dispatchLines(grants, nowMs);
    return grants;
  }

  /** Slots that no waiting request could use go to lines of batches; the slots that these take give no request more room. */
  #dispatchLines(grants: SchedulerGrant[], nowMs: number): void {
    const mayHave = !this.#held && this.#lines.queued > 0 && !onlyHeadroomIsFree(this);
    if (!mayHave || this.#queues.couldUseSlot(this.#known.models())) return;
    while (!onlyHeadroomIsFree(this)) {
      const line = this.#lines.next();
      if (line === undefined) return;
      const { requestId } = line.arrival;
      this.#lines.leave(requestId);
      if (!this.#grantCheck.mayHave(requestId)) {
        this.#deferred.push(requestId);
        continue;
      }
      this.#holdLine(line, nowMs);
      grants.push({ requestId, admission: "batch", queueWaitMs: Math.max(0, nowMs - line.arrivedMs) });
    }
  }

  #holdLine(line: BatchLine, nowMs: number): void {
    const { tenant, model } = line;
    this.#lines.hold(line);
    tenant.lastActiveMs = nowMs;
    this.#policy.place(tenant);
    this.#values.noteFull(model);
  }

  /** False: no line of a batch holds a slot under this id. */
  #releaseLine(requestId: string, nowMs: number): boolean {
    const line = this.#lines.release(requestId);
    if (line === undefined) return false;
    const { tenant, model } = line;
    tenant.lastActiveMs = nowMs;
    if (slotsLeft(tenant) === 1 && tenant.queued > 0) this.#policy.resume(tenant, { model, tokens: 0 });
    this.#policy.place(tenant);
    return true;
  }

  /**
   * Defers a request at its turn; the slot goes to the next one. At most as many requests of a tenant are checked again at once
   * as it could have slots for this model: so they come back in order, and a long queue is never deferred all at once. Requests
   * of a silent isolate do not count: they would keep their tenant's other requests from free slots until it reports again.
   */
  #putOff(waiter: Waiter): void {
    const { tenant, model } = waiter;
    const unheard = this.#isUnheard(waiter);
    const couldHave = Math.min(this.#free, slotsLeft(tenant), slotsLeft(model));
    if (!unheard && tenant.deferred >= couldHave) tenant.passedOver = true;
    else {
      this.#queues.defer(waiter, unheard);
      this.#deferred.push(waiter.arrival.requestId);
    }
    this.#policy.place(tenant);
  }

  #arrive(arrival: Arrival, waitedMs: number | null, nowMs: number): void {
    const { requestId } = arrival;
    if (this.#queues.waiting(requestId) !== undefined || this.#running.has(requestId)) return;
    if (this.#lines.isWaiting(requestId) || this.#lines.isRunning(requestId)) return;
    this.#sweep(nowMs);
    const { tenant, model } = this.#values.resolveArrival(arrival, nowMs);
    if (arrival.batch === true) {
      this.#lines.wait({ arrival, arrivedMs: nowMs - (waitedMs ?? 0), tenant, model });
      return;
    }
    const before = this.#queues.deferred(requestId);
    // A request that comes back has been waiting all the time: it is not a new start.
    if (before === undefined) this.#policy.start(tenant, model);
    const arrivedMs = before?.arrivedMs ?? nowMs - (waitedMs ?? 0);
    const order = before?.order ?? this.#orderOf(arrivedMs);
    const returning = before !== undefined || waitedMs !== null;
    // Field by field: V8 keeps an object that is made by a spread and further fields in a slow form.
    this.#queues.add({ arrival, arrivedMs, order, returning, tenant, model });
    this.#policy.place(tenant);
    this.#values.noteFull(model);
  }

  /** The place of a new arrival. One that waited before a reset of the Cell is before all that came since, the oldest first. */
  #orderOf(arrivedMs: number): number {
    const position = this.#known.order();
    const sinceBeganMs = arrivedMs - (this.#beganMs ?? arrivedMs);
    return sinceBeganMs < 0 ? sinceBeganMs + position * 1e-6 : position;
  }

  #sweep(nowMs: number): void {
    const forgiven = (tenant: TenantState): boolean => this.#policy.canForget(tenant);
    for (const tenant of this.#known.sweep(nowMs - RECENT_MS, forgiven)) this.#policy.forget(tenant);
  }

  #leave(requestId: string, nowMs: number): void {
    if (this.#lines.leave(requestId)) return;
    const waiter = this.#queues.waiting(requestId) ?? this.#queues.deferred(requestId);
    if (waiter === undefined) return;
    this.#queues.remove(waiter);
    waiter.tenant.lastActiveMs = nowMs;
    this.#policy.place(waiter.tenant);
  }

  #grant(waiter: Waiter, nowMs: number): void {
    const bottleneck = bottleneckOf(waiter.model);
    const scores = this.#policy.scores(waiter);
    this.#queues.remove(waiter);
    this.#hold(waiter, bottleneck, nowMs);
    this.#policy.advance(waiter.tenant, bottleneck, scores);
  }

  #adopt(arrival: Arrival, nowMs: number): void {
    if (this.#running.has(arrival.requestId) || this.#lines.isRunning(arrival.requestId)) return;
    const met = this.#values.resolveAdopted(arrival, nowMs);
    if (arrival.batch === true) {
      this.#holdLine({ arrival, arrivedMs: nowMs, ...met }, nowMs);
      return;
    }
    this.#hold(this.#atOnce(arrival, met, nowMs), bottleneckOf(met.model), nowMs);
  }

  /** The record of a request that gets its slot without having waited here. */
  #atOnce(arrival: Arrival, met: ArrivalState, nowMs: number): Waiter {
    const { tenant, model } = met;
    return { arrival, arrivedMs: nowMs, order: this.#known.order(), returning: false, tenant, model };
  }

  #hold(waiter: Waiter, bottleneck: Bottleneck, nowMs: number): void {
    const { tenant, model } = waiter;
    const { group } = tenant;
    const everywhere = this.inFlight + 1 >= this.#maxInFlight;
    const charge = this.#running.put(waiter, { at: this.#known.order(), bottleneck, everywhere });
    this.#policy.charge(tenant, group, charge);
    tenant.lastActiveMs = nowMs;
    group.lastActiveMs = nowMs;
    this.#policy.place(tenant);
    this.#values.noteFull(model);
  }

  #release(requestId: string, actualTokens: number, nowMs: number): void {
    if (this.#releaseLine(requestId, nowMs)) return;
    const running = this.#running.get(requestId);
    if (running === undefined) return;
    this.#endRunning(running, actualTokens);
    running.waiter.tenant.lastActiveMs = nowMs;
    running.group.lastActiveMs = nowMs;
    this.#placeAfter(running);
  }

  #defer(requestId: string, nowMs: number): void {
    // A line has no place to keep: it waits from now on when it is back.
    if (this.#releaseLine(requestId, nowMs)) return;
    const running = this.#running.get(requestId);
    if (running === undefined) return;
    this.#endRunning(running, 0);
    this.#queues.defer({ ...running.waiter, returning: true }, this.#isUnheard(running.waiter));
    this.#placeAfter(running);
  }

  #unheard(requestId: string): void {
    const waiter = this.#queues.deferred(requestId);
    if (waiter === undefined) return;
    this.#queues.discount(requestId);
    this.#policy.place(waiter.tenant);
  }

  #isUnheard({ arrival }: Waiter): boolean {
    return this.#grantCheck.isUnheard?.(arrival.requestId) === true;
  }

  #endRunning(running: Running, actualTokens: number): void {
    const { waiter, group, charge } = running;
    const { tenant, model } = waiter;
    const wasFull = !hasRoom(tenant);
    this.#running.remove(running, actualTokens);
    this.#policy.correct(tenant, group, charge, actualTokens - charge.tokens);
    // At most its real use: the estimate of a request that used nothing gives no credit.
    const tokens = Math.min(charge.tokens, actualTokens);
    if (wasFull && tenant.queued > 0) this.#policy.resume(tenant, { model, tokens });
  }

  #placeAfter({ waiter: { tenant }, group }: Running): void {
    this.#policy.place(tenant);
    if (group !== tenant.group) this.#policy.placeGroup(group);
  }
}
