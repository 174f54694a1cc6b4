/** The last hour of a cell: bounded, ascending, and with the scheduler's sums. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { NIL_UUID } from "../../../shared/usage/usage-row.ts";
import { createScheduler } from "../fairshare/scheduler.ts";
import {
  History,
  type HistoryDisk,
  type HistoryMinute,
  SAMPLE_EVERY_MS,
  SAMPLE_KEEP_MS,
  SAMPLE_MAX_TENANTS,
  sampleOf,
} from "./history.ts";

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
    expect({
      ts_ms: sample.ts_ms,
      max_in_flight: sample.max_in_flight,
      global_in_flight: sample.global_in_flight,
    }).toEqual({ ts_ms: 7, max_in_flight: 1, global_in_flight: 1 });
    expect(sample.tenants).toHaveLength(SAMPLE_MAX_TENANTS + 1);
    expect(sample.tenants[0]).toMatchObject({ tenant_id: `t${load.length - 1}`, queued: load.length });
    const others = load.slice(0, 20).reduce((total, requests) => total + requests, 0);
    expect(sample.tenants.at(-1)).toEqual({ tenant_id: NIL_UUID, name: "", in_flight: 1, queued: others - 1 });
    expect(sample.groups).toEqual([{ name: "g", in_flight: 1, queued: sample.global_queued }]);
  });

  it("of an idle cell names no tenant", () => {
    const scheduler = loaded([1]);
    scheduler.apply({ type: "release", requestId: "0/0", actualTokens: 1 }, 1);
    expect(sampleOf(scheduler.snapshot(2), 2)).toMatchObject({ global_in_flight: 0, groups: [], tenants: [] });
  });
});

/** A disk in memory that counts writes. */
class Disk implements HistoryDisk {
  readonly rows = new Map<number, HistoryMinute>();
  writes = 0;
  failing = false;

  minutes(): readonly HistoryMinute[] {
    return [...this.rows.values()].sort((a, b) => a.minute - b.minute);
  }

  lastMinute(): HistoryMinute | null {
    return this.minutes().at(-1) ?? null;
  }

  write(minute: HistoryMinute): void {
    if (this.failing) throw new Error("the disk is full");
    this.writes += 1;
    this.rows.set(minute.minute, structuredClone(minute));
  }
}

describe("the history", () => {
  const MINUTE_MS = 60_000;
  const busy = loaded([1]).snapshot(0);

  it("writes one row a minute while active, and has every sample of an hour in its next life", () => {
    const disk = new Disk();
    const history = new History(disk);
    for (let nowMs = 0; nowMs < 30 * MINUTE_MS; nowMs += SAMPLE_EVERY_MS) {
      history.add(busy, nowMs);
      if (nowMs % (5 * SAMPLE_EVERY_MS) === 0) history.save(false);
    }
    expect(disk.writes).toBe(29);
    history.save(true);
    history.save(true);
    expect(disk.writes).toBe(30);
    expect(new History(disk).since(0, 30 * MINUTE_MS)).toEqual(history.since(0, 30 * MINUTE_MS));
    expect(history.since(0, 30 * MINUTE_MS)).toHaveLength(900);
  });

  it("is whole and ascending across rests, restarts, disk failures and reads", () => {
    const step = fc.record({
      gap: fc.constantFrom(1, 1, 1, 2, 31, 400),
      next: fc.constantFrom("nothing", "save", "rest", "restart", "read", "fail"),
    });
    fc.assert(
      fc.property(fc.array(step, { size: "max", maxLength: 200 }), (steps) => {
        const disk = new Disk();
        let history = new History(disk);
        let nowMs = 0;
        const reported: number[] = [];
        for (const { gap, next } of steps) {
          nowMs += gap * SAMPLE_EVERY_MS;
          history.add(busy, nowMs);
          reported.push(nowMs);
          disk.failing = next === "fail";
          if (next === "fail") expect(() => history.save(true)).toThrow("full");
          if (next === "save") history.save(false);
          if (next === "rest" || next === "restart") history.save(true);
          if (next === "restart") history = new History(disk);
          if (next === "read") history.since(0, nowMs);
        }
        const kept = reported.filter((ms) => ms > nowMs - SAMPLE_KEEP_MS);
        expect(history.since(0, nowMs).map((sample) => sample.ts_ms)).toEqual(kept);
      }),
    );
  });

  it("shows after a restart only what was active in the last minute, with nothing in flight", () => {
    const disk = new Disk();
    const before = new History(disk);
    const scheduler = loaded([1, 1]);
    before.add(scheduler.snapshot(1000), 1000);
    for (const id of ["0/0", "1/0"]) scheduler.apply({ type: "release", requestId: id, actualTokens: 1 }, 2000);
    before.add(scheduler.snapshot(3000), 3000);
    before.save(true);
    const after = new History(disk);
    const idle = loaded([]);
    idle.apply({ type: "capacity", maxInFlight: 3 }, 3000);
    const live = (nowMs: number) => after.live(idle.snapshot(nowMs), nowMs);
    expect(live(61_000)).toMatchObject({
      maxInFlight: 3,
      tenants: [
        { tenantId: "t0", name: "T0", fairshareGroup: "g", weight: 1, inFlight: 0, queued: 0, weightShare: 0 },
        { tenantId: "t1", name: "T1" },
      ],
      groups: [{ name: "g", weight: 1, inFlight: 0, queued: 0, servedTokens: 0 }],
    });
    expect(live(62_000)).toMatchObject({ tenants: [], groups: [] });
    const again = loaded([1]);
    expect(after.live(again.snapshot(4000), 4000).tenants.map((tenant) => [tenant.tenantId, tenant.inFlight])).toEqual([
      ["t0", 1],
      ["t1", 0],
    ]);
  });

  it("keeps an hour, and answers from a time on", () => {
    const history = new History(new Disk());
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
