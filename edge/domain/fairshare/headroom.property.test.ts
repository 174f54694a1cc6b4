/**
 * The laws of headroom on random traces (docs/rules/fairshare.md#headroom), held to shares that the test calculates from its
 * own counts. Slots, parts and counts are whole numbers here, so that nothing is rounded twice.
 *
 * @module-tag check
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { entitledSlots, type FairshareAlgorithm } from "../../../shared/fairshare/entitled-slots.ts";
import { propertyRuns } from "../../../test/harness/property-runs.ts";
import { headroomSlots } from "./headroom.ts";
import { createScheduler } from "./scheduler.ts";
import type { Arrival, Scheduler, SchedulerEvent, SchedulerGrant } from "./types.ts";

const ALGORITHMS = ["weighted", "hierarchical"] as const;
// No two groups are of equal weight: equals take turns at a slot, and the test does not follow whose turn it is.
const GROUPS = { g0: 100, g1: 230, g2: 510 } as const;
type GroupName = keyof typeof GROUPS;
const TENANTS = [
  { id: "a", weight: 100, group: "g0", cap: null },
  { id: "b", weight: 100, group: "g0", cap: null },
  { id: "c", weight: 700, group: "g1", cap: null },
  { id: "d", weight: 30, group: "g1", cap: 5 },
  { id: "e", weight: 100, group: "g2", cap: null },
] as const;
type Tenant = (typeof TENANTS)[number];
const MODEL_CAPS = { plenty: null, scarce: 3 } as const;

function arrivalOf(requestId: string, tenant: Tenant, model: keyof typeof MODEL_CAPS, costTokens = 100): Arrival {
  return {
    requestId,
    tenant: { id: tenant.id, name: tenant.id, weight: tenant.weight, maxInFlight: tenant.cap },
    group: { name: tenant.group, weight: GROUPS[tenant.group] },
    model: { name: model, admissionWeight: 100, maxInFlight: MODEL_CAPS[model] },
    costTokens,
  };
}

/** One scheduler with its waiting and running requests, as counted by the test. */
class Cell {
  readonly #algorithm: FairshareAlgorithm;
  readonly #percent: number;
  readonly scheduler: Scheduler;
  readonly waiting = new Map<string, Arrival>();
  readonly running = new Map<string, Arrival>();
  slots: number;

  constructor(algorithm: FairshareAlgorithm, slots: number, percent: number) {
    this.#algorithm = algorithm;
    this.#percent = percent;
    this.slots = slots;
    this.scheduler = createScheduler({ algorithm, maxInFlight: slots, headroom: percent / 100 });
  }

  get headroom(): number {
    return this.slots < 40 ? 0 : Math.floor((this.slots * this.#percent + 99) / 100);
  }

  /** Applies an event; `granted` sees each grant just before it counts. */
  apply(event: SchedulerEvent, granted: (arrival: Arrival) => void = () => undefined): readonly SchedulerGrant[] {
    if (event.type === "arrive") this.waiting.set(event.arrival.requestId, event.arrival);
    if (event.type === "leave") this.waiting.delete(event.requestId);
    if (event.type === "release") this.running.delete(event.requestId);
    if (event.type === "capacity") this.slots = event.maxInFlight;
    const grants = this.scheduler.apply(event, 0);
    for (const { requestId } of grants) {
      const arrival = this.waiting.get(requestId);
      if (arrival === undefined) throw new Error(`${requestId} does not wait`);
      granted(arrival);
      this.waiting.delete(requestId);
      this.running.set(requestId, arrival);
    }
    return grants;
  }

  holding(matches: (arrival: Arrival) => boolean): number {
    return [...this.running.values()].filter(matches).length;
  }

  held(id: string): number {
    return this.holding(({ tenant }) => tenant.id === id);
  }

  /** The slots of a tenant's share: equals take turns at the last one, so that it has at least and at most so many. */
  shareOf(id: string): { readonly least: number; readonly most: number } {
    const demand = (matches: (arrival: Arrival) => boolean): number =>
      [...this.waiting.values()].filter(matches).length + this.holding(matches);
    const groupOf = (tenant: Tenant): string => (this.#algorithm === "weighted" ? "all" : tenant.group);
    const { tenants } = entitledSlots({
      algorithm: "hierarchical",
      maxInFlight: this.slots,
      groups: [...new Set(TENANTS.map(groupOf))].map((name) => ({
        name,
        weight: GROUPS[name as GroupName] ?? 1,
        demand: demand(({ group }) => this.#algorithm === "weighted" || group.name === name),
      })),
      tenants: TENANTS.map((tenant) => ({
        ...tenant,
        group: groupOf(tenant),
        demand: demand((arrival) => arrival.tenant.id === tenant.id),
      })),
    });
    const own = tenants.find(({ who }) => who.id === id)?.who;
    const caps = tenants
      .filter(({ who }) => who.group === own?.group && who.weight === own.weight && who.demand > 0)
      .map(({ entitlement }) => Math.min(entitlement.slotCap, this.slots - this.headroom));
    return { least: Math.min(...caps), most: Math.max(...caps) };
  }

  /** The tenants with a request that their own caps and its model admit. */
  admissible(): readonly string[] {
    const own = [...this.waiting.values()].filter(({ tenant, model }) => {
      const ofModel = this.holding((other) => other.model.name === model.name);
      return (
        (tenant.maxInFlight === null || this.held(tenant.id) < tenant.maxInFlight) &&
        (model.maxInFlight === null || ofModel < model.maxInFlight)
      );
    });
    return [...new Set(own.map(({ tenant }) => tenant.id))];
  }
}

const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant("arrive" as const),
      tenant: fc.constantFrom(...TENANTS),
      model: fc.constantFrom("plenty" as const, "plenty" as const, "scarce" as const),
      count: fc.integer({ min: 1, max: 25 }),
      cost: fc.integer({ min: 1, max: 500 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("release" as const),
      pick: fc.nat(),
      count: fc.integer({ min: 1, max: 12 }),
      actual: fc.nat(600),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("leave" as const), pick: fc.nat() }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("capacity" as const), slots: fc.integer({ min: 30, max: 60 }) }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** The events of a step, each made when the one before it has been applied. */
function* eventsOf(cell: Cell, given: Step, at: number): Generator<SchedulerEvent, undefined> {
  const pick = (from: ReadonlyMap<string, Arrival>, place: number): string =>
    [...from.keys()][place % Math.max(1, from.size)] ?? "";
  if (given.kind === "capacity") yield { type: "capacity", maxInFlight: given.slots };
  else if (given.kind === "leave") yield { type: "leave", requestId: pick(cell.waiting, given.pick) };
  else
    for (let count = 0; count < given.count; count += 1)
      yield given.kind === "arrive"
        ? { type: "arrive", arrival: arrivalOf(`${at}/${count}`, given.tenant, given.model, given.cost) }
        : { type: "release", requestId: pick(cell.running, given.pick), actualTokens: given.actual };
  return undefined;
}

const steps = fc.array(step, { maxLength: 40, size: "max" });
const slots = fc.integer({ min: 40, max: 50 });
const percent = fc.integer({ min: 1, max: 50 });

describe.each(ALGORITHMS)("headroom (%s)", (algorithm) => {
  it("goes only to tenants below their share, and is all that stays free while one waits", () => {
    fc.assert(
      fc.property(steps, slots, percent, (given, capacity, part) => {
        const cell = new Cell(algorithm, capacity, part);
        for (const [at, each] of given.entries())
          for (const event of eventsOf(cell, each, at)) {
            cell.apply(event, ({ tenant }) => {
              const free = cell.slots - cell.running.size;
              expect(free).toBeGreaterThan(0);
              if (free <= cell.headroom) expect(cell.held(tenant.id)).toBeLessThan(cell.shareOf(tenant.id).most);
            });
            const free = cell.slots - cell.running.size;
            const left = free > 0 ? cell.admissible() : [];
            if (left.length === 0) continue;
            expect(free).toBeLessThanOrEqual(cell.headroom);
            const atShare = left.filter((id) => cell.held(id) >= cell.shareOf(id).least);
            // In weighted mode nobody passes the tenant that is next.
            if (algorithm === "hierarchical") expect(atShare).toEqual(left);
            else expect(atShare).not.toEqual([]);
          }
      }),
      { numRuns: propertyRuns(200) },
    );
  });

  it("is what the live view says that a request waits for while slots are free", () => {
    fc.assert(
      fc.property(steps, slots, percent, (given, capacity, part) => {
        const cell = new Cell(algorithm, capacity, part);
        for (const [at, each] of given.entries()) for (const event of eventsOf(cell, each, at)) cell.apply(event);
        expect(cell.scheduler.snapshot(0).headroom).toBe(cell.headroom);
        const rows = cell.scheduler.waiting(0);
        expect(rows.reduce((sum, { queued }) => sum + queued, 0)).toBe(cell.waiting.size);
        const free = cell.slots - cell.running.size;
        for (const { tenant_id, reason } of rows) {
          if (free > 0)
            expect([
              "tenant_cap",
              "model_cap",
              "headroom",
              ...(algorithm === "weighted" ? ["tenant_share"] : []),
            ]).toContain(reason);
          if (reason !== "headroom") continue;
          expect(free).toBeGreaterThan(0);
          expect(cell.held(tenant_id)).toBeGreaterThanOrEqual(cell.shareOf(tenant_id).least);
        }
      }),
      { numRuns: propertyRuns(200) },
    );
  });

  it("makes nobody wait for ever: whatever waits is granted as requests end", () => {
    fc.assert(
      fc.property(steps, slots, percent, (given, capacity, part) => {
        const cell = new Cell(algorithm, capacity, part);
        for (const [at, each] of given.entries()) for (const event of eventsOf(cell, each, at)) cell.apply(event);
        for (let [next] = cell.running.keys(); next !== undefined; [next] = cell.running.keys())
          cell.apply({ type: "release", requestId: next, actualTokens: 100 });
        expect(cell.waiting.size).toBe(0);
      }),
      { numRuns: propertyRuns(200) },
    );
  });

  it("changes nothing in a cell of less than 40 slots, or where it is 0", () => {
    fc.assert(
      fc.property(steps, fc.integer({ min: 1, max: 39 }), fc.integer({ min: 40, max: 50 }), (given, few, many) => {
        for (const [capacity, part] of [
          [few, 50],
          [many, 0],
        ] as const) {
          const cell = new Cell(algorithm, capacity, part);
          const plain = createScheduler({ algorithm, maxInFlight: capacity });
          for (const [at, each] of given.filter(({ kind }) => kind !== "capacity").entries())
            for (const event of eventsOf(cell, each, at)) expect(cell.apply(event)).toEqual(plain.apply(event, 0));
        }
      }),
      { numRuns: propertyRuns(100) },
    );
  });
});

const [A, B, C, , E] = TENANTS;

function fill(cell: Cell, tenant: Tenant, requests: number): void {
  for (let at = 0; at < requests; at += 1)
    cell.apply({ type: "arrive", arrival: arrivalOf(`${tenant.id}/${at}`, tenant, "plenty") });
}

describe.each(ALGORITHMS)("while one tenant has lent itself everything (%s)", (algorithm) => {
  it.each([
    ["its own group", B],
    ["another group", E],
  ])("a newcomer of %s is served at once", (_group, newcomer) => {
    const cell = new Cell(algorithm, 40, 5);
    fill(cell, A, 100);
    expect({ held: cell.held("a"), waiting: cell.waiting.size }).toEqual({ held: 38, waiting: 62 });
    const granted = cell.apply({ type: "arrive", arrival: arrivalOf("new", newcomer, "plenty") });
    expect(granted).toEqual([{ requestId: "new", admission: "fast", queueWaitMs: 0 }]);
    // The lender gets none of the slots that are left, and the newcomer's own is kept for the next one.
    cell.apply({ type: "release", requestId: "new", actualTokens: 100 });
    expect({ held: cell.held("a"), inFlight: cell.scheduler.inFlight }).toEqual({ held: 38, inFlight: 38 });
  });

  it("what waits for a full model takes none, and what waits beside it does", () => {
    const cell = new Cell(algorithm, 40, 5);
    fill(cell, A, 60);
    for (let at = 0; at < 4; at += 1)
      cell.apply({ type: "arrive", arrival: arrivalOf(`s${at}`, TENANTS[1 + (at % 2)] ?? A, "scarce") });
    expect({ inFlight: cell.scheduler.inFlight, headroom: cell.scheduler.headroom }).toEqual({
      inFlight: 40,
      headroom: 2,
    });
  });
});

describe("tenants that hold their shares together", () => {
  it("use the whole cell", () => {
    const cell = new Cell("hierarchical", 40, 25);
    for (const tenant of [A, C, E]) fill(cell, tenant, 60);
    for (let round = 0; round < 400; round += 1) {
      const [next = ""] = cell.running.keys();
      const done = cell.running.get(next)?.tenant.id;
      cell.apply({ type: "release", requestId: next, actualTokens: 100 });
      const tenant = TENANTS.find(({ id }) => id === done) ?? A;
      cell.apply({ type: "arrive", arrival: arrivalOf(`again/${round}`, tenant, "plenty") });
    }
    const held = Object.fromEntries([A, C, E].map(({ id }) => [id, cell.held(id)]));
    // 100, 230 and 510 of 840.
    expect(held).toEqual({ a: 5, c: 11, e: 24 });
  });
});

describe("the headroom of a cell", () => {
  it("is a part of its slots from 40 on, rounded up", () => {
    const cases = [
      [39, 0.5],
      [40, 0.05],
      [40, 0],
      [59, 0.05],
      [60, 0.05],
      [100, 0.07],
      [256, 0.05],
      [256, 0.001],
      [41, 0.5],
      [1_000_000, 0.5],
    ] as const;
    expect(cases.map(([count, part]) => headroomSlots(count, part))).toEqual([0, 2, 0, 3, 3, 7, 13, 1, 21, 500_000]);
  });

  it.each(ALGORITHMS)("costs an arrival one look at each tenant that holds its share (%s)", (algorithm) => {
    let looks = 0;
    const probe = (): void => {
      looks += 1;
    };
    const scheduler = createScheduler({ algorithm, maxInFlight: 64, headroom: 0.25, probe });
    const arrive = (requestId: string, id: string, weight: number): void => {
      const arrival = { ...arrivalOf(requestId, A, "plenty"), tenant: { id, name: id, weight, maxInFlight: null } };
      scheduler.apply({ type: "arrive", arrival }, 0);
    };
    // The heavy tenant has nearly the whole share, but it asks for one slot.
    arrive("heavy", "heavy", 10_000);
    for (let at = 0; at < 200; at += 1)
      for (let tenant = 0; tenant < 16; tenant += 1) arrive(`${tenant}/${at}`, `t${tenant}`, 1);
    expect({ inFlight: scheduler.inFlight, headroom: scheduler.headroom }).toEqual({ inFlight: 48, headroom: 16 });
    looks = 0;
    arrive("one more", "t3", 1);
    // And the tenant is moved to its place.
    expect(looks).toBeLessThanOrEqual(16 + 2 * Math.log2(16));
  });
});
