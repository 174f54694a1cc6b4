/**
 * Runs a scenario through the scheduler as a discrete-event simulation: no clock, no chance but the seed's. Every second
 * of simulated time is one window with what each tenant held and was served, and what it was entitled to.
 */
import { IndexedHeap } from "../../edge/domain/fairshare/indexed-heap.ts";
import { createScheduler } from "../../edge/domain/fairshare/scheduler.ts";
import type { Arrival, SchedulerEvent, SchedulerGrant, SchedulerSnapshot } from "../../edge/domain/fairshare/types.ts";
import { seededRandom } from "./random.ts";
import type { Scenario, TenantPlan } from "./scenarios.ts";

export const WINDOW_MS = 1000;

/** One second, by tenant id. */
export interface Window {
  readonly endMs: number;
  /** Slot-milliseconds held. */
  readonly held: ReadonlyMap<string, number>;
  /** Tokens of requests granted. */
  readonly tokens: ReadonlyMap<string, number>;
  /** Share of the whole that the tenant was entitled to at the end of the window; absent when it was idle. */
  readonly entitled: ReadonlyMap<string, number>;
  /** Groups in which somebody waits at the end of the window. */
  readonly waiting: ReadonlySet<string>;
}

export interface Run {
  readonly windows: readonly Window[];
  /** Queue waits of granted requests in milliseconds, by tenant id. */
  readonly waits: ReadonlyMap<string, readonly number[]>;
  readonly leftQueued: number;
}

interface Happening {
  readonly atMs: number;
  readonly order: number;
  readonly event: SchedulerEvent | { readonly type: "start"; readonly plan: TenantPlan };
}

interface Asked {
  readonly plan: TenantPlan;
  readonly arrival: Arrival;
  readonly serviceMs: number;
}

/** The whole run of a scenario with a seed. */
export function runScenario(scenario: Scenario, seed: number): Run {
  const random = seededRandom(seed);
  const scheduler = createScheduler({ algorithm: scenario.algorithm, maxInFlight: scenario.slots });
  const agenda = new IndexedHeap<Happening>((a, b) => a.atMs - b.atMs || a.order - b.order);
  const asked = new Map<string, Asked>();
  const inFlight = new Map<string, number>();
  const waits = new Map<string, number[]>(scenario.tenants.map((plan) => [plan.id, []]));
  const windows: Window[] = [];
  let held = new Map<string, number>();
  let tokens = new Map<string, number>();
  let nowMs = 0;
  let made = 0;

  const plan = (atMs: number, event: Happening["event"]): void => {
    made += 1;
    agenda.put({ atMs, order: made, event });
  };
  const ask = (who: TenantPlan, atMs: number): void => {
    const requestId = `${who.id}/${made}`;
    const arrival: Arrival = {
      requestId,
      tenant: { id: who.id, name: who.id, weight: who.weight, maxInFlight: null },
      group: { name: who.group, weight: who.groupWeight },
      model: { name: "model", admissionWeight: 100, maxInFlight: null },
      costTokens: random.between(...who.tokens),
    };
    asked.set(requestId, { plan: who, arrival, serviceMs: random.between(...who.serviceMs) });
    plan(atMs, { type: "arrive", arrival });
  };
  const start = (who: TenantPlan): void => {
    if (who.source.kind === "stream") ask(who, nowMs + random.gap(1000 / who.source.perSecond));
    else {
      const count = who.source.kind === "backlog" ? who.source.depth : who.source.requests;
      for (let at = 0; at < count; at += 1) ask(who, nowMs);
      if (who.source.kind === "visits") plan(nowMs + who.source.everyMs, { type: "start", plan: who });
    }
  };
  const granted = (grant: SchedulerGrant): void => {
    const request = asked.get(grant.requestId);
    if (request === undefined) return;
    const { id } = request.plan;
    const { costTokens } = request.arrival;
    add(inFlight, id, 1);
    add(tokens, id, costTokens);
    waits.get(id)?.push(grant.queueWaitMs);
    plan(nowMs + request.serviceMs, { type: "release", requestId: grant.requestId, actualTokens: costTokens });
  };
  const released = (requestId: string): void => {
    const request = asked.get(requestId);
    if (request === undefined) return;
    asked.delete(requestId);
    add(inFlight, request.plan.id, -1);
    if (request.plan.source.kind === "backlog") ask(request.plan, nowMs);
  };
  const passTo = (atMs: number): void => {
    while (nowMs < atMs) {
      const borderMs = (windows.length + 1) * WINDOW_MS;
      const untilMs = Math.min(atMs, borderMs);
      for (const [id, slots] of inFlight) add(held, id, slots * (untilMs - nowMs));
      nowMs = untilMs;
      if (nowMs < borderMs) continue;
      const snapshot = scheduler.snapshot(nowMs);
      const waiting = new Set(snapshot.groups.filter((group) => group.queued > 0).map((group) => group.name));
      windows.push({ endMs: nowMs, held, tokens, entitled: entitlements(snapshot), waiting });
      held = new Map();
      tokens = new Map();
    }
  };

  for (const who of scenario.tenants) plan(who.startMs, { type: "start", plan: who });
  for (let next = agenda.peek(); next !== undefined && next.atMs <= scenario.endMs; next = agenda.peek()) {
    agenda.remove(next);
    passTo(next.atMs);
    if (next.event.type === "start") {
      start(next.event.plan);
      continue;
    }
    if (next.event.type === "arrive") {
      const who = asked.get(next.event.arrival.requestId)?.plan;
      if (who?.source.kind === "stream") ask(who, nowMs + random.gap(1000 / who.source.perSecond));
    }
    if (next.event.type === "release") released(next.event.requestId);
    for (const grant of scheduler.apply(next.event, nowMs)) granted(grant);
  }
  passTo(scenario.endMs);
  return { windows, waits, leftQueued: scheduler.queued };
}

/**
 * By weight in weighted mode; in hierarchical mode the group's slot cap, split by weight among its active tenants. Groups of
 * one weight take turns at a slot that cannot be divided among them, and are entitled to the same.
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

function add(totals: Map<string, number>, id: string, amount: number): void {
  totals.set(id, (totals.get(id) ?? 0) + amount);
}
