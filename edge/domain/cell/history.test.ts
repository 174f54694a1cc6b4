/** The last hour of a cell: bounded, ascending, and summing to what the scheduler saw. */
import { describe, expect, it } from "vitest";
import { NIL_UUID } from "../../../shared/usage-row.ts";
import { createScheduler } from "../fairshare/scheduler.ts";
import { History, SAMPLE_EVERY_MS, SAMPLE_KEEP_MS, SAMPLE_MAX_TENANTS, sampleOf } from "./history.ts";

/** A scheduler with one slot, and `load[i]` requests of tenant i. */
function loaded(load: readonly number[]) {
  const scheduler = createScheduler({ algorithm: "weighted", maxInFlight: 1 });
  for (const [tenant, requests] of load.entries()) {
    for (let at = 0; at < requests; at += 1) {
      const arrival = {
        requestId: `${tenant}/${at}`,
        tenant: { id: `t${tenant}`, name: `T${tenant}`, weight: 1, maxInFlight: null },
        group: { name: "g", weight: 1 },
        model: { name: "m", admissionWeight: 100, maxInFlight: null },
        costTokens: 1,
      };
      scheduler.apply({ type: "arrive", arrival }, 0);
    }
  }
  return scheduler;
}

describe("a sample", () => {
  it("keeps the busiest tenants and sums the others under the nil tenant", () => {
    const load = Array.from({ length: SAMPLE_MAX_TENANTS + 20 }, (_, tenant) => tenant + 1);
    const sample = sampleOf(loaded(load).snapshot(0), 7);
    expect([sample.ts_ms, sample.max_in_flight, sample.global_in_flight]).toEqual([7, 1, 1]);
    expect(sample.tenants).toHaveLength(SAMPLE_MAX_TENANTS + 1);
    expect(sample.tenants[0]).toMatchObject({ tenant_id: `t${load.length - 1}`, queued: load.length });
    const others = load.slice(0, 20).reduce((total, requests) => total + requests, 0);
    expect(sample.tenants.at(-1)).toEqual({ tenant_id: NIL_UUID, name: "", in_flight: 1, queued: others - 1 });
    expect(sample.groups).toEqual([{ name: "g", in_flight: 1, queued: sample.global_queued }]);
  });

  it("of an idle cell names nobody", () => {
    const scheduler = loaded([1]);
    scheduler.apply({ type: "release", requestId: "0/0", actualTokens: 1 }, 1);
    expect(sampleOf(scheduler.snapshot(2), 2)).toMatchObject({ global_in_flight: 0, groups: [], tenants: [] });
  });
});

describe("the history", () => {
  it("keeps an hour, and answers from a time on", () => {
    const history = new History();
    const snapshot = loaded([1]).snapshot(0);
    const total = SAMPLE_KEEP_MS / SAMPLE_EVERY_MS + 100;
    for (let at = 1; at <= total; at += 1) history.add(snapshot, at * SAMPLE_EVERY_MS);
    const now = total * SAMPLE_EVERY_MS;
    const kept = history.since(0, now).map((sample) => sample.ts_ms);
    expect(kept).toHaveLength(1800);
    expect(kept).toEqual([...kept].sort((a, b) => a - b));
    expect(kept.at(-1)).toBe(now);
    expect(history.since(now - SAMPLE_EVERY_MS, now)).toHaveLength(2);
    expect(history.since(0, now + SAMPLE_KEEP_MS)).toEqual([]);
  });
});
