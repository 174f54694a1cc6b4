/**
 * Laws of the scheduler on random traces (docs/rules/fairshare.md#required-behaviour): caps, work conservation, shares,
 * no starvation, no banked credit.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { FairshareAlgorithm } from "../../../shared/fairshare/entitled-slots.ts";
import { propertyRuns } from "../../../test/harness/property-runs.ts";
import { createScheduler } from "./scheduler.ts";
import type { Arrival, Scheduler, SchedulerGrant } from "./types.ts";

const ALGORITHMS = ["weighted", "hierarchical"] as const;

interface TenantSpec {
  readonly id: string;
  readonly weight: number;
  readonly group: string;
  readonly groupWeight: number;
  readonly cap: number | null;
}

function arrivalOf(id: string, tenant: TenantSpec, model: string, modelCap: number | null, cost: number): Arrival {
  return {
    requestId: id,
    tenant: { id: tenant.id, name: tenant.id, weight: tenant.weight, maxInFlight: tenant.cap },
    group: { name: tenant.group, weight: tenant.groupWeight },
    model: { name: model, admissionWeight: 100, maxInFlight: modelCap },
    costTokens: cost,
  };
}

describe.each(ALGORITHMS)("any trace (%s)", (algorithm) => {
  const tenant = fc.nat(5);
  const step = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant("arrive" as const),
        tenant,
        model: fc.nat(2),
        cost: fc.integer({ min: 1, max: 500 }),
      }),
    },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("release" as const), pick: fc.nat(), actual: fc.nat(600) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("leave" as const), pick: fc.nat() }) },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant("capacity" as const), max: fc.integer({ min: 1, max: 6 }) }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant("move" as const),
        model: fc.nat(2),
        cap: fc.integer({ min: 1, max: 6 }),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant("weigh" as const),
        tenant,
        weight: fc.integer({ min: 1, max: 1000 }),
        group: fc.nat(2),
      }),
    },
  );

  it("keeps caps that move, leaves no slot free for an admissible head, and grants once", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120, size: "max" }), (steps) => {
        /** The capacities of adaptive models, which arrivals do not know. */
        const moved = new Map<string, number>();
        const capOf = ({ name, maxInFlight }: { readonly name: string; readonly maxInFlight: number | null }) =>
          moved.get(name) ?? maxInFlight;
        const scheduler = createScheduler({ algorithm, maxInFlight: 4, capOf });
        const tenants = Array.from(
          { length: 6 },
          (_, at): TenantSpec => ({
            id: `t${at}`,
            weight: 50 * (at + 1),
            group: `g${at % 3}`,
            groupWeight: 100 * ((at % 3) + 1),
            cap: at === 0 ? 1 : null,
          }),
        );
        const caps = [null, 1, 2];
        const known = new Map<string, Arrival>();
        const waiting = new Set<string>();
        const running = new Set<string>();
        let max = 4;
        const take = (grants: readonly SchedulerGrant[]): void => {
          for (const { requestId } of grants) {
            expect(waiting.delete(requestId)).toBe(true);
            running.add(requestId);
          }
        };
        const pickOf = (set: ReadonlySet<string>, pick: number): string | undefined =>
          [...set][pick % Math.max(set.size, 1)];
        const count = (set: ReadonlySet<string>, matches: (arrival: Arrival) => boolean): number =>
          [...set].filter((id) => matches(known.get(id) as Arrival)).length;
        for (const [at, event] of steps.entries()) {
          const before = running.size;
          const heldBefore = caps.map((_, model) => count(running, (arrival) => arrival.model.name === `m${model}`));
          switch (event.kind) {
            case "arrive": {
              const spec = tenants[event.tenant] as TenantSpec;
              const arrival = arrivalOf(`r${at}`, spec, `m${event.model}`, caps[event.model] ?? null, event.cost);
              known.set(arrival.requestId, arrival);
              waiting.add(arrival.requestId);
              take(scheduler.apply({ type: "arrive", arrival }, at));
              break;
            }
            case "release": {
              const id = pickOf(running, event.pick);
              if (id === undefined) break;
              running.delete(id);
              take(scheduler.apply({ type: "release", requestId: id, actualTokens: event.actual }, at));
              break;
            }
            case "leave": {
              const id = pickOf(waiting, event.pick);
              if (id === undefined) break;
              waiting.delete(id);
              take(scheduler.apply({ type: "leave", requestId: id }, at));
              break;
            }
            case "capacity":
              max = event.max;
              take(scheduler.apply({ type: "capacity", maxInFlight: max }, at));
              break;
            case "move": {
              const name = `m${event.model}`;
              moved.set(name, event.cap);
              take(scheduler.apply({ type: "model", name, maxInFlight: caps[event.model] ?? null }, at));
              break;
            }
            case "weigh":
              take(
                scheduler.apply(
                  {
                    type: "tenant",
                    id: `t${event.tenant}`,
                    weight: event.weight,
                    group: { name: `g${event.group}`, weight: 100 * (event.group + 1) },
                  },
                  at,
                ),
              );
              break;
            default:
              event satisfies never;
          }
          expect({ inFlight: scheduler.inFlight, queued: scheduler.queued }).toEqual({
            inFlight: running.size,
            queued: waiting.size,
          });
          expect(running.size <= Math.max(max, before)).toBe(true);
          for (const [model, stated] of caps.entries()) {
            const name = `m${model}`;
            const cap = capOf({ name, maxInFlight: stated }) ?? Number.POSITIVE_INFINITY;
            // a lower capacity ends no request
            const most = Math.max(cap, heldBefore[model] ?? 0);
            expect(count(running, (arrival) => arrival.model.name === name)).toBeLessThanOrEqual(most);
          }
          expect(count(running, (arrival) => arrival.tenant.id === "t0")).toBeLessThanOrEqual(1);
          const admissible = [...waiting].some((id) => {
            const { model, tenant: owner } = known.get(id) as Arrival;
            const cap = capOf(model);
            const modelRoom = cap === null || count(running, (arrival) => arrival.model.name === model.name) < cap;
            return (
              modelRoom &&
              (owner.maxInFlight === null ||
                count(running, (arrival) => arrival.tenant.id === owner.id) < owner.maxInFlight)
            );
          });
          if (admissible) expect(running.size).toBeGreaterThanOrEqual(max);
        }
      }),
      { numRuns: propertyRuns(300) },
    );
  });
});

/** Keeps every tenant backlogged for a number of grants; every request runs as long as it costs. Answers what each was served and held. */
function saturate(
  scheduler: Scheduler,
  tenants: readonly TenantSpec[],
  costOf: (tenant: TenantSpec, at: number) => number,
  grants: number,
) {
  const servedTokens = new Map(tenants.map((tenant) => [tenant.id, 0]));
  const slotTime = new Map(tenants.map((tenant) => [tenant.id, 0]));
  const running: { id: string; tenant: TenantSpec; cost: number; endMs: number }[] = [];
  const known = new Map<string, { tenant: TenantSpec; cost: number }>();
  let next = 0;
  let nowMs = 0;
  const arrive = (tenant: TenantSpec): void => {
    next += 1;
    const cost = costOf(tenant, next);
    known.set(`r${next}`, { tenant, cost });
    take(scheduler.apply({ type: "arrive", arrival: arrivalOf(`r${next}`, tenant, "m", null, cost) }, nowMs));
  };
  const take = (granted: readonly SchedulerGrant[]): void => {
    for (const { requestId } of granted) {
      const { tenant, cost } = known.get(requestId) as { tenant: TenantSpec; cost: number };
      running.push({ id: requestId, tenant, cost, endMs: nowMs + cost });
      servedTokens.set(tenant.id, (servedTokens.get(tenant.id) ?? 0) + cost);
      slotTime.set(tenant.id, (slotTime.get(tenant.id) ?? 0) + cost);
    }
  };
  scheduler.apply({ type: "hold", on: true }, 0);
  for (const tenant of tenants) for (let count = 0; count < 20; count += 1) arrive(tenant);
  take(scheduler.apply({ type: "hold", on: false }, 0));
  for (let count = 0; count < grants; count += 1) {
    running.sort((a, b) => a.endMs - b.endMs);
    const done = running.shift();
    if (done === undefined) break;
    nowMs = done.endMs;
    arrive(done.tenant);
    take(scheduler.apply({ type: "release", requestId: done.id, actualTokens: done.cost }, nowMs));
  }
  return { servedTokens, slotTime, running: running.map(({ id }) => id) };
}

const jain = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) ** 2 /
  (values.length * values.reduce((sum, value) => sum + value ** 2, 0));
const spec = (id: string, weight: number, group = "g", groupWeight = 100): TenantSpec => ({
  id,
  weight,
  group,
  groupWeight,
  cap: null,
});

describe("long-run shares", () => {
  it("weighted: of served tokens by weight within 5 %, whatever the sizes of requests", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 10 }), { minLength: 2, maxLength: 5 }),
        fc.integer({ min: 1, max: 8 }),
        (weights, capacity) => {
          const tenants = weights.map((weight, at) => spec(`t${at}`, weight * 100));
          const scheduler = createScheduler({ algorithm: "weighted", maxInFlight: capacity });
          const { servedTokens } = saturate(
            scheduler,
            tenants,
            (tenant, at) => 20 + ((at * 37 + tenant.weight) % 180),
            4000,
          );
          const total = [...servedTokens.values()].reduce((sum, value) => sum + value, 0);
          const weightSum = weights.reduce((sum, weight) => sum + weight, 0);
          for (const [at, weight] of weights.entries()) {
            const share = (servedTokens.get(`t${at}`) ?? 0) / total;
            expect(Math.abs(share - weight / weightSum)).toBeLessThan(0.05 * (weight / weightSum) + 0.004);
          }
        },
      ),
      { numRuns: propertyRuns(30) },
    );
  });

  it("hierarchical: of slots by cap within 5 %, also when sizes differ between groups", () => {
    const tenants = [spec("a", 100, "A", 500), spec("b", 100, "B", 50)];
    const scheduler = createScheduler({ algorithm: "hierarchical", maxInFlight: 8 });
    const { slotTime } = saturate(scheduler, tenants, (tenant) => (tenant.id === "a" ? 100 : 300), 6000);
    const share = (slotTime.get("a") ?? 0) / ((slotTime.get("a") ?? 0) + (slotTime.get("b") ?? 0));
    expect(Math.abs(share - 7 / 8)).toBeLessThan(0.05 * (7 / 8));
  });

  it.each(ALGORITHMS)("are equal among equals: Jain index at least 0.99 (%s)", (algorithm: FairshareAlgorithm) => {
    const tenants = Array.from({ length: 10 }, (_, at) => spec(`t${at}`, 100));
    const { servedTokens } = saturate(
      createScheduler({ algorithm, maxInFlight: 7 }),
      tenants,
      (_, at) => 50 + ((at * 53) % 100),
      5000,
    );
    expect(jain([...servedTokens.values()])).toBeGreaterThanOrEqual(0.99);
  });
});

describe("credit", () => {
  it.each(ALGORITHMS)("is not banked by an idle tenant (%s)", (algorithm) => {
    const scheduler = createScheduler({ algorithm, maxInFlight: 1 });
    const [busy, idle] = [spec("busy", 100, "A"), spec("idle", 100, "B")];
    let [running = ""] = saturate(scheduler, [busy], () => 100, 500).running;
    for (let at = 0; at < 20; at += 1)
      scheduler.apply({ type: "arrive", arrival: arrivalOf(`late${at}`, idle, "m", null, 100) }, 1e6);
    const order = Array.from({ length: 20 }, () => {
      const granted = scheduler.apply({ type: "release", requestId: running, actualTokens: 100 }, 1e6);
      running = granted[0]?.requestId ?? "";
      return running.startsWith("late") ? "late" : "busy";
    });
    expect(Math.abs(order.filter((who) => who === "late").length - 10)).toBeLessThanOrEqual(1);
  });

  it.each(ALGORITHMS)("is not banked while a model is full, and newcomers then get their turns (%s)", (algorithm) => {
    const scheduler = createScheduler({ algorithm, maxInFlight: 2 });
    const running: string[] = [];
    const take = (grants: readonly SchedulerGrant[]) => running.push(...grants.map(({ requestId }) => requestId));
    const release = (at: number) => {
      for (const requestId of running.splice(at, 1))
        take(scheduler.apply({ type: "release", requestId, actualTokens: 100 }, 0));
      return running.at(-1)?.slice(0, 2);
    };
    const arrive = (id: string, model: string, cap: number | null, at: number) =>
      take(
        scheduler.apply({ type: "arrive", arrival: arrivalOf(`${id}/${at}`, spec(id, 100, id), model, cap, 100) }, 0),
      );
    for (let at = 0; at < 200; at += 1) {
      for (const id of ["s1", "s2"]) arrive(id, "scarce", 1, at);
      for (const id of ["p1", "p2"]) arrive(id, "plenty", null, at);
    }
    const expectTurns = (ids: readonly string[]): void => {
      const granted = Array.from({ length: 20 * ids.length }, () => release(0));
      for (const id of ids) expect(Math.abs(granted.filter((who) => who === id).length - 20)).toBeLessThanOrEqual(2);
    };
    for (let period = 0; period < 2; period += 1) {
      take(scheduler.apply({ type: "model", name: "scarce", maxInFlight: 1 }, 0));
      // A request for the scarce model keeps its slot, so the others have the second slot to themselves.
      for (let round = 0; round < 100; round += 1)
        release(
          Math.max(
            0,
            running.findIndex((id) => id.startsWith("p")),
          ),
        );
      take(scheduler.apply({ type: "model", name: "scarce", maxInFlight: null }, 0));
      expectTurns(["s1", "s2", "p1", "p2"]);
    }
    for (let at = 0; at < 100; at += 1) arrive("s3", "scarce", null, at);
    expectTurns(["s1", "s2", "s3", "p1", "p2"]);
  });

  it.each(ALGORITHMS)("is no debt at a full model for what was served elsewhere (%s)", (algorithm) => {
    const scheduler = createScheduler({ algorithm, maxInFlight: 200 });
    const take = (who: string, model: string, cap: number | null, at: number) => {
      const arrival = arrivalOf(`${who}/${model}/${at}`, spec(who, 100, who), model, cap, 100);
      return scheduler.apply({ type: "arrive", arrival }, 0);
    };
    const release = (requestId: string) => scheduler.apply({ type: "release", requestId, actualTokens: 100 }, 0);
    for (let at = 0; at < 60; at += 1) take("waits", "scarce", 1, at);
    for (let at = 0; at < 100; at += 1)
      for (const { requestId } of take("busy", "plenty", null, at)) release(requestId);
    for (let at = 0; at < 60; at += 1) take("busy", "scarce", 1, at);
    let running = "waits/scarce/0";
    const granted = Array.from({ length: 40 }, () => {
      running = release(running)[0]?.requestId ?? "";
      return running.split("/")[0];
    });
    expect(Math.abs(granted.filter((who) => who === "busy").length - 20)).toBeLessThanOrEqual(2);
  });

  it("starves no tenant: with weight w of W, a request waits at most W / w grants and a round", () => {
    const weights = [1, 10, 100, 1000];
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    const scheduler = createScheduler({ algorithm: "weighted", maxInFlight: 1 });
    const { servedTokens } = saturate(
      scheduler,
      weights.map((weight) => spec(`t${weight}`, weight)),
      () => 10,
      3 * total,
    );
    for (const weight of weights) expect(servedTokens.get(`t${weight}`)).toBeGreaterThanOrEqual(10 * (3 * weight - 2));
  });
});
