import { describe, expect, it } from "vitest";
import { Registry } from "./registry.ts";
import { createScheduler } from "./scheduler.ts";

const MODEL = { name: "m", admissionWeight: 100, maxInFlight: null } as const;

describe("what the scheduler remembers", () => {
  it("of tenants is dropped by an occasional sweep once they are idle and may be forgotten", () => {
    const known = new Registry();
    const meet = (id: string, nowMs: number) =>
      known.tenant({ id, name: id, weight: 100, maxInFlight: null }, known.group({ name: "g", weight: 100 }), nowMs);
    for (let at = 0; at < 1023; at += 1) meet(`t${at}`, 0);
    known.sweep(10, () => true);
    expect(known.tenants()).toHaveLength(1023);
    meet("late", 20);
    meet("busy", 0).inFlight = 1;
    meet("owes", 0);
    known.sweep(10, (tenant) => tenant.id !== "owes");
    expect(known.tenants().map((tenant) => tenant.id)).toEqual(["late", "busy", "owes"]);
  });

  it("of served tokens is cleared once the whole cell is idle, and idle tenants are dropped", () => {
    const scheduler = createScheduler({ algorithm: "hierarchical", maxInFlight: 2 });
    for (let at = 0; at < 5000; at += 1) {
      const arrival = {
        requestId: `r${at}`,
        tenant: { id: `t${at}`, name: `t${at}`, weight: 100, maxInFlight: null },
        group: { name: "g", weight: 100 },
        model: MODEL,
        costTokens: 10,
      };
      expect(scheduler.apply({ type: "arrive", arrival }, 100 * at)).toHaveLength(1);
      scheduler.apply({ type: "release", requestId: `r${at}`, actualTokens: 10 }, 100 * at);
    }
    const live = scheduler.snapshot(500_000);
    expect(live.groups.map((group) => group.servedTokens)).toEqual([0]);
    expect(live.tenants.length).toBeLessThanOrEqual(600);
    expect(live.tenants.every((tenant) => tenant.servedTokens === 0)).toBe(true);
  });
});
