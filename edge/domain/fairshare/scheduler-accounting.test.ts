/** The scheduler's records: charges, corrections, shares shown, and changes that take effect at once. */
import { describe, expect, it } from "vitest";
import { createScheduler } from "./scheduler.ts";
import type { Arrival, Scheduler, TenantSnapshot } from "./types.ts";

const ALGORITHMS = ["weighted", "hierarchical"] as const;

function arrivalOf(requestId: string, tenant: string, group = "g", costTokens = 100, weight = 100): Arrival {
  return {
    requestId,
    tenant: { id: tenant, name: tenant, weight, maxInFlight: null },
    group: { name: group, weight: 100 },
    model: { name: "m", admissionWeight: 100, maxInFlight: null },
    costTokens,
  };
}

function tenantOf(scheduler: Scheduler, id: string): TenantSnapshot | undefined {
  return scheduler.snapshot(0).tenants.find((tenant) => tenant.tenantId === id);
}

/** Arrives `count` requests of a tenant; answers the ids granted. */
function arrive(scheduler: Scheduler, count: number, tenant: string, group = "g"): string[] {
  return Array.from({ length: count }, (_, at) => at).flatMap((at) =>
    scheduler
      .apply({ type: "arrive", arrival: arrivalOf(`${tenant}/${at}`, tenant, group) }, 0)
      .map((grant) => grant.requestId),
  );
}

describe.each(ALGORITHMS)("served tokens (%s)", (algorithm) => {
  it("are charged at grant, corrected at release, and never below 0", () => {
    const scheduler = createScheduler({ algorithm, maxInFlight: 8 });
    arrive(scheduler, 2, "a");
    expect(tenantOf(scheduler, "a")?.servedTokens).toBe(200);
    scheduler.apply({ type: "release", requestId: "a/0", actualTokens: 350 }, 0);
    expect(tenantOf(scheduler, "a")?.servedTokens).toBe(450);
    arrive(scheduler, 1, "b");
    scheduler.apply({ type: "release", requestId: "a/1", actualTokens: 0 }, 0);
    expect(tenantOf(scheduler, "a")?.servedTokens).toBe(350);
  });

  it("are 0 again when the whole cell is idle, not before", () => {
    const scheduler = createScheduler({ algorithm, maxInFlight: 8 });
    arrive(scheduler, 1, "a");
    arrive(scheduler, 1, "b");
    scheduler.apply({ type: "release", requestId: "a/0", actualTokens: 100 }, 0);
    expect(tenantOf(scheduler, "a")?.servedTokens).toBe(100);
    scheduler.apply({ type: "release", requestId: "b/0", actualTokens: 100 }, 0);
    expect({ a: tenantOf(scheduler, "a")?.servedTokens, b: tenantOf(scheduler, "b")?.servedTokens }).toEqual({
      a: 0,
      b: 0,
    });
  });

  it("do not starve a tenant that moves to a group that was served less", () => {
    const scheduler = createScheduler({ algorithm, maxInFlight: 1 });
    let running = arrive(scheduler, 101, "mover", "old")[0] ?? "";
    const release = (): string =>
      scheduler.apply({ type: "release", requestId: running, actualTokens: 100 }, 0)[0]?.requestId ?? "";
    for (let count = 0; count < 80; count += 1) running = release();
    arrive(scheduler, 50, "native", "new");
    running = release();
    running = release();
    scheduler.apply({ type: "tenant", id: "mover", group: { name: "new", weight: 100 } }, 0);
    const order: string[] = [];
    for (let count = 0; count < 20; count += 1) {
      running = release();
      order.push(running.split("/")[0] ?? "");
    }
    expect(order.filter((tenant) => tenant === "mover").length).toBeGreaterThanOrEqual(9);
    expect(order.filter((tenant) => tenant === "native").length).toBeGreaterThanOrEqual(9);
  });
});

describe("what an admin reads (docs/rules/fairshare.md#live-view)", () => {
  it("hierarchical: shares of the group times shares within it, and the group's cap", () => {
    const scheduler = createScheduler({ algorithm: "hierarchical", maxInFlight: 8 });
    scheduler.apply({ type: "arrive", arrival: arrivalOf("1", "b", "y", 100, 300) }, 0);
    scheduler.apply({ type: "arrive", arrival: arrivalOf("2", "a", "y", 50) }, 0);
    scheduler.apply({ type: "arrive", arrival: arrivalOf("3", "c", "x") }, 0);
    const live = scheduler.snapshot(0);
    expect(live.groups.map((group) => [group.name, group.slotCap, group.weightShare, group.expectedSlots])).toEqual([
      ["x", 4, 0.5, 4],
      ["y", 4, 0.5, 4],
    ]);
    expect(live.tenants.map((tenant) => [tenant.name, tenant.shareScore, tenant.weightShare])).toEqual([
      ["a", 0.5, 0.125],
      ["b", 100 / 300, 0.375],
      ["c", 1, 0.5],
    ]);
    expect(live.modelInFlight).toEqual({ m: 3 });
  });

  it("weighted: shares over all tenants, and the whole cell as every group's cap", () => {
    const scheduler = createScheduler({ algorithm: "weighted", maxInFlight: 8 });
    scheduler.apply({ type: "arrive", arrival: arrivalOf("1", "a", "x", 100, 300) }, 0);
    scheduler.apply({ type: "arrive", arrival: arrivalOf("2", "b", "y") }, 0);
    const live = scheduler.snapshot(0);
    expect(live.tenants.map((tenant) => [tenant.weightShare, tenant.expectedSlots])).toEqual([
      [0.75, 6],
      [0.25, 2],
    ]);
    expect(live.groups.map((group) => group.slotCap)).toEqual([8, 8]);
  });
});

describe("ten tenants of a group that come and go together", () => {
  it("leave both groups their caps while both have requests", () => {
    const scheduler = createScheduler({ algorithm: "hierarchical", maxInFlight: 8 });
    let running = arrive(scheduler, 10_000, "steady", "A");
    const held = new Map([
      ["A", 0],
      ["B", 0],
    ]);
    for (let visit = 0; visit < 40; visit += 1) {
      for (let at = 0; at < 100; at += 1) {
        const arrival = arrivalOf(`guest${at % 10}/${visit}/${at}`, `guest${at % 10}`, "B");
        running.push(...scheduler.apply({ type: "arrive", arrival }, 0).map((grant) => grant.requestId));
      }
      // Every request lasts one round of the slots; the first rounds only hand slots over.
      for (
        let step = 0;
        (scheduler.snapshot(0).groups.find((group) => group.name === "B")?.queued ?? 0) > 0;
        step += 1
      ) {
        const [done = "", ...others] = running;
        const granted = scheduler.apply({ type: "release", requestId: done, actualTokens: 100 }, 0);
        running = [...others, ...granted.map((grant) => grant.requestId)];
        if (step < 8) continue;
        for (const id of running) {
          const group = id.startsWith("guest") ? "B" : "A";
          held.set(group, (held.get(group) ?? 0) + 1);
        }
      }
      while (running.some((id) => id.startsWith("guest"))) {
        const [done = "", ...others] = running;
        const granted = scheduler.apply({ type: "release", requestId: done, actualTokens: 100 }, 0);
        running = [...others, ...granted.map((grant) => grant.requestId)];
      }
    }
    expect(scheduler.queued).toBeGreaterThan(0);
    const share = (held.get("A") ?? 0) / ((held.get("A") ?? 0) + (held.get("B") ?? 0));
    expect(Math.abs(share - 0.5)).toBeLessThanOrEqual(0.05 * 0.5);
  });
});
