/** Energy terms and the last reading, as requests get them. */

import type { Redis } from "@upstash/redis/cloudflare";
import { expect, it } from "vitest";
import { GatewayError } from "../../shared/errors.ts";
import type { SettingsRecord } from "../../shared/records.ts";
import { settingsOf } from "../../test/harness/edge/pipeline/records.ts";
import { RedisEnergy } from "./redis-energy.ts";

class Store {
  nowMs = 1000;
  settings: SettingsRecord | null = settingsOf({ enabled: true, energy_cost_per_kwh: 0.25, pue: 1.2 });
  text: string | null = null;
  down = false;
  reads = 0;
  readonly energy = new RedisEnergy(
    {
      settings: async () => {
        if (this.down) throw new GatewayError("key_store_unavailable");
        return this.settings === null ? null : { record: this.settings, source: "store" };
      },
    },
    {
      run: async (work) =>
        await work({
          get: async () => {
            this.reads += 1;
            if (this.down) throw new Error("down");
            return this.text;
          },
        } as unknown as Redis),
    },
    () => this.nowMs,
  );

  read(watts: number): void {
    this.text = JSON.stringify({ cluster_watts: watts, node_count: 2, read_at_ms: 5 });
  }
}

it("returns terms with their revision, defaults if never saved, and null if unreadable", async () => {
  const store = new Store();
  expect(await store.energy.terms()).toEqual({
    terms: { enabled: true, usdPerKwh: 0.25, co2GramsPerKwh: 0, pue: 1.2 },
    rev: 1,
  });
  store.settings = settingsOf({});
  expect((await store.energy.terms())?.terms).toEqual({ enabled: false, usdPerKwh: 0, co2GramsPerKwh: 0, pue: 1 });
  // Its revision is known nevertheless, so that a corrected setting takes effect.
  store.settings = settingsOf({ enabled: "perhaps" });
  expect(await store.energy.terms()).toEqual({ terms: null, rev: 1 });
  store.settings = null;
  expect(await store.energy.terms()).toBeNull();
  store.down = true;
  expect(await store.energy.terms()).toBeNull();
});

it("looks for a new reading when five seconds have passed, and once for all concurrent callers", async () => {
  const store = new Store();
  store.read(100);
  const first = { clusterWatts: 100, nodeCount: 2 };
  expect(await store.energy.reading()).toEqual(first);
  store.read(200);
  store.nowMs += 4999;
  expect(await store.energy.reading()).toEqual(first);
  store.nowMs += 1;
  expect(await Promise.all([store.energy.reading(), store.energy.reading()])).toEqual([
    { clusterWatts: 200, nodeCount: 2 },
    first,
  ]);
  expect(store.reads).toBe(2);
});

it("keeps the last reading while the store is down or its value invalid, null before any", async () => {
  const store = new Store();
  store.down = true;
  expect(await store.energy.reading()).toBeNull();
  store.down = false;
  store.read(100);
  expect(await store.energy.reading()).toMatchObject({ clusterWatts: 100 });
  store.nowMs += 5000;
  store.down = true;
  expect(await store.energy.reading()).toMatchObject({ clusterWatts: 100 });
  store.nowMs += 5000;
  store.down = false;
  store.text = "nonsense";
  expect(await store.energy.reading()).toMatchObject({ clusterWatts: 100 });
});
