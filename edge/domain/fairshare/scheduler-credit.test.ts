/**
 * No tenant gains by requesting more than it uses, or by mixing models of different weights
 * (docs/rules/fairshare.md#served-score, docs/rules/fairshare.md#choosing-the-next,
 * docs/rules/fairshare.md#required-behaviour).
 */
import { describe, expect, it } from "vitest";
import type { FairshareAlgorithm } from "../../../shared/fairshare/entitled-slots.ts";
import { IndexedHeap } from "../../../shared/fairshare/indexed-heap.ts";
import { createScheduler } from "./scheduler.ts";
import type { Scheduler, SchedulerGrant } from "./types.ts";

/** A request without its tenant. */
interface LoopRequest {
  readonly tenant: string;
  readonly group?: string;
  readonly model?: string;
  readonly admissionWeight?: number;
  readonly modelCap?: number;
  readonly costTokens?: number;
  /** Its real use; by default its estimate. */
  readonly actualTokens?: number;
  /** Leaves its queue, or gives its slot back unused, this long after its arrival. */
  readonly cancelledMs?: number;
}

interface Open {
  readonly request: LoopRequest;
  readonly again: boolean;
  granted: boolean;
}

interface Timer {
  readonly atMs: number;
  readonly order: number;
  readonly run: () => void;
}

/** How long requests run, in turn: 100 ms on average. */
const SERVICE_MS = [100, 93, 107, 98, 102, 85, 115] as const;

/** A Cell whose tenants keep requests open in parallel loops; time is simulated. Counts what each tenant was granted. */
class LoopCell {
  readonly #scheduler: Scheduler;
  readonly #timers = new IndexedHeap<Timer>((a, b) => a.atMs - b.atMs || a.order - b.order);
  readonly #open = new Map<string, Open>();
  readonly #granted = new Map<string, number>();
  #nowMs = 0;
  #made = 0;

  constructor(algorithm: FairshareAlgorithm, slots: number) {
    this.#scheduler = createScheduler({ algorithm, maxInFlight: slots });
  }

  /** Opens requests; each is followed by another one as soon as it ends. */
  loops(count: number, open: LoopRequest): void {
    for (let at = 0; at < count; at += 1) this.request(open, true);
  }

  request(request: LoopRequest, again = false): void {
    this.#made += 1;
    const requestId = `r${this.#made}`;
    this.#open.set(requestId, { request, again, granted: false });
    const { tenant, group = "g", model = "m", admissionWeight = 100, modelCap = null, costTokens = 100 } = request;
    const arrival = {
      requestId,
      tenant: { id: tenant, name: tenant, weight: 100, maxInFlight: null },
      group: { name: group, weight: 100 },
      model: { name: model, admissionWeight, maxInFlight: modelCap },
      costTokens,
    };
    if (request.cancelledMs !== undefined) this.after(request.cancelledMs, () => this.#cancel(requestId));
    this.#take(this.#scheduler.apply({ type: "arrive", arrival }, this.#nowMs));
  }

  after(ms: number, run: () => void): void {
    this.#made += 1;
    this.#timers.put({ atMs: this.#nowMs + ms, order: this.#made, run });
  }

  /** Lets time pass; returns the grants of each tenant meanwhile. */
  pass(ms: number, tenants: readonly string[]): number[] {
    const before = new Map(this.#granted);
    const untilMs = this.#nowMs + ms;
    for (let next = this.#timers.peek(); next !== undefined && next.atMs <= untilMs; next = this.#timers.peek()) {
      this.#timers.remove(next);
      this.#nowMs = next.atMs;
      next.run();
    }
    this.#nowMs = untilMs;
    return tenants.map((tenant) => (this.#granted.get(tenant) ?? 0) - (before.get(tenant) ?? 0));
  }

  #take(grants: readonly SchedulerGrant[]): void {
    for (const { requestId } of grants) {
      const open = this.#open.get(requestId);
      if (open === undefined) continue;
      open.granted = true;
      const { tenant, costTokens = 100, actualTokens = costTokens, cancelledMs } = open.request;
      // A request that used nothing does not count as served.
      if (cancelledMs === undefined && actualTokens > 0)
        this.#granted.set(tenant, (this.#granted.get(tenant) ?? 0) + 1);
      this.after(SERVICE_MS[this.#made % SERVICE_MS.length] ?? 100, () => this.#end(requestId, actualTokens));
    }
  }

  #cancel(requestId: string): void {
    const open = this.#open.get(requestId);
    if (open?.granted === true) {
      this.#end(requestId, 0);
      return;
    }
    this.#open.delete(requestId);
    this.#take(this.#scheduler.apply({ type: "leave", requestId }, this.#nowMs));
  }

  #end(requestId: string, actualTokens: number): void {
    const open = this.#open.get(requestId);
    if (open === undefined) return;
    this.#open.delete(requestId);
    this.#take(this.#scheduler.apply({ type: "release", requestId, actualTokens }, this.#nowMs));
    if (open.again) this.request(open.request, true);
  }
}

const ALGORITHMS = ["weighted", "hierarchical"] as const;
const LIGHT = { model: "light", admissionWeight: 5 } as const;
const HEAVY = { model: "heavy", admissionWeight: 100 } as const;

/** Each is within a tenth of the others, and one round of the slots. */
function expectEven(granted: readonly number[], slots: number): void {
  const mean = granted.reduce((sum, value) => sum + value, 0) / granted.length;
  const far = granted.filter((value) => Math.abs(value - mean) > 0.1 * mean + slots);
  expect({ granted, far }).toEqual({ granted, far: [] });
}

describe.each(ALGORITHMS)("an oversized request that comes to nothing (%s)", (algorithm) => {
  it.each([
    [4, "g"],
    [4, "other"],
    [1, "g"],
    [1, "other"],
  ])("does not hold up the next tenant: %i slots, group %s", (slots, group) => {
    const cell = new LoopCell(algorithm, slots);
    cell.loops(20, { tenant: "a" });
    cell.pass(1000, []);
    cell.request({ tenant: "a", costTokens: 2_000_000, actualTokens: 0 });
    cell.pass(4000, []);
    cell.loops(20, { tenant: "v", group });
    expectEven(cell.pass(8000, ["a", "v"]), slots);
  });

  it("leaves equal tenants equal when they come one after the other", () => {
    const cell = new LoopCell(algorithm, 4);
    cell.loops(20, { tenant: "a" });
    cell.request({ tenant: "a", costTokens: 2_000_000, actualTokens: 0 });
    cell.pass(2000, []);
    const others = Array.from({ length: 6 }, (_, at) => `t${at}`);
    for (const tenant of others) cell.loops(20, { tenant });
    expectEven(cell.pass(50_000, ["a", ...others]), 4);
  });

  it("is worth nothing when it is sent again and again", () => {
    const cell = new LoopCell(algorithm, 4);
    cell.loops(20, { tenant: "a" });
    for (let count = 0; count < 8; count += 1) cell.loops(1, { tenant: "a", costTokens: 500_000, actualTokens: 0 });
    cell.pass(3000, []);
    for (const tenant of ["v", "w"]) {
      cell.loops(20, { tenant });
      cell.pass(3000, []);
    }
    const [a = 0, ...rivals] = cell.pass(20_000, ["a", "v", "w"]);
    expectEven(rivals, 4);
    expect(a).toBeLessThanOrEqual(Math.min(...rivals) + 4);
  });
});

describe.each(ALGORITHMS)("models of different weights (%s)", (algorithm) => {
  it.each([
    ["g", "g"],
    ["a", "rivals"],
  ])("bank no credit: one light request, then heavy ones (groups %s, %s)", (own, rivals) => {
    const cell = new LoopCell(algorithm, 4);
    for (const tenant of ["v", "b"]) cell.loops(12, { tenant, group: rivals, ...HEAVY });
    cell.pass(8000, []);
    cell.request({ tenant: "a", group: own, ...LIGHT });
    cell.loops(12, { tenant: "a", group: own, ...HEAVY });
    const [a = 0, v = 0, b = 0] = cell.pass(5000, ["a", "v", "b"]);
    const due = algorithm === "hierarchical" && own !== rivals ? 50 : 66;
    expect({ a, v, b, fair: v >= 0.75 * due && b >= 0.75 * due && a > 0 }).toEqual({ a, v, b, fair: true });
  });

  it("bank no credit on one slot: requests of weight 100 that join one of weight 1 in its queue", () => {
    const cell = new LoopCell(algorithm, 1);
    cell.loops(4, { tenant: "v", ...HEAVY });
    cell.pass(200_000, []);
    cell.request({ tenant: "a", model: "lightest", admissionWeight: 1 });
    cell.loops(4, { tenant: "a", ...HEAVY });
    const [a = 0, v = 0] = cell.pass(400_000, ["a", "v"]);
    // One of weight 1 counts as much as a hundred of weight 100.
    expect(Math.abs(v - a - 100)).toBeLessThanOrEqual(10);
  });

  it("leave a tenant's past settled: 2000 requests on a heavy model, then a lighter one", () => {
    const cell = new LoopCell(algorithm, 1);
    cell.loops(4, { tenant: "v", model: "lighter", admissionWeight: 10 });
    for (let at = 0; at < 2000; at += 1) cell.request({ tenant: "a", ...HEAVY });
    const [before = 0] = cell.pass(230_000, ["a"]);
    expect(before).toBe(2000);
    cell.loops(4, { tenant: "a", model: "lighter", admissionWeight: 10 });
    expectEven(cell.pass(400_000, ["a", "v"]), 1);
  });
});

describe("slot caps (hierarchical)", () => {
  const shares = (disturb: (cell: LoopCell) => void): number[] => {
    const cell = new LoopCell("hierarchical", 8);
    for (const tenant of ["a", "v"]) cell.loops(24, { tenant, ...LIGHT });
    cell.pass(2000, []);
    disturb(cell);
    return cell.pass(5000, ["a", "v"]);
  };

  it("are not moved by requests to a heavy model that are cancelled", () => {
    const granted = shares((cell) => {
      for (let at = 0; at < 600; at += 1)
        cell.after(8 * at, () => cell.request({ tenant: "a", cancelledMs: 15, ...HEAVY }));
    });
    expectEven(granted, 8);
  });

  it("for light requests are not those of a heavy one that waits or runs", () => {
    const granted = shares((cell) => cell.loops(1, { tenant: "a", ...HEAVY }));
    expectEven(granted, 8);
  });

  it("for light requests are not those of a heavy model that is full", () => {
    const granted = shares((cell) => cell.loops(30, { tenant: "a", ...HEAVY, modelCap: 1 }));
    expectEven(granted, 8);
  });

  it("are those of the model that is asked for: 7 to 1 for the heavy one", () => {
    const cell = new LoopCell("hierarchical", 8);
    cell.loops(24, { tenant: "v", model: "m50", admissionWeight: 50 });
    cell.loops(24, { tenant: "a", model: "m500", admissionWeight: 500 });
    cell.pass(2000, []);
    const [a = 0, v = 0] = cell.pass(10_000, ["a", "v"]);
    expect({ a: Math.round(a / 100), v: Math.round(v / 100) }).toEqual({ a: 7, v: 1 });
  });
});
