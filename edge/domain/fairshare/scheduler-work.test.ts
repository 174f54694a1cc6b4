/** A decision costs O(log n + slots): comparisons are counted, never time. */
import { describe, expect, it } from "vitest";
import { createScheduler } from "./scheduler.ts";
import type { Arrival } from "./types.ts";

const SLOTS = 16;
const DECISIONS = 200;

interface Crowd {
  readonly models: readonly string[];
  readonly fullModel: boolean;
  readonly tenantCap: number | null;
}

/** The most comparisons that one release and the grant it causes take, with `tenants` waiting. */
function worstDecision(algorithm: "weighted" | "hierarchical", tenants: number, crowd: Crowd): number {
  let comparisons = 0;
  const scheduler = createScheduler({
    algorithm,
    maxInFlight: SLOTS,
    probe: () => {
      comparisons += 1;
    },
  });
  const arrival = (tenant: number, model: string): Arrival => ({
    requestId: `${tenant}/${model}/${tenant % 7}`,
    tenant: { id: `t${tenant}`, name: `t${tenant}`, weight: 100 + (tenant % 5), maxInFlight: crowd.tenantCap },
    group: { name: `g${tenant % 4}`, weight: 100 },
    model: { name: model, admissionWeight: 100, maxInFlight: model === "full" ? 1 : null },
    costTokens: 10 + (tenant % 90),
  });
  scheduler.apply({ type: "hold", on: true }, 0);
  if (crowd.fullModel) scheduler.apply({ type: "adopt", arrival: arrival(tenants, "full") }, 0);
  for (let tenant = 0; tenant < tenants; tenant += 1)
    for (const model of crowd.fullModel ? ["full", ...crowd.models] : crowd.models)
      scheduler.apply({ type: "arrive", arrival: arrival(tenant, model) }, 0);
  const running = scheduler.apply({ type: "hold", on: false }, 0).map((grant) => grant.requestId);
  let worst = 0;
  for (let decision = 0; decision < DECISIONS; decision += 1) {
    const done = running.shift();
    if (done === undefined) throw new Error("nothing runs");
    comparisons = 0;
    const granted = scheduler.apply({ type: "release", requestId: done, actualTokens: 50 }, 1);
    worst = Math.max(worst, comparisons);
    expect(granted).toHaveLength(1);
    running.push(...granted.map((grant) => grant.requestId));
  }
  return worst;
}

describe.each(["weighted", "hierarchical"] as const)("the work of a decision (%s)", (algorithm) => {
  it.each<[string, Crowd]>([
    ["one model", { models: ["m"], fullModel: false, tenantCap: null }],
    ["tenants at their caps", { models: ["m"], fullModel: false, tenantCap: 1 }],
    ["several models each", { models: ["m", "n", "o"], fullModel: false, tenantCap: null }],
    ["a full model before all others", { models: ["m"], fullModel: true, tenantCap: null }],
  ])("hardly grows from 1,000 to 10,000 waiting tenants: %s", (_name, crowd) => {
    const small = worstDecision(algorithm, 1000, crowd);
    const large = worstDecision(algorithm, 10_000, crowd);
    // A heap of ten times the size is 3.4 levels deeper; a handful of heap moves happen per lane.
    expect(large).toBeLessThanOrEqual(small + 40 * Math.log2(10) * (crowd.models.length + 1));
    expect(large).toBeLessThanOrEqual(40 * (Math.log2(10_000) + SLOTS) * (crowd.models.length + 1));
  });
});
