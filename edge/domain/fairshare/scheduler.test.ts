import { describe, expect, it } from "vitest";
import { apportion } from "../../../shared/fairshare/apportion.ts";
import type { FairshareAlgorithm } from "../../../shared/fairshare/entitled-slots.ts";
import { createScheduler } from "./scheduler.ts";
import type { Arrival, Scheduler } from "./types.ts";

let nextId = 0;

function arrival(
  tenant: string,
  options: Partial<{
    weight: number;
    group: string;
    groupWeight: number;
    model: string;
    modelCap: number;
    tenantCap: number;
    cost: number;
  }> = {},
): Arrival {
  nextId += 1;
  return {
    requestId: `r${nextId}`,
    tenant: { id: tenant, name: tenant, weight: options.weight ?? 100, maxInFlight: options.tenantCap ?? null },
    group: { name: options.group ?? "default", weight: options.groupWeight ?? 100 },
    model: { name: options.model ?? "m", admissionWeight: 100, maxInFlight: options.modelCap ?? null },
    costTokens: options.cost ?? 100,
  };
}

/** Queues everything while grants are held, then lets slots come back one by one; returns the tenants in grant order. */
function grantOrder(scheduler: Scheduler, arrivals: readonly Arrival[], grants: number): string[] {
  const tenantOf = new Map(arrivals.map((entry) => [entry.requestId, entry.tenant.id]));
  scheduler.apply({ type: "hold", on: true }, 0);
  for (const entry of arrivals) scheduler.apply({ type: "arrive", arrival: entry }, 0);
  const running: string[] = scheduler.apply({ type: "hold", on: false }, 0).map((grant) => grant.requestId);
  const order = [...running];
  while (order.length < grants) {
    const done = running.shift();
    if (done === undefined) break;
    const granted = scheduler
      .apply({ type: "release", requestId: done, actualTokens: 100 }, 1)
      .map((grant) => grant.requestId);
    running.push(...granted);
    order.push(...granted);
  }
  return order.slice(0, grants).map((id) => tenantOf.get(id) ?? "");
}

const count = (order: readonly string[], name: string): number => order.filter((entry) => entry === name).length;
const many = (amount: number, make: () => Arrival): Arrival[] => Array.from({ length: amount }, make);

describe("apportionment", () => {
  it.each([
    [8, [500, 50], [7, 1]],
    [8, [100, 100], [4, 4]],
    [10, [300, 100], [8, 2]],
    [4, [1000, 1], [3, 1]],
  ])("%i slots by %j are %j", (slots, weights, shares) => {
    expect(
      apportion(
        slots,
        weights,
        weights.reduce((sum, weight) => sum + weight, 0),
      ),
    ).toEqual(shares);
  });
});

describe("required behaviour (docs/rules/fairshare.md#required-behaviour)", () => {
  it("weighted 3:1 on one slot: heavy gets at least twice as much as light within 40 grants", () => {
    const scheduler = createScheduler({ algorithm: "weighted", maxInFlight: 1 });
    const order = grantOrder(
      scheduler,
      [...many(60, () => arrival("light")), ...many(60, () => arrival("heavy", { weight: 300 }))],
      40,
    );
    expect(count(order, "heavy")).toBeGreaterThanOrEqual(2 * count(order, "light"));
  });

  it("hierarchical groups 3:1 on 8 slots: at least twice within 48 grants", () => {
    const scheduler = createScheduler({ algorithm: "hierarchical", maxInFlight: 8 });
    const heavy = many(80, () => arrival("heavy", { group: "a", groupWeight: 300 }));
    const light = many(80, () => arrival("light", { group: "b" }));
    const order = grantOrder(scheduler, [...light, ...heavy], 48);
    expect(count(order, "heavy")).toBeGreaterThanOrEqual(2 * count(order, "light"));
  });

  it("counts a group without waiting requests as long as it holds slots", () => {
    const scheduler = createScheduler({ algorithm: "hierarchical", maxInFlight: 8 });
    for (const arrived of many(4, () => arrival("a", { group: "A", groupWeight: 400 })))
      scheduler.apply({ type: "arrive", arrival: arrived }, 0);
    const b = many(9, () => arrival("b", { group: "B", groupWeight: 300 }));
    const c = many(9, () => arrival("c", { group: "C", groupWeight: 100, cost: 1 }));
    // 8 slots by 400, 300 and 100 are 4, 3 and 1, although the last one's requests are cheap.
    const order = grantOrder(scheduler, [...b, ...c], 4);
    expect({ b: count(order, "b"), c: count(order, "c") }).toEqual({ b: 3, c: 1 });
  });

  it("groups 500:50: the light one gets the first slot that frees when the heavy one holds all 8", () => {
    const scheduler = createScheduler({ algorithm: "hierarchical", maxInFlight: 8 });
    const heavy = many(20, () => arrival("heavy", { group: "a", groupWeight: 500 }));
    const granted = heavy.flatMap((entry) => scheduler.apply({ type: "arrive", arrival: entry }, 0));
    expect(granted).toHaveLength(8);
    const light = arrival("light", { group: "b", groupWeight: 50 });
    expect(scheduler.apply({ type: "arrive", arrival: light }, 1)).toEqual([]);
    const next = scheduler.apply({ type: "release", requestId: granted[0]?.requestId ?? "", actualTokens: 100 }, 2);
    expect(next).toEqual([{ requestId: light.requestId, admission: "queued", queueWaitMs: 1 }]);
  });

  it.each(["weighted", "hierarchical"] as const)(
    "two equal tenants share 8 slots 4 to 4 (%s)",
    (algorithm: FairshareAlgorithm) => {
      const scheduler = createScheduler({ algorithm, maxInFlight: 8 });
      const order = grantOrder(scheduler, [...many(20, () => arrival("a")), ...many(20, () => arrival("b"))], 8);
      expect({ a: count(order, "a"), b: count(order, "b") }).toEqual({ a: 4, b: 4 });
    },
  );

  it.each(["weighted", "hierarchical"] as const)(
    "a full model blocks no other model of the same tenant (%s)",
    (algorithm) => {
      const scheduler = createScheduler({ algorithm, maxInFlight: 8 });
      const first = arrival("a", { model: "full", modelCap: 1 });
      expect(scheduler.apply({ type: "arrive", arrival: first }, 0)).toHaveLength(1);
      expect(scheduler.apply({ type: "arrive", arrival: arrival("a", { model: "full", modelCap: 1 }) }, 0)).toEqual([]);
      const other = arrival("a", { model: "free" });
      expect(scheduler.apply({ type: "arrive", arrival: other }, 0)).toEqual([
        { requestId: other.requestId, admission: "fast", queueWaitMs: 0 },
      ]);
    },
  );

  it.each(["weighted", "hierarchical"] as const)(
    "grants a tenant's earliest admissible request first (%s)",
    (algorithm) => {
      const scheduler = createScheduler({ algorithm, maxInFlight: 10 });
      const ask = (tenant: string, model: string): string => {
        const asked = arrival(tenant, { model, modelCap: 1 });
        scheduler.apply({ type: "arrive", arrival: asked }, 0);
        return asked.requestId;
      };
      const release = (requestId: string) => scheduler.apply({ type: "release", requestId, actualTokens: 100 }, 0);
      const [, holdsB = "", holdsC = ""] = ["a", "b", "c"].map((model) => ask("holder", model));
      const [, runs = "", earlier, later] = ["a", "b", "b", "c"].map((model) => ask("t", model));
      // It has been served at b and not at c, so its score there is higher.
      release(holdsB);
      scheduler.apply({ type: "hold", on: true }, 0);
      release(runs);
      release(holdsC);
      const granted = scheduler.apply({ type: "hold", on: false }, 0).map(({ requestId }) => requestId);
      expect(granted).toEqual([earlier, later]);
    },
  );

  it.each(["weighted", "hierarchical"] as const)("slots of an idle partner are used by others (%s)", (algorithm) => {
    const scheduler = createScheduler({ algorithm, maxInFlight: 8 });
    scheduler.apply({ type: "arrive", arrival: arrival("b", { group: "b" }) }, 0);
    for (const entry of many(20, () => arrival("a", { group: "a" })))
      scheduler.apply({ type: "arrive", arrival: entry }, 0);
    expect(scheduler.inFlight).toBe(8);
  });
});

describe("a place in the queue", () => {
  it("is given up by leaving, and a slot by release", () => {
    const scheduler = createScheduler({ algorithm: "hierarchical", maxInFlight: 1 });
    const [first, second, third] = [arrival("a"), arrival("a"), arrival("a")];
    for (const entry of [first, second, third]) scheduler.apply({ type: "arrive", arrival: entry }, 0);
    expect(scheduler.queued).toBe(2);
    expect(scheduler.apply({ type: "leave", requestId: second.requestId }, 5)).toEqual([]);
    expect(scheduler.apply({ type: "release", requestId: first.requestId, actualTokens: 0 }, 9)).toEqual([
      { requestId: third.requestId, admission: "queued", queueWaitMs: 9 },
    ]);
    scheduler.apply({ type: "release", requestId: third.requestId, actualTokens: 10 }, 10);
    expect({ inFlight: scheduler.inFlight, queued: scheduler.queued }).toEqual({ inFlight: 0, queued: 0 });
  });

  it("is kept while grants are held after a reset; adopted slots count above the cap", () => {
    const scheduler = createScheduler({ algorithm: "hierarchical", maxInFlight: 1 });
    scheduler.apply({ type: "hold", on: true }, 0);
    const adopted = [arrival("a"), arrival("a")];
    for (const entry of adopted) scheduler.apply({ type: "adopt", arrival: entry }, 0);
    const waiting = arrival("b");
    expect(scheduler.apply({ type: "arrive", arrival: waiting }, 0)).toEqual([]);
    expect(scheduler.apply({ type: "hold", on: false }, 500)).toEqual([]);
    expect(scheduler.inFlight).toBe(2);
    scheduler.apply({ type: "release", requestId: adopted[0]?.requestId ?? "", actualTokens: 1 }, 600);
    expect(
      scheduler.apply({ type: "release", requestId: adopted[1]?.requestId ?? "", actualTokens: 1 }, 700),
    ).toHaveLength(1);
  });

  it("moves up at once when the capacity is raised", () => {
    const scheduler = createScheduler({ algorithm: "weighted", maxInFlight: 1 });
    for (const entry of many(5, () => arrival("a"))) scheduler.apply({ type: "arrive", arrival: entry }, 0);
    expect(scheduler.apply({ type: "capacity", maxInFlight: 3 }, 1)).toHaveLength(2);
  });
});

describe("a slot that is lent (docs/rules/fairshare.md#lending)", () => {
  /** Nine slots of three equal groups: `idle` may use one, the others their three each, and two are lent. */
  const lent = (costs: Readonly<Record<"b1" | "b2" | "c", number>>): readonly string[] => {
    const scheduler = createScheduler({ algorithm: "hierarchical", maxInFlight: 9 });
    const waiting = [
      ...many(9, () => arrival("idle", { group: "a", tenantCap: 1 })),
      ...many(9, () => arrival("b1", { group: "b", cost: costs.b1 })),
      ...many(9, () => arrival("b2", { group: "b", cost: costs.b2 })),
      ...many(9, () => arrival("c", { group: "c", cost: costs.c })),
    ];
    const order = grantOrder(scheduler, waiting, 9);
    const entitled = order.slice(0, 7);
    const b = count(entitled, "b1") + count(entitled, "b2");
    expect({ idle: count(entitled, "idle"), b, c: count(entitled, "c") }).toEqual({ idle: 1, b: 3, c: 3 });
    return order.slice(7);
  };

  it("goes to the group with the smallest score, and in it to the tenant with the smallest", () => {
    expect(lent({ b1: 10, b2: 100, c: 300 })).toEqual(["b1", "b1"]);
    expect(lent({ b1: 100, b2: 10, c: 300 })).toEqual(["b2", "b2"]);
    expect(lent({ b1: 100, b2: 300, c: 10 })).toEqual(["c", "c"]);
  });
});
