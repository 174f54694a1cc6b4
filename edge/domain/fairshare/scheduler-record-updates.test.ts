/**
 * New weights, caps and groups count at once for everything that waits already
 * (docs/rules/fairshare.md#admissible-heads, docs/rules/fairshare.md#choosing-the-next).
 */
import { describe, expect, it } from "vitest";
import type { FairshareAlgorithm } from "../../../shared/fairshare/entitled-slots.ts";
import { createScheduler } from "./scheduler.ts";
import type { Arrival, SchedulerEvent } from "./types.ts";

const ALGORITHMS = ["weighted", "hierarchical"] as const;

/** One slot, and a hundred requests of each tenant waiting for it, given as `tenant/model` or `tenant/model@group`. */
class Line {
  readonly #scheduler;
  #running: string[] = [];

  constructor(algorithm: FairshareAlgorithm, whoAndWhat: readonly string[], maxInFlight = 1) {
    this.#scheduler = createScheduler({ algorithm, maxInFlight });
    for (let at = 0; at < 100; at += 1)
      for (const name of whoAndWhat) this.#apply({ type: "arrive", arrival: arrivalOf(name, at) });
  }

  /** The ids granted at once by a change. */
  change(event: SchedulerEvent): string[] {
    return this.#apply(event).map(nameOf);
  }

  /** The tenants that are granted one after the other, as one request after the other ends. */
  next(count: number): string[] {
    return Array.from({ length: count }, () => {
      const done = this.#running.shift() ?? "";
      return this.#apply({ type: "release", requestId: done, actualTokens: 100 }).map(nameOf);
    }).flat();
  }

  #apply(event: SchedulerEvent): string[] {
    const granted = this.#scheduler.apply(event, 0).map((grant) => grant.requestId);
    this.#running.push(...granted);
    return granted;
  }
}

function arrivalOf(name: string, at: number): Arrival {
  const [tenant = "", model = "", group = "g"] = name.split(/[/@]/);
  return {
    requestId: `${name}#${at}`,
    tenant: { id: tenant, name: tenant, weight: 100, maxInFlight: null },
    group: { name: group, weight: 100 },
    model: { name: model, admissionWeight: 100, maxInFlight: null },
    costTokens: 100,
  };
}

function nameOf(requestId: string): string {
  return requestId.split("#")[0] ?? "";
}

function countOf(names: readonly string[], name: string): number {
  return names.filter((other) => other === name).length;
}

describe.each(ALGORITHMS)("a change while requests wait (%s)", (algorithm) => {
  it("of a tenant's weight divides later grants, and charges no tenant for the past", () => {
    const line = new Line(algorithm, ["a/m", "b/m"]);
    line.next(40);
    line.change({ type: "tenant", id: "a", weight: 300 });
    const granted = line.next(40);
    expect(countOf(granted, "a/m")).toBeGreaterThanOrEqual(29);
    expect(countOf(granted, "a/m")).toBeLessThanOrEqual(31);
    line.change({ type: "tenant", id: "a", weight: 100 });
    expect(Math.abs(countOf(line.next(20), "a/m") - 10)).toBeLessThanOrEqual(1);
  });

  it("of a tenant's cap holds it back and releases it", () => {
    const line = new Line(algorithm, ["a/m", "b/m"], 4);
    line.change({ type: "tenant", id: "a", maxInFlight: 1 });
    line.next(8);
    expect(countOf(line.next(40), "a/m")).toBeLessThanOrEqual(11);
    line.change({ type: "tenant", id: "b", maxInFlight: 1 });
    expect(line.change({ type: "capacity", maxInFlight: 40 })).toEqual([]);
    expect(line.change({ type: "tenant", id: "a", maxInFlight: 5 })).toEqual(["a/m", "a/m", "a/m", "a/m"]);
  });

  it("of a model's cap holds back or grants its own requests, and never blocks another model", () => {
    const line = new Line(algorithm, ["a/m", "a/n"], 2);
    line.change({ type: "model", name: "m", maxInFlight: 1 });
    line.next(2);
    expect(countOf(line.next(20), "a/n")).toBeGreaterThanOrEqual(10);
    expect(line.change({ type: "capacity", maxInFlight: 4 })).toEqual(["a/n", "a/n"]);
    line.change({ type: "model", name: "n", maxInFlight: 3 });
    expect(line.change({ type: "capacity", maxInFlight: 8 })).toEqual([]);
    expect(line.change({ type: "model", name: "m", maxInFlight: 3 })).toEqual(["a/m", "a/m"]);
    expect(line.change({ type: "model", name: "m", maxInFlight: null })).toEqual(["a/m", "a/m"]);
  });

  it("of a model's admission weight counts for every head of it", () => {
    const line = new Line(algorithm, ["a/m", "b/n"]);
    line.change({ type: "model", name: "m", admissionWeight: 900 });
    expect(countOf(line.next(40), "a/m")).toBeGreaterThanOrEqual(35);
  });
});

describe("a change while requests wait (hierarchical)", () => {
  it("of a model's admission weight counts for the very next slot", () => {
    const line = new Line("hierarchical", ["b/n", "a/m"], 4);
    line.change({ type: "model", name: "m", admissionWeight: 300 });
    expect(line.next(1)).toEqual(["a/m"]);
  });

  it("of a model's admission weight re-weighs the slot caps of tenants that requested it last", () => {
    const line = new Line("hierarchical", ["a/m", "b/n"], 4);
    line.next(4);
    line.change({ type: "model", name: "m", admissionWeight: 300 });
    const granted = line.next(40);
    expect(Math.abs(countOf(granted, "a/m") - 30)).toBeLessThanOrEqual(2);
  });

  it("of a group's weight divides later grants, and charges no group for the past", () => {
    const line = new Line("hierarchical", ["a/m@x", "b/m@y"]);
    line.next(40);
    line.change({ type: "group", name: "x", weight: 300 });
    const granted = line.next(40);
    expect(countOf(granted, "a/m@x")).toBeGreaterThanOrEqual(29);
    expect(countOf(granted, "a/m@x")).toBeLessThanOrEqual(31);
  });

  it("of a tenant's group takes its queue along", () => {
    const line = new Line("hierarchical", ["a/m@x", "b/m@y", "c/m@y"]);
    line.next(40);
    line.change({ type: "tenant", id: "b", group: { name: "x", weight: 100 } });
    const granted = line.next(40);
    expect(
      [countOf(granted, "a/m@x"), countOf(granted, "b/m@y"), countOf(granted, "c/m@y")].map((count) =>
        Math.round(count / 5),
      ),
    ).toEqual([2, 2, 4]);
  });

  it("of a tenant's group to one that was idle gives that group no credit", () => {
    const line = new Line("hierarchical", ["a/m@x", "b/m@y"]);
    line.next(80);
    line.change({ type: "tenant", id: "b", group: { name: "z", weight: 100 } });
    expect(Math.abs(countOf(line.next(20), "a/m@x") - 10)).toBeLessThanOrEqual(1);
  });
});

describe("a request adopted after a reset", () => {
  it("brings values for what is not known yet, and changes nothing that is", () => {
    const scheduler = createScheduler({ algorithm: "hierarchical", maxInFlight: 8 });
    scheduler.apply({ type: "arrive", arrival: arrivalOf("a/m@x", 0) }, 0);
    const old = arrivalOf("a/m@y", 1);
    const arrival = { ...old, tenant: { ...old.tenant, weight: 7 }, model: { ...old.model, maxInFlight: 1 } };
    scheduler.apply({ type: "adopt", arrival }, 0);
    const other = arrivalOf("b/n@z", 2);
    scheduler.apply({ type: "adopt", arrival: { ...other, tenant: { ...other.tenant, weight: 7 } } }, 0);
    expect(scheduler.apply({ type: "arrive", arrival: arrivalOf("c/m@x", 3) }, 0)).toHaveLength(1);
    expect(scheduler.snapshot(0).tenants.map((row) => [row.name, row.weight, row.fairshareGroup])).toEqual([
      ["a", 100, "x"],
      ["b", 7, "z"],
      ["c", 100, "x"],
    ]);
  });
});
