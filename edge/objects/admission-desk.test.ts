/** The front desk under any order of arrivals, repeats, settlements, departures, adoptions and capacity changes. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type UsageRow, zeroUsageRow } from "../../shared/usage-row.ts";
import type { Ask } from "../domain/ask.ts";
import { createScheduler } from "../domain/fairshare/scheduler.ts";
import { AdmissionDesk, type Seat } from "./admission-desk.ts";

function askOf(number: number, tenant: number): Ask {
  return {
    requestId: `r${number}`,
    tenant: { id: `t${tenant}`, name: `T${tenant}`, weight: 100, maxInFlight: null },
    group: { name: "g", weight: 1 },
    model: { name: "m", admissionWeight: 100, maxInFlight: null },
    costTokens: 10,
    revs: [],
    row: zeroUsageRow(`r${number}`, 0),
    estimate: { inputTokens: 4, outputTokens: 6, costUsd: 1 },
  };
}

const event = fc.oneof(
  { weight: 5, arbitrary: fc.record({ type: fc.constant("arrive" as const), tenant: fc.nat(2) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constantFrom("settle" as const, "abandon" as const, "again" as const, "elsewhere" as const),
      who: fc.nat(1_000),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("capacity" as const), max: fc.integer({ min: 1, max: 6 }) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("adopt" as const), tenant: fc.nat(2) }) },
);

describe("the Cell's front desk", () => {
  it("never holds more than its cap by granting, and ends every seat once", () => {
    fc.assert(
      fc.property(
        fc.constantFrom("weighted" as const, "hierarchical" as const),
        fc.array(event, { maxLength: 80 }),
        (algorithm, events) => {
          const scheduler = createScheduler({ algorithm, maxInFlight: 2 });
          const rows: UsageRow[] = [];
          let now = 0;
          const desk = new AdmissionDesk({
            cell: "c",
            scheduler,
            now: () => now,
            complete: async (row) => {
              rows.push(row);
            },
            changed: () => undefined,
          });
          const seats: Seat[] = [];
          const elsewhere = new Set<string>();
          for (const step of events) {
            now += 1;
            const before = scheduler.inFlight;
            if (step.type === "arrive") seats.push(desk.arrive(askOf(seats.length, step.tenant)));
            else if (step.type === "adopt") {
              seats.push(desk.adopt(askOf(seats.length, step.tenant)));
            } else if (step.type === "capacity") desk.apply({ type: "capacity", maxInFlight: step.max });
            else {
              const seat = seats[step.who % Math.max(1, seats.length)];
              if (seat === undefined) continue;
              const { requestId, row } = seat.ask;
              const ended = rows.some((one) => one.request_id === requestId) || elsewhere.has(requestId);
              if (step.type === "settle") void desk.settle(seat, { row, actualTokens: 5 });
              else if (step.type === "abandon") desk.abandon(seat);
              else if (step.type === "again" && !ended) seats[seats.indexOf(seat)] = desk.arrive(seat.ask);
              else if (step.type === "elsewhere" && !ended) {
                elsewhere.add(requestId);
                desk.settledElsewhere(requestId, 5);
              }
              // The replaced permit dies later; it must not touch its successor.
              desk.settle({ ...seat }, { row, actualTokens: 5 }).catch(() => undefined);
            }
            if (step.type !== "adopt")
              expect(scheduler.inFlight).toBeLessThanOrEqual(Math.max(before, scheduler.maxInFlight));
            expect(desk.seated).toBe(scheduler.inFlight + scheduler.queued);
          }
          for (const seat of seats) desk.abandon(seat);
          expect([scheduler.inFlight, scheduler.queued, desk.seated]).toEqual([0, 0, 0]);
          const told = [...rows.map((row) => row.request_id), ...elsewhere].sort();
          expect(told).toEqual(seats.map((seat) => seat.ask.requestId).sort());
        },
      ),
      { numRuns: 300 },
    );
  });

  it("rejects those who wait for the grant of a seat that ends", async () => {
    const scheduler = createScheduler({ algorithm: "weighted", maxInFlight: 1 });
    const options = { cell: "c", scheduler, now: () => 0, complete: async () => undefined, changed: () => undefined };
    const desk = new AdmissionDesk(options);
    desk.arrive(askOf(0, 0));
    const waiting = desk.arrive(askOf(1, 0));
    const granted = desk.granted(waiting);
    desk.abandon(waiting);
    await expect(granted).rejects.toThrow("the permit has ended");
    await expect(desk.granted(waiting)).rejects.toThrow("the permit has ended");
  });
});
