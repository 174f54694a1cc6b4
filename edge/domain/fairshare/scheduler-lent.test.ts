/** Lending slots, by example: when it is refused, and what becomes of a lent slot. */
import { describe, expect, it } from "vitest";
import { createScheduler } from "./scheduler.ts";
import type { Arrival, Scheduler } from "./types.ts";

interface Shape {
  readonly tenant?: string;
  readonly model?: string;
  readonly group?: string;
  readonly tenantCap?: number;
  readonly modelCap?: number;
}

function arrivalOf(requestId: string, shape: Shape = {}): Arrival {
  const { tenant = "a", model = "m", group = "g", tenantCap = null, modelCap = null } = shape;
  return {
    requestId,
    tenant: { id: tenant, name: tenant, weight: 100, maxInFlight: tenantCap },
    group: { name: group, weight: 100 },
    model: { name: model, admissionWeight: 100, maxInFlight: modelCap },
    costTokens: 100,
  };
}

const arrive = (scheduler: Scheduler, requestId: string, shape: Shape = {}) =>
  scheduler.apply({ type: "arrive", arrival: arrivalOf(requestId, shape) }, 0).map((grant) => grant.requestId);
const shapes = (count: number, shape: Shape = {}) => Array.from({ length: count }, () => shape);

describe.each(["weighted", "hierarchical"] as const)("a slot (%s)", (algorithm) => {
  const make = (maxInFlight = 8): Scheduler => createScheduler({ algorithm, maxInFlight });

  it("is lent while one is left for others, and twice under one id only once", () => {
    const scheduler = make(3);
    expect(["1", "2", "3", "1"].map((id) => scheduler.lend(id, arrivalOf("")))).toEqual([true, true, false, true]);
    expect([scheduler.lent, scheduler.inFlight]).toEqual([2, 0]);
    expect([...arrive(scheduler, "r1"), ...arrive(scheduler, "r2")]).toEqual(["r1"]);
  });

  it.each([
    ["tenant", { tenantCap: 2 }],
    ["model", { modelCap: 2 }],
  ])("is not lent above the cap of its %s, as known or as newly stated", (_, capped) => {
    const scheduler = make();
    expect(shapes(3, capped).map((shape, at) => scheduler.lend(`${at}`, arrivalOf("", shape)))).toEqual([
      true,
      true,
      false,
    ]);
    expect(scheduler.lend("3", arrivalOf("", { tenantCap: 2, modelCap: 2 }))).toBe(false);
    expect(make().lend("1", arrivalOf("", { tenantCap: 0 }))).toBe(false);
  });

  it.each([
    ["tenant", { tenant: "a", model: "other", group: "g" }],
    ["model", { tenant: "other", model: "full", group: "other" }],
    ["group", { tenant: "other", model: "other", group: "g" }],
  ])("is not lent while somebody waits on its %s", (_, shape) => {
    const scheduler = make();
    const full: Shape = { model: "full", modelCap: 1 };
    expect([...arrive(scheduler, "r1", full), ...arrive(scheduler, "r2", full)]).toEqual(["r1"]);
    expect(scheduler.lend("1", arrivalOf("", shape))).toBe(false);
    scheduler.apply({ type: "leave", requestId: "r2" }, 0);
    expect(scheduler.lend("1", arrivalOf("", { tenant: "a", model: "m" }))).toBe(true);
  });

  it("is not lent while grants are held", () => {
    const scheduler = make();
    scheduler.apply({ type: "hold", on: true }, 0);
    expect(scheduler.lend("1", arrivalOf(""))).toBe(false);
    scheduler.apply({ type: "hold", on: false }, 0);
    expect(scheduler.lend("1", arrivalOf(""))).toBe(true);
  });

  it.each([
    ["the cell", 2, {}],
    ["its tenant", 8, { tenantCap: 1 }],
    ["its model", 8, { modelCap: 1 }],
  ])("that is lent is in the way of who waits for %s, and of nobody once it came back", (_, max, shape) => {
    const scheduler = make(max);
    expect(scheduler.lend("1", arrivalOf("", shape))).toBe(true);
    if (max === 2) arrive(scheduler, "r0");
    expect(scheduler.lentInTheWay()).toBe(false);
    expect(arrive(scheduler, "r1", shape)).toEqual([]);
    expect(scheduler.lentInTheWay()).toBe(true);
    expect(scheduler.apply({ type: "unlend", lentId: "1" }, 3)).toEqual([
      { requestId: "r1", admission: "queued", queueWaitMs: 3 },
    ]);
    expect([scheduler.lentInTheWay(), scheduler.lent]).toEqual([false, 0]);
    expect(scheduler.apply({ type: "unlend", lentId: "1" }, 3)).toEqual([]);
  });

  it("that is lent is in nobody's way who waits for something else", () => {
    const scheduler = make();
    expect(scheduler.lend("1", arrivalOf(""))).toBe(true);
    const full: Shape = { tenant: "b", model: "full", group: "h", modelCap: 1 };
    expect([...arrive(scheduler, "r1", full), ...arrive(scheduler, "r2", full)]).toEqual(["r1"]);
    expect(scheduler.lentInTheWay()).toBe(false);
  });

  it("that was lent is taken by the request it was for, also when it is not lent any more and the cell is full", () => {
    const scheduler = make(2);
    scheduler.lend("1", arrivalOf(""));
    scheduler.apply({ type: "occupy", lentId: "1", arrival: arrivalOf("r1") }, 0);
    expect([scheduler.inFlight, scheduler.lent]).toEqual([1, 0]);
    arrive(scheduler, "r2");
    scheduler.apply({ type: "occupy", lentId: "1", arrival: arrivalOf("r3") }, 0);
    expect([scheduler.inFlight, scheduler.lent]).toEqual([3, 0]);
    expect(scheduler.snapshot(0).tenants[0]?.servedTokens).toBe(300);
  });

  it("is free again when the request that took it has another; a request that waited leaves its queue", () => {
    const scheduler = make(3);
    arrive(scheduler, "r1");
    scheduler.lend("1", arrivalOf(""));
    scheduler.apply({ type: "occupy", lentId: "1", arrival: arrivalOf("r1") }, 0);
    expect([scheduler.inFlight, scheduler.lent]).toEqual([1, 0]);
    scheduler.lend("2", arrivalOf(""));
    arrive(scheduler, "r2");
    arrive(scheduler, "r3");
    expect(scheduler.queued).toBe(1);
    scheduler.apply({ type: "occupy", lentId: "2", arrival: arrivalOf("r3") }, 0);
    expect([scheduler.inFlight, scheduler.lent, scheduler.queued]).toEqual([3, 0, 0]);
  });

  it("is lent on when its request ends, before anybody who waits can have it; an unknown request lends nothing", () => {
    const scheduler = make(1);
    arrive(scheduler, "r1");
    arrive(scheduler, "r2", { tenant: "b" });
    const vacate = { type: "vacate", requestId: "r1", actualTokens: 40, lentId: "1" } as const;
    expect(scheduler.apply(vacate, 0)).toEqual([]);
    expect([scheduler.inFlight, scheduler.lent, scheduler.lentInTheWay()]).toEqual([0, 1, true]);
    expect(scheduler.apply({ ...vacate, lentId: "2" }, 0)).toEqual([]);
    expect(scheduler.lent).toBe(1);
    expect(scheduler.apply({ type: "unlend", lentId: "1" }, 0)).toHaveLength(1);
  });

  it("that is lent keeps its tenant from being forgotten, however many come and go meanwhile", () => {
    const scheduler = make();
    scheduler.lend("1", arrivalOf("", { tenantCap: 1 }));
    for (let at = 0; at < 3000; at += 1) {
      const arrival = arrivalOf(`r${at}`, { tenant: `t${at}` });
      scheduler.apply({ type: "arrive", arrival }, at * 100);
      scheduler.apply({ type: "release", requestId: arrival.requestId, actualTokens: 0 }, at * 100);
    }
    expect(arrive(scheduler, "late", { tenantCap: 1 })).toEqual([]);
    expect(scheduler.lentInTheWay()).toBe(true);
  });
});
