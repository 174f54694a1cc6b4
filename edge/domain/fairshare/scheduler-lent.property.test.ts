/**
 * Lent slots on random traces: while whatever is in somebody's way is given back, no cap is passed and no slot stays free
 * that somebody may have; where only the cell is capped, the books are those of a scheduler that never lent, and so is the order.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createScheduler } from "./scheduler.ts";
import type { Arrival, FairshareAlgorithm, Scheduler, SchedulerEvent } from "./types.ts";

const TENANT_CAPS = [1, null, 3, null] as const;
const MODEL_CAPS = [null, 1, 3] as const;

function arrivalOf(requestId: string, tenant: number, model: number, costTokens: number, capped: boolean): Arrival {
  return {
    requestId,
    tenant: {
      id: `t${tenant}`,
      name: `t${tenant}`,
      weight: 50 * (tenant + 1),
      maxInFlight: capped ? (TENANT_CAPS[tenant] ?? null) : null,
    },
    group: { name: `g${tenant % 3}`, weight: 100 * ((tenant % 3) + 1) },
    model: {
      name: `m${model}`,
      admissionWeight: 100 + 50 * model,
      maxInFlight: capped ? (MODEL_CAPS[model] ?? null) : null,
    },
    costTokens,
  };
}

const who = { tenant: fc.nat(3), model: fc.nat(2) };
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("arrive" as const),
      ...who,
      cost: fc.integer({ min: 1, max: 500 }),
      lent: fc.boolean(),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("end" as const),
      pick: fc.nat(),
      actual: fc.nat(600),
      lend: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("lend" as const), ...who }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("unlend" as const), pick: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("leave" as const), pick: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("capacity" as const), max: fc.integer({ min: 1, max: 8 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("weigh" as const),
      tenant: fc.nat(3),
      weight: fc.integer({ min: 1, max: 1000 }),
    }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

interface Comes {
  readonly tenant: number;
  readonly model: number;
  readonly cost?: number;
}

/** The same requests through a scheduler that lends and one that does not. */
class Pair {
  readonly lending: Scheduler;
  readonly plain: Scheduler;
  /** Tenants and models have caps; then only the lending one is looked at. */
  readonly capped: boolean;
  readonly lent = new Map<string, Arrival>();
  readonly #known = new Map<string, Arrival>();
  readonly #waiting = new Set<string>();
  readonly #running = new Set<string>();
  /** Of tenants that have come: as their records have it now, and as whatever comes states it. */
  readonly #weights = new Map<number, number>();
  #max = 6;
  #nowMs = 0;

  constructor(algorithm: FairshareAlgorithm, capped: boolean) {
    this.capped = capped;
    this.lending = createScheduler({ algorithm, maxInFlight: this.#max });
    this.plain = createScheduler({ algorithm, maxInFlight: this.#max });
  }

  play(event: Step): void {
    this.#nowMs += 1;
    const id = `r${this.#nowMs}`;
    switch (event.do) {
      case "arrive":
        this.arrive(this.#arrival(id, event), event.lent);
        this.#weights.set(event.tenant, this.#arrival("", event).tenant.weight);
        break;
      case "end":
        this.#end(pickOf(this.#running, event.pick), event.actual, event.lend ? `l${this.#nowMs}` : null);
        break;
      case "lend": {
        const arrival = this.#arrival("", event);
        if (this.lending.lend(id, arrival)) this.lent.set(id, arrival);
        break;
      }
      case "unlend":
        this.#unlend(pickOf(this.lent, event.pick));
        break;
      case "leave": {
        const requestId = pickOf(this.#waiting, event.pick);
        if (requestId === undefined) break;
        this.#waiting.delete(requestId);
        this.#both({ type: "leave", requestId }, { type: "leave", requestId });
        break;
      }
      case "capacity": {
        // A cap that is lowered below what is lent takes nothing away: that is another story.
        this.#max = Math.max(event.max, this.lending.inFlight + this.lent.size);
        const change = { type: "capacity", maxInFlight: this.#max } as const;
        this.#both(change, change);
        break;
      }
      case "weigh": {
        if (!this.#weights.has(event.tenant)) break;
        this.#weights.set(event.tenant, event.weight);
        const change = { type: "tenant", id: `t${event.tenant}`, weight: event.weight } as const;
        this.#both(change, change);
        break;
      }
      default:
        event satisfies never;
    }
    this.#check();
  }

  #arrival(id: string, { tenant: at, model, cost = 1 }: Comes): Arrival {
    const arrival = arrivalOf(id, at, model, cost, this.capped);
    const weight = this.#weights.get(at) ?? arrival.tenant.weight;
    return { ...arrival, tenant: { ...arrival.tenant, weight } };
  }

  arrive(arrival: Arrival, onLent: boolean): void {
    const { requestId, tenant, model } = arrival;
    const lentId = [...this.lent].find(
      ([, slot]) => onLent && slot.tenant.id === tenant.id && slot.model.name === model.name,
    )?.[0];
    this.#known.set(requestId, arrival);
    this.#waiting.add(requestId);
    if (lentId !== undefined) this.lent.delete(lentId);
    this.#both(
      lentId === undefined ? { type: "arrive", arrival } : { type: "occupy", lentId, arrival },
      { type: "arrive", arrival },
      lentId === undefined ? [] : [requestId],
    );
  }

  unlendAll(): void {
    for (const lentId of this.lent.keys()) this.#unlend(lentId);
  }

  #end(requestId: string | undefined, actualTokens: number, lentId: string | null): void {
    if (requestId === undefined) return;
    this.#running.delete(requestId);
    const release: SchedulerEvent = { type: "release", requestId, actualTokens };
    if (lentId !== null) this.lent.set(lentId, this.#known.get(requestId) as Arrival);
    this.#both(lentId === null ? release : { type: "vacate", requestId, actualTokens, lentId }, release);
  }

  #unlend(lentId: string | undefined): void {
    if (lentId === undefined) return;
    this.lent.delete(lentId);
    expect(this.lending.apply({ type: "unlend", lentId }, this.#nowMs)).toEqual([]);
  }

  /** The same in both; what is in somebody's way is given back at once. */
  #both(lending: SchedulerEvent, plain: SchedulerEvent, occupied: readonly string[] = []): void {
    const apply = (scheduler: Scheduler, event: SchedulerEvent): string[] =>
      scheduler.apply(event, this.#nowMs).map((grant) => grant.requestId);
    const granted = [...occupied, ...apply(this.lending, lending)];
    if (this.lending.lentInTheWay())
      for (const lentId of this.lent.keys()) {
        this.lent.delete(lentId);
        granted.push(...apply(this.lending, { type: "unlend", lentId }));
      }
    if (!this.capped) expect(granted).toEqual(apply(this.plain, plain));
    for (const requestId of granted) {
      expect(this.#waiting.delete(requestId)).toBe(true);
      this.#running.add(requestId);
    }
  }

  #check(): void {
    if (!this.capped) expect(this.lending.snapshot(this.#nowMs)).toEqual(this.plain.snapshot(this.#nowMs));
    expect(this.lending.lent).toBe(this.lent.size);
    expect(this.lending.lentInTheWay()).toBe(false);
    const slots = [...[...this.#running].map((id) => this.#known.get(id) as Arrival), ...this.lent.values()];
    expect(slots.length).toBeLessThanOrEqual(this.#max);
    if (!this.capped) return;
    const free = this.#max > slots.length;
    const count = (matches: (slot: Arrival) => boolean): number => slots.filter(matches).length;
    for (const id of this.#waiting) {
      const { tenant, model } = this.#known.get(id) as Arrival;
      const room =
        count((slot) => slot.tenant.id === tenant.id) < (tenant.maxInFlight ?? 9) &&
        count((slot) => slot.model.name === model.name) < (model.maxInFlight ?? 9);
      expect(free && room).toBe(false);
    }
    for (const [at, cap] of TENANT_CAPS.entries())
      expect(slots.filter(({ tenant }) => tenant.id === `t${at}`).length).toBeLessThanOrEqual(cap ?? 8);
    for (const [at, cap] of MODEL_CAPS.entries())
      expect(slots.filter(({ model }) => model.name === `m${at}`).length).toBeLessThanOrEqual(cap ?? 8);
  }
}

function pickOf(ids: { keys(): Iterable<string>; readonly size: number }, pick: number): string | undefined {
  return [...ids.keys()][pick % Math.max(ids.size, 1)];
}

const CASES = (["weighted", "hierarchical"] as const).flatMap((algorithm) =>
  [false, true].map((capped) => [algorithm, capped] as const),
);

describe.each(CASES)("slots that are lent (%s, caps of tenants and models: %s)", (algorithm, capped) => {
  it("are in nobody's way while they are given back on demand", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 150, size: "max" }), (steps) => {
        const pair = new Pair(algorithm, capped);
        for (const each of steps) pair.play(each);
        pair.unlendAll();
        expect(pair.lending.lent).toBe(0);
        for (const tenant of TENANT_CAPS.keys())
          for (const model of MODEL_CAPS.keys())
            pair.arrive(arrivalOf(`last/${tenant}/${model}`, tenant, model, 10, capped), false);
      }),
      { numRuns: 200 },
    );
  });
});
