import { describe, expect, it } from "vitest";
import { type UsageRow, zeroUsageRow } from "../../../shared/usage/usage-row.ts";
import type { SchedulerEvent } from "../fairshare/types.ts";
import { AdaptiveCapacities, type KnownCapacity } from "./adaptive-capacities.ts";

const BOUNDS = { min: 4, max: 64 };

function capacitiesOf(known: readonly KnownCapacity[] = []) {
  const clock = { nowMs: 0 };
  const events: SchedulerEvent[] = [];
  const capacities = new AdaptiveCapacities({
    known,
    now: () => clock.nowMs,
    random: () => 0.5,
    inFlightOf: () => 100,
    inFlightBy: () => 100,
    changed: (event) => events.push(event),
  });
  const capOf = (maxInFlight: number | null, adaptive: typeof BOUNDS | null = BOUNDS) =>
    capacities.capOf({ name: "m", maxInFlight, adaptive });
  return { capacities, clock, events, capOf };
}

const served: UsageRow = {
  ...zeroUsageRow("r", 0),
  model: "m",
  served_model: "m",
  admission: "queued",
  status_code: 200,
  upstream_status: 200,
  attempts: 1,
  input_tokens: 10,
  output_tokens: 100,
  total_ms: 1_100,
  queue_wait_ms: 80,
  gateway_ms: 20,
  ttft_ms: 50,
};

/** Requests end until the capacity changes, for at most some windows. */
function endUntilChange({ capacities, clock, events }: ReturnType<typeof capacitiesOf>, row: UsageRow, refused = 0) {
  const before = events.length;
  for (let at = 0; at < 200 && events.length === before; at += 1) {
    clock.nowMs += 100;
    capacities.ended(row, { refused });
  }
  return events.at(before) ?? null;
}

describe("the capacities of adaptive models", () => {
  it("start at the stated capacity within the bounds, and at the minimum without one", () => {
    expect(capacitiesOf().capOf(null)).toBe(4);
    expect(capacitiesOf().capOf(20)).toBe(20);
    expect(capacitiesOf().capOf(900)).toBe(64);
  });

  it("leave the capacity of other models as it is stated", () => {
    const { capacities, capOf } = capacitiesOf();
    expect(capOf(7, null)).toBe(7);
    expect(capacities.view()).toEqual([]);
  });

  it("double while the delay stays, and tell the scheduler", () => {
    const scene = capacitiesOf();
    scene.capOf(null);
    expect(endUntilChange(scene, served)).toEqual({ type: "model", name: "m", maxInFlight: null, adaptive: BOUNDS });
    expect(scene.capOf(null)).toBe(8);
    expect(scene.capacities.view()).toMatchObject([
      {
        model: "m",
        capacity: 8,
        min: 4,
        max: 64,
        changes: [{ from: 4, to: 8, reason: "throughput" }, { reason: "start" }],
      },
    ]);
    expect(scene.capacities.sample()).toEqual([{ model: "m", capacity: 8, reason: "throughput" }]);
  });

  it("shrink after a refusal, also one that a retry made good", () => {
    const scene = capacitiesOf();
    scene.capOf(40);
    endUntilChange(scene, { ...served, attempts: 2 }, 1);
    expect(scene.capacities.view()[0]).toMatchObject({
      capacity: 30,
      changes: [{ from: 40, to: 30, reason: "refused" }, {}],
    });
  });

  it.each([
    ["requests without a slot", { admission: "boon" }],
    ["requests of other models", { served_model: "other" }],
    ["clients that left", { status_code: 499, error_code: "client_gone" }],
    ["failures", { status_code: 502, upstream_status: 500 }],
    ["retries", { attempts: 2 }],
  ] as const)("learn nothing from %s", (_what, part) => {
    const scene = capacitiesOf();
    scene.capOf(null);
    expect(endUntilChange(scene, { ...served, ...part })).toBeNull();
  });

  it("go on where the Cell was before a restart, unless another capacity is stated by then", () => {
    const scene = capacitiesOf();
    scene.capOf(8);
    endUntilChange(scene, served, 1);
    const known = scene.capacities.takeUnsaved() ?? [];
    expect(scene.capacities.takeUnsaved()).toBeNull();
    expect(capacitiesOf(known).capOf(8)).toBe(6);
    expect(capacitiesOf(known).capOf(32)).toBe(32);
  });

  it("start again where auto-tune says", () => {
    const scene = capacitiesOf();
    scene.capOf(8);
    endUntilChange(scene, served, 1);
    expect(scene.capOf(8)).toBe(6);
    expect(scene.capOf(50)).toBe(50);
    expect(scene.capacities.view()[0]?.changes[0]).toMatchObject({ to: 50, reason: "start" });
  });

  it("forget a model whose capacity is fixed again", () => {
    const scene = capacitiesOf();
    scene.capOf(8);
    expect(scene.capOf(8, null)).toBe(8);
    expect(scene.capacities.takeUnsaved()).toEqual([]);
    expect(scene.capacities.sample()).toEqual([]);
  });
});
