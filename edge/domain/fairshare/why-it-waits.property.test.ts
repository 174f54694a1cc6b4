/**
 * The reason that a queue is shown with is true (docs/rules/fairshare.md#why-a-request-waits): on random traces, each
 * reason is held to the counts of the trace, and is lifted on a scheduler that has the same past.
 *
 * @module-tag check
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { FairshareAlgorithm } from "../../../shared/fairshare/entitled-slots.ts";
import type { WaitingQueue } from "../../../shared/schema/load.ts";
import { createScheduler } from "./scheduler.ts";
import type { Arrival, Scheduler, SchedulerEvent } from "./types.ts";

const TENANT_CAPS = [1, null, 3, null, null, 2] as const;
const MODEL_CAPS = [null, 1, 2] as const;
const MUCH = 1e12;

function arrivalOf(requestId: string, tenant: number, model: number, costTokens: number): Arrival {
  return {
    requestId,
    tenant: {
      id: `t${tenant}`,
      name: `t${tenant}`,
      weight: 50 * (tenant + 1),
      maxInFlight: TENANT_CAPS[tenant] ?? null,
    },
    group: { name: `g${tenant % 3}`, weight: [100, 100, 700][tenant % 3] ?? 1 },
    model: { name: `m${model}`, admissionWeight: [100, 100, 300][model] ?? 1, maxInFlight: MODEL_CAPS[model] ?? null },
    costTokens,
  };
}

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("arrive" as const),
      tenant: fc.nat(5),
      model: fc.nat(2),
      cost: fc.integer({ min: 1, max: 500 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("release" as const), pick: fc.nat(), actual: fc.nat(600) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("leave" as const), pick: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("capacity" as const), max: fc.integer({ min: 1, max: 8 }) }) },
);

/** One scheduler, with everything that happened to it, so that another with the same past can be made. */
class Trace {
  readonly #algorithm: FairshareAlgorithm;
  readonly #past: SchedulerEvent[] = [];
  readonly scheduler: Scheduler;
  readonly waiting = new Map<string, Arrival>();
  readonly running = new Map<string, Arrival>();
  slots = 4;

  constructor(algorithm: FairshareAlgorithm) {
    this.#algorithm = algorithm;
    this.scheduler = createScheduler({ algorithm, maxInFlight: this.slots });
  }

  apply(event: SchedulerEvent): void {
    if (event.type === "arrive") this.waiting.set(event.arrival.requestId, event.arrival);
    if (event.type === "leave") this.waiting.delete(event.requestId);
    if (event.type === "release") this.running.delete(event.requestId);
    for (const { requestId } of this.scheduler.apply(event, this.#past.length)) {
      this.running.set(requestId, this.waiting.get(requestId) as Arrival);
      this.waiting.delete(requestId);
    }
    this.#past.push(event);
  }

  /** What the same queue waits for after these events; null: none of its requests waits any more. */
  after(queue: WaitingQueue, events: readonly SchedulerEvent[]): string | null {
    const other = createScheduler({ algorithm: this.#algorithm, maxInFlight: 4 });
    for (const [at, event] of [...this.#past, ...events].entries()) other.apply(event, at);
    return other.waiting(0).find((found) => isSame(found, queue))?.reason ?? null;
  }

  holding(matches: (arrival: Arrival) => boolean): number {
    return [...this.running.values()].filter(matches).length;
  }

  leaving(matches: (arrival: Arrival) => boolean): readonly SchedulerEvent[] {
    const ids = [...this.waiting].flatMap(([requestId, arrival]) => (matches(arrival) ? [requestId] : []));
    return ids.map((requestId) => ({ type: "leave", requestId }));
  }
}

const isSame = (a: WaitingQueue, b: WaitingQueue): boolean => a.tenant_id === b.tenant_id && a.model === b.model;

function play(
  algorithm: FairshareAlgorithm,
  steps: readonly (typeof step extends fc.Arbitrary<infer S> ? S : never)[],
) {
  const trace = new Trace(algorithm);
  const pickOf = (set: ReadonlyMap<string, Arrival>, pick: number): string | undefined =>
    [...set.keys()][pick % Math.max(set.size, 1)];
  for (const [at, event] of steps.entries()) {
    if (event.kind === "arrive")
      trace.apply({ type: "arrive", arrival: arrivalOf(`r${at}`, event.tenant, event.model, event.cost) });
    else if (event.kind === "capacity") {
      trace.slots = event.max;
      trace.apply({ type: "capacity", maxInFlight: event.max });
    } else {
      const requestId = pickOf(event.kind === "release" ? trace.running : trace.waiting, event.pick);
      if (requestId === undefined) continue;
      if (event.kind === "release") trace.apply({ type: "release", requestId, actualTokens: event.actual });
      else trace.apply({ type: "leave", requestId });
    }
  }
  return trace;
}

describe.each(["weighted", "hierarchical"] as const)("why a queue waits (%s)", (algorithm) => {
  const traces = fc.array(step, { maxLength: 60, size: "max" });

  it("is shown once for each waiting request, and changes nothing", () => {
    fc.assert(
      fc.property(traces, fc.array(step, { maxLength: 20 }), (steps, later) => {
        const seen = play(algorithm, steps);
        const rows = seen.scheduler.waiting(1e6);
        expect(new Set(rows.map(({ tenant_id, model }) => `${tenant_id} ${model}`)).size).toBe(rows.length);
        for (const row of rows) {
          const own = [...seen.waiting.values()].filter(
            ({ tenant, model }) => tenant.id === row.tenant_id && model.name === row.model,
          );
          expect(row.queued).toBe(own.length);
        }
        expect(rows.reduce((sum, { queued }) => sum + queued, 0)).toBe(seen.waiting.size);
        // The same trace continues in the same way, whether or not somebody looked.
        const [looked, unseen] = [new Trace(algorithm), new Trace(algorithm)];
        for (const [at, { kind, ...rest }] of [...steps, ...later].entries()) {
          looked.scheduler.waiting(at);
          const id = (set: ReadonlyMap<string, Arrival>) =>
            [...set.keys()][("pick" in rest ? rest.pick : 0) % Math.max(set.size, 1)];
          for (const trace of [looked, unseen]) {
            if (kind === "arrive" && "tenant" in rest)
              trace.apply({ type: "arrive", arrival: arrivalOf(`r${at}`, rest.tenant, rest.model, rest.cost) });
            const running = id(trace.running);
            if (kind === "release" && running !== undefined)
              trace.apply({ type: "release", requestId: running, actualTokens: 10 });
          }
          expect([...looked.running.keys()]).toEqual([...unseen.running.keys()]);
        }
      }),
      { numRuns: 60 },
    );
  });

  it("names a limit that is full now; lifting it frees the queue or leaves another limit", () => {
    fc.assert(
      fc.property(traces, (steps) => {
        const trace = play(algorithm, steps);
        const isFull = trace.running.size >= trace.slots;
        for (const queue of trace.scheduler.waiting(1e6)) {
          const ofTenant = ({ tenant }: Arrival): boolean => tenant.id === queue.tenant_id;
          const ofModel = ({ model }: Arrival): boolean => model.name === queue.model;
          const tenantCap = TENANT_CAPS[Number(queue.tenant_id.slice(1))] ?? null;
          const modelCap = MODEL_CAPS[Number(queue.model.slice(1))] ?? null;
          const tenantIsFull = tenantCap !== null && trace.holding(ofTenant) >= tenantCap;
          const modelIsFull = modelCap !== null && trace.holding(ofModel) >= modelCap;
          expect(queue.reason === "tenant_cap").toBe(tenantIsFull);
          expect(queue.reason === "model_cap").toBe(!tenantIsFull && modelIsFull);
          const lifted = {
            tenant_cap: [{ type: "tenant", id: queue.tenant_id, maxInFlight: null }],
            model_cap: [{ type: "model", name: queue.model, maxInFlight: null }],
            cell_full: [{ type: "capacity", maxInFlight: 1000 }],
            headroom: [],
            group_share: [{ type: "group", name: queue.group, weight: MUCH }],
            tenant_share: [{ type: "tenant", id: queue.tenant_id, weight: MUCH }],
            budget: [],
          } satisfies Record<WaitingQueue["reason"], readonly SchedulerEvent[]>;
          // In weighted mode a new weight keeps earlier service settled, so the lead counts.
          if (queue.reason !== "tenant_share" || algorithm === "hierarchical")
            expect(trace.after(queue, lifted[queue.reason])).not.toBe(queue.reason);
          if (tenantIsFull || modelIsFull) continue;
          expect(isFull).toBe(true);
          const { group } = queue;
          if (queue.reason === "group_share")
            expect(
              trace.after(
                queue,
                trace.leaving((other) => other.group.name !== group),
              ),
            ).not.toBe("group_share");
          if (queue.reason === "tenant_share") {
            const rivals = trace.leaving(
              (other) => !ofTenant(other) && (algorithm === "weighted" || other.group.name === group),
            );
            expect(trace.after(queue, rivals)).not.toBe("tenant_share");
          }
        }
      }),
      { numRuns: 150 },
    );
  });
});

describe("the reason", () => {
  const scheduler = (slots: number, arrivals: readonly Arrival[]): Scheduler => {
    const made = createScheduler({ algorithm: "hierarchical", maxInFlight: slots });
    for (const [at, arrival] of arrivals.entries()) made.apply({ type: "arrive", arrival }, at);
    return made;
  };
  const request = (id: string, tenant: string, group = "g", groupWeight = 100): Arrival => ({
    requestId: id,
    tenant: { id: tenant, name: `name of ${tenant}`, weight: 100, maxInFlight: null },
    group: { name: group, weight: groupWeight },
    model: { name: "m", admissionWeight: 100, maxInFlight: null },
    costTokens: 10,
  });
  const many = (count: number, tenant: string, group?: string): readonly Arrival[] =>
    Array.from({ length: count }, (_, at) => request(`${tenant}${at}`, tenant, group));

  it("is the group's share for a borrower of slots, and the full cell for those who wait", () => {
    const rows = scheduler(4, [...many(6, "a", "A"), ...many(2, "b", "B")]).waiting(1_000);
    expect(rows).toEqual([
      {
        tenant_id: "a",
        tenant: "name of a",
        group: "A",
        model: "m",
        queued: 2,
        oldest_wait_ms: 996,
        reason: "group_share",
      },
      {
        tenant_id: "b",
        tenant: "name of b",
        group: "B",
        model: "m",
        queued: 2,
        oldest_wait_ms: 994,
        reason: "cell_full",
      },
    ]);
  });

  it("is the full cell while nobody else wants the slots", () => {
    expect(
      scheduler(2, many(3, "a"))
        .waiting(0)
        .map(({ reason }) => reason),
    ).toEqual(["cell_full"]);
  });

  it("is empty while grants are held back: its turn has come", () => {
    const held = createScheduler({ algorithm: "hierarchical", maxInFlight: 1 });
    held.apply({ type: "hold", on: true }, 0);
    held.apply({ type: "arrive", arrival: request("a0", "a") }, 0);
    expect(held.waiting(0)).toEqual([]);
  });
});
