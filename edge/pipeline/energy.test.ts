/**
 * Energy in the rows of requests (docs/rules/energy.md#formulas): only for models that take part, and fixed when the
 * request ends. The upstreams fail, because the platform relays an answer; test/spec/settings.test.ts has an upstream
 * that answers.
 */
import { expect, it } from "vitest";
import { modelOf } from "../../test/harness/edge/pipeline/records.ts";
import { TestPipeline } from "../../test/harness/edge/pipeline/world.ts";
import type { KnownTerms } from "../ports.ts";
import { run } from "./run.ts";

const termsOf = (rev: number): KnownTerms => ({
  terms: { enabled: true, usdPerKwh: 0.5, co2GramsPerKwh: 100, pue: 1 },
  rev,
});

const ENDS_MS = new TestPipeline().nowMs + 3600;

function worldOf(slotsPerNode: number): TestPipeline {
  const world = new TestPipeline();
  world.model = modelOf({ energy_slots_per_node: slotsPerNode });
  world.energyTerms = () => termsOf(7);
  world.powerReading = { clusterWatts: 2000, nodeCount: 2 };
  world.upstream = async () => {
    world.nowMs = ENDS_MS;
    throw new TypeError("refused");
  };
  return world;
}

async function rowOf(world: TestPipeline): Promise<Record<string, unknown>> {
  await (await run(world.received())).text();
  await world.settled();
  return { ...world.permit.settlement?.row };
}

it("counts the time after the queue at the watts of a slot", async () => {
  const world = worldOf(10);
  world.answers = [
    {
      verdict: "granted",
      grant: { admission: "queued", queueWaitMs: 1800, level: null },
      permit: world.permit,
    },
  ];
  // 2000 W / 2 nodes / 10 slots = 100 W, for the 1.8 s after the queue.
  const energyWh = (100 * 1.8) / 3600;
  expect(await rowOf(world)).toMatchObject({
    energy_wh: energyWh,
    energy_cost_usd: (energyWh / 1000) * 0.5,
    co2_g: (energyWh / 1000) * 100,
  });
});

it("uses the reading of the time when the request ends", async () => {
  const world = worldOf(10);
  world.upstream = async () => {
    world.powerReading = { clusterWatts: 4000, nodeCount: 2 };
    world.nowMs = ENDS_MS;
    throw new TypeError("refused");
  };
  expect((await rowOf(world))["energy_wh"]).toBe(0.2);
});

it("counts nothing for a refusal", async () => {
  const refused = worldOf(10);
  refused.model = modelOf({ enabled: false, energy_slots_per_node: 10 });
  await run(refused.received());
  await refused.settled();
  expect(refused.recorded).toMatchObject([{ admission: "rejected", energy_wh: 0 }]);
});

it("leaves out models that take no part, and reads nothing for them", async () => {
  const world = worldOf(0);
  expect(await rowOf(world)).toMatchObject({ status_code: 502, energy_wh: 0, energy_cost_usd: 0, co2_g: 0 });
  expect(world.requests[0]?.revs.map(({ kind }) => kind)).not.toContain("settings");
});

it("reads the terms again when the Cell knows newer ones", async () => {
  const world = worldOf(10);
  world.answers = [{ verdict: "stale", items: [{ kind: "settings", id: "energy", rev: 8 }] }];
  world.energyTerms = () => termsOf(world.forgotten.length === 0 ? 7 : 8);
  expect(await rowOf(world)).toMatchObject({ status_code: 502 });
  expect(world.forgotten).toEqual(["settings energy"]);
  expect(world.requests.map(({ revs }) => revs.find(({ kind }) => kind === "settings")?.rev)).toEqual([7, 8]);
});
