/**
 * Runs a scenario through the scheduler as a discrete-event simulation: it reads no clock, and all randomness comes from
 * the seed. Every second of simulated time is one window, with what each tenant held, was served and was entitled to.
 */
import { createScheduler } from "../../edge/domain/fairshare/scheduler.ts";
import type {
  Arrival,
  Scheduler,
  SchedulerEvent,
  SchedulerGrant,
  SchedulerSnapshot,
} from "../../edge/domain/fairshare/types.ts";
import { IndexedHeap } from "../../shared/fairshare/indexed-heap.ts";
import { type Random, seededRandom } from "./random.ts";
import type { Range, Scenario, TenantPlan } from "./scenarios.ts";

export const WINDOW_MS = 1000;
/** The model of requests that name none. */
const MODEL = "model";

/** One second of a run; the maps are by tenant id. */
export interface Window {
  readonly endMs: number;
  /** Milliseconds for which slots were held, summed over the slots. */
  readonly held: ReadonlyMap<string, number>;
  /** Tokens that the granted requests use. */
  readonly tokens: ReadonlyMap<string, number>;
  /** The share of the whole that the tenant was entitled to at the end of the window; absent when the tenant was idle. */
  readonly entitled: ReadonlyMap<string, number>;
  /** Groups with a waiting request at the end of the window. */
  readonly waiting: ReadonlySet<string>;
}

export interface ShareRun {
  readonly windows: readonly Window[];
  /** Queue waits of granted requests in milliseconds, by tenant id. */
  readonly waits: ReadonlyMap<string, readonly number[]>;
  /** How long the oldest request that still waits at the end has waited, by tenant id; absent when none waits. */
  readonly stillWaitingMs: ReadonlyMap<string, number>;
  readonly leftQueued: number;
}

type Step =
  | SchedulerEvent
  /** A source starts, starts again, or continues after its first part. */
  | { readonly type: "start" | "flood"; readonly plan: TenantPlan }
  | { readonly type: "stop"; readonly plan: TenantPlan };

interface Happening {
  readonly atMs: number;
  readonly order: number;
  readonly step: Step;
}

interface SimulatedRequest {
  readonly plan: TenantPlan;
  readonly model: string;
  readonly serviceMs: number;
  readonly actualTokens: number;
  /** Whether another request replaces it when it ends. */
  readonly renewed: boolean;
  arrivedMs: number;
  granted: boolean;
}

/** Runs a scenario to its end with a seed. */
export function runScenario(scenario: Scenario, seed: number): ShareRun {
  return new Simulation(scenario, seed).run();
}

class Simulation {
  readonly #scenario: Scenario;
  readonly #random: Random;
  readonly #scheduler: Scheduler;
  readonly #agenda = new IndexedHeap<Happening>((a, b) => a.atMs - b.atMs || a.order - b.order);
  readonly #requests = new Map<string, SimulatedRequest>();
  readonly #inFlight = new Map<string, number>();
  readonly #waits: Map<string, number[]>;
  readonly #away = new Set<TenantPlan>();
  readonly #windows: Window[] = [];
  #held = new Map<string, number>();
  #tokens = new Map<string, number>();
  #nowMs = 0;
  #made = 0;

  constructor(scenario: Scenario, seed: number) {
    this.#scenario = scenario;
    this.#random = seededRandom(seed);
    const { algorithm, slots, headroom = 0 } = scenario;
    this.#scheduler = createScheduler({ algorithm, maxInFlight: slots, headroom });
    this.#waits = new Map(scenario.tenants.map((plan) => [plan.id, []]));
  }

  run(): ShareRun {
    const { tenants, endMs } = this.#scenario;
    for (const plan of tenants) this.#plan(plan.startMs, { type: "start", plan });
    for (let next = this.#agenda.peek(); next !== undefined && next.atMs <= endMs; next = this.#agenda.peek()) {
      this.#agenda.remove(next);
      this.#passTo(next.atMs);
      this.#take(next.step);
    }
    this.#passTo(endMs);
    const stillWaitingMs = new Map<string, number>();
    for (const { plan, arrivedMs, granted } of this.#requests.values())
      if (!granted && arrivedMs <= endMs)
        stillWaitingMs.set(plan.id, Math.max(stillWaitingMs.get(plan.id) ?? 0, endMs - arrivedMs));
    return { windows: this.#windows, waits: this.#waits, stillWaitingMs, leftQueued: this.#scheduler.queued };
  }

  #take(step: Step): void {
    switch (step.type) {
      case "start":
        this.#away.delete(step.plan);
        this.#start(step.plan);
        return;
      case "flood":
        this.#arriveForEachModel(step.plan, step.plan.source.kind === "held" ? step.plan.source.depth : 0);
        return;
      case "stop":
        this.#stop(step.plan);
        return;
      case "arrive": {
        const request = this.#requests.get(step.arrival.requestId);
        if (request === undefined) return;
        const { source } = request.plan;
        if (source.kind === "stream")
          this.#planArrival(request.plan, request.model, this.#random.gap(1000 / source.perSecond));
        break;
      }
      case "release":
        this.#released(step.requestId);
        break;
      case "leave":
        if (this.#requests.get(step.requestId)?.granted === false) this.#ended(step.requestId);
        break;
      default:
    }
    for (const grant of this.#scheduler.apply(step, this.#nowMs)) this.#granted(grant);
  }

  #start(plan: TenantPlan): void {
    const { source } = plan;
    switch (source.kind) {
      case "stream":
        for (const model of modelsOf(plan)) this.#planArrival(plan, model, this.#random.gap(1000 / source.perSecond));
        return;
      case "backlog":
        this.#arriveForEachModel(plan, source.depth);
        return;
      case "burst":
        this.#arriveForEachModel(plan, source.requests);
        return;
      case "visits":
        this.#arriveForEachModel(plan, source.requests);
        this.#plan(this.#nowMs + source.everyMs, { type: "start", plan });
        return;
      case "trickle":
        this.#arriveForEachModel(plan, 1);
        return;
      case "comeback":
        this.#arriveForEachModel(plan, source.depth);
        this.#plan(this.#nowMs + source.onMs, { type: "stop", plan });
        return;
      case "held":
        for (let at = 0; at < source.requests; at += 1)
          this.#planArrival(plan, modelsOf(plan)[0] ?? MODEL, 0, 2 * source.holdMs);
        this.#plan(this.#nowMs + source.holdMs, { type: "flood", plan });
        return;
      default:
        source satisfies never;
    }
  }

  /** A tenant leaves and takes its waiting requests with it; its granted requests continue to their end. */
  #stop(plan: TenantPlan): void {
    this.#away.add(plan);
    for (const [requestId, request] of this.#requests) {
      if (request.plan !== plan || request.granted) continue;
      this.#requests.delete(requestId);
      for (const grant of this.#scheduler.apply({ type: "leave", requestId }, this.#nowMs)) this.#granted(grant);
    }
    if (plan.source.kind === "comeback") this.#plan(this.#nowMs + plan.source.offMs, { type: "start", plan });
  }

  #arriveForEachModel(plan: TenantPlan, requests: number): void {
    for (const model of modelsOf(plan)) for (let at = 0; at < requests; at += 1) this.#planArrival(plan, model, 0);
  }

  /**
   * Plans the arrival of a request. `openMs`: how long the request stays open while it uses next to nothing; null: it is
   * like the others.
   */
  #planArrival(plan: TenantPlan, model: string, inMs: number, openMs: number | null = null): void {
    const requestId = `${plan.id}/${this.#made}`;
    const tokens = this.#draw(plan, plan.tokens);
    const [low, high] = plan.estimate ?? [1, 1];
    const usual = Math.max(1, Math.round(tokens * (low + (high - low) * this.#random.next())));
    const cancelled = this.#random.next() < (plan.cancelled ?? 0);
    const oversized = plan.oversized !== undefined && this.#random.next() < plan.oversized.share;
    const arrival: Arrival = {
      requestId,
      tenant: { id: plan.tenant ?? plan.id, name: plan.id, weight: plan.weight, maxInFlight: plan.maxInFlight ?? null },
      group: { name: plan.group, weight: plan.groupWeight },
      model: {
        name: model,
        admissionWeight: this.#scenario.admissionWeights?.[model] ?? 100,
        maxInFlight: this.#scenario.models?.[model] ?? null,
      },
      costTokens: oversized ? (plan.oversized?.estimate ?? usual) : usual,
      batch: plan.batch,
    };
    const serviceMs = openMs ?? (cancelled ? 1 : this.#draw(plan, plan.serviceMs));
    const actualTokens = openMs !== null ? 1 : cancelled || oversized ? 0 : tokens;
    const arrivedMs = this.#nowMs + inMs;
    this.#requests.set(requestId, {
      plan,
      model,
      serviceMs,
      actualTokens,
      renewed: openMs === null,
      arrivedMs,
      granted: false,
    });
    this.#plan(arrivedMs, { type: "arrive", arrival });
    if (plan.leavesAfterMs !== undefined) this.#plan(arrivedMs + plan.leavesAfterMs, { type: "leave", requestId });
  }

  #draw({ tail }: TenantPlan, range: Range): number {
    if (tail === undefined) return this.#random.between(...range);
    return Math.max(1, Math.round(this.#random.heavy((range[0] + range[1]) / 2, tail)));
  }

  #granted(grant: SchedulerGrant): void {
    const request = this.#requests.get(grant.requestId);
    if (request === undefined) return;
    const { plan, serviceMs, actualTokens } = request;
    request.granted = true;
    add(this.#inFlight, plan.id, 1);
    add(this.#tokens, plan.id, actualTokens);
    this.#waits.get(plan.id)?.push(grant.queueWaitMs);
    this.#plan(this.#nowMs + serviceMs, { type: "release", requestId: grant.requestId, actualTokens });
  }

  #released(requestId: string): void {
    const request = this.#requests.get(requestId);
    if (request === undefined) return;
    add(this.#inFlight, request.plan.id, -1);
    this.#ended(requestId);
  }

  #ended(requestId: string): void {
    const request = this.#requests.get(requestId);
    if (request === undefined) return;
    const { plan, model, renewed } = request;
    this.#requests.delete(requestId);
    const { source } = plan;
    if (!renewed || this.#away.has(plan)) return;
    if (source.kind === "trickle") this.#planArrival(plan, model, source.pauseMs);
    else if (source.kind === "backlog" || source.kind === "comeback" || source.kind === "held")
      this.#planArrival(plan, model, 0);
  }

  #plan(atMs: number, step: Step): void {
    this.#made += 1;
    this.#agenda.put({ atMs, order: this.#made, step });
  }

  #passTo(atMs: number): void {
    while (this.#nowMs < atMs) {
      const borderMs = (this.#windows.length + 1) * WINDOW_MS;
      const untilMs = Math.min(atMs, borderMs);
      for (const [id, slots] of this.#inFlight) add(this.#held, id, slots * (untilMs - this.#nowMs));
      this.#nowMs = untilMs;
      if (this.#nowMs < borderMs) continue;
      const snapshot = this.#scheduler.snapshot(this.#nowMs);
      const waiting = new Set(snapshot.groups.filter((group) => group.queued > 0).map((group) => group.name));
      const { tokens, held } = this.#totals();
      this.#windows.push({ endMs: this.#nowMs, held, tokens, entitled: entitlements(snapshot), waiting });
    }
  }

  #totals(): Pick<Window, "held" | "tokens"> {
    const totals = { held: this.#held, tokens: this.#tokens };
    this.#held = new Map();
    this.#tokens = new Map();
    return totals;
  }
}

function modelsOf(plan: TenantPlan): readonly string[] {
  return plan.models ?? [MODEL];
}

function add(totals: Map<string, number>, id: string, amount: number): void {
  totals.set(id, (totals.get(id) ?? 0) + amount);
}

/**
 * In weighted mode a share by weight; in hierarchical mode the group's slot cap, split by weight among its active tenants.
 * Groups of equal weight take turns at a slot that cannot be divided among them, so they are entitled to the same.
 */
function entitlements(snapshot: SchedulerSnapshot): ReadonlyMap<string, number> {
  const groups = new Map(snapshot.groups.map((group) => [group.name, group]));
  const slotsOf = (weight: number): number => {
    const equals = snapshot.groups.filter((group) => group.weight === weight && group.inFlight + group.queued > 0);
    return equals.reduce((sum, group) => sum + group.slotCap, 0) / equals.length;
  };
  const active = snapshot.tenants.filter((tenant) => tenant.inFlight > 0 || tenant.queued > 0);
  return new Map(
    active.map((tenant) => {
      const group = groups.get(tenant.fairshareGroup);
      if (snapshot.algorithm === "weighted" || group === undefined) return [tenant.tenantId, tenant.weightShare];
      const withinGroup = group.weightShare > 0 ? tenant.weightShare / group.weightShare : 0;
      return [tenant.tenantId, (withinGroup * slotsOf(group.weight)) / snapshot.maxInFlight];
    }),
  );
}
