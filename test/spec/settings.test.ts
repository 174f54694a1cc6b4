/**
 * Settings on the running stack: every cell has confirmed a write when it answers (docs/rules/freshness.md#write-path,
 * docs/rules/settings.md#common-rules).
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Energy } from "../../shared/schema/settings/energy.ts";
import type { UsageLog } from "../../shared/schema/usage.ts";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { type HttpSink, startHttpSink } from "../harness/http-sink.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();

it.each(["boons", "auto-router", "energy", "alerts", "jobsched", "usage-retention", "assistant"])(
  "%s are read, written back unchanged, and confirmed",
  async (name) => {
    const path = `/settings/${name}`;
    const before = await fixture.gateway.must<Record<string, unknown>>("GET", path);
    const body = name === "usage-retention" ? { days: before["days"] } : {};
    const after = await fixture.gateway.must<Record<string, unknown>>("PUT", path, body);
    const configured = name === "usage-retention" ? { configured: true } : {};
    // The seconds since a provisioner was seen grow meanwhile.
    const age = name === "jobsched" ? { provisioner_last_seen_secs: after["provisioner_last_seen_secs"] } : {};
    expect(after).toEqual({ ...before, ...configured, ...age, rev: after["rev"] });
    const [entry] = await fixture.gateway.must<{ entity_id: string }[]>("GET", "/audit?entity_type=settings&limit=1");
    expect(entry?.entity_id).toBe(name.replace("-", "_"));
  },
);

it("the compressor is there, and a test without an address is refused", async () => {
  expect(await fixture.gateway.must("GET", "/settings/compressor")).toMatchObject({
    configured: true,
    reachable: true,
    model: "bm25-sentences",
    error: null,
  });
  for (const [path, code] of [
    ["/settings/alerts/test", "no_alert_channel"],
    ["/settings/energy/test", "energy_test_failed"],
    ["/settings/jobsched/test", "jobsched_not_configured"],
  ] as const) {
    const response = await fixture.gateway.admin("POST", path);
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 400,
      body: { error: { code } },
    });
  }
});

describe("energy (docs/rules/energy.md#formulas)", () => {
  let metrics: HttpSink;
  let watts = 8000;
  let before: Energy;
  beforeAll(async () => {
    metrics = await startHttpSink();
    metrics.answer = ({ url }) => {
      const value = url.includes("count") ? 4 : watts;
      const data = { resultType: "vector", result: [{ value: [1, `${value}`] }] };
      return watts === 0 ? { status: 503 } : { body: JSON.stringify({ status: "success", data }) };
    };
    before = await fixture.gateway.must<Energy>("GET", "/settings/energy");
  });
  afterAll(async () => {
    const { rev: _rev, ...value } = before;
    await fixture.gateway.must("PUT", "/settings/energy", value);
    await metrics.close();
  });

  /** The last reading, once it is the wanted one. */
  async function reading(holds: (last: NonNullable<Energy["last_reading"]>) => boolean): Promise<void> {
    await waitFor(
      async () => (await fixture.gateway.must<Energy>("GET", "/settings/energy")).last_reading,
      (last) => last !== null && holds(last),
    );
  }

  async function served(minted: Minted): Promise<UsageLog> {
    const response = await fixture.gateway.chat(minted);
    await response.text();
    return await fixture.gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"));
  }

  /** Checks the energy of a row at `slotWatts` watts per slot: Wh, and the rest at 0.25 USD and 400 g per kWh. */
  function usedAt(slotWatts: number, row: UsageLog): void {
    const energyWh = (slotWatts * (row.total_ms - row.queue_wait_ms)) / 3_600_000;
    expect(energyWh).toBeGreaterThan(0);
    expect(row.energy_wh).toBeCloseTo(energyWh, 12);
    // Reads round USD to 9 decimals (docs/rules/usage-reads.md#money), so the largest difference is half a unit and a
    // floating-point error.
    expect(Math.abs(row.energy_cost_usd - energyWh * 0.00025)).toBeLessThan(0.500001e-9);
    expect(row.co2_g).toBeCloseTo(energyWh * 0.4, 12);
  }

  it("is frozen in the rows of models that take part, by the last good reading while polls fail", {
    tags: ["check"],
  }, async () => {
    const { gateway, upstream } = fixture;
    const minted = await gateway.mint(upstream.url, "delay=30", { energy_slots_per_node: 10 });
    const outside = await gateway.mint(upstream.url, "delay=30");
    const wanted = {
      enabled: true,
      prometheus_url: metrics.url,
      power_query: "node_power_watts",
      poll_interval_secs: 5,
      energy_cost_per_kwh: 0.25,
      carbon_g_per_kwh: 400,
      pue: 1.5,
    };
    await gateway.must("PUT", "/settings/energy", wanted);
    await reading(({ cluster_watts, node_count }) => cluster_watts === 8000 && node_count === 4);
    // A Worker that did not get the reading from the store in time has none yet.
    const first = await waitFor(
      async () => await served(minted),
      ({ energy_wh }) => energy_wh > 0,
    );
    usedAt(300, first);
    expect(await served(outside)).toMatchObject({ energy_wh: 0, energy_cost_usd: 0, co2_g: 0 });

    watts = 0;
    await gateway.must("PUT", "/settings/energy", { power_query: "failing" });
    await reading(({ cluster_watts, error }) => cluster_watts === 8000 && error === "http 503");
    await gateway.must("PUT", "/settings/energy", { pue: 3 });
    const second = await served(minted);
    usedAt(600, second);

    watts = 16_000;
    await gateway.must("PUT", "/settings/energy", { power_query: "other", energy_cost_per_kwh: 9 });
    await reading(({ cluster_watts, error }) => cluster_watts === 16_000 && error === null);
    expect(await gateway.row(minted.tenant.id, first.request_id)).toEqual(first);
    const [cost] = await gateway.must<UsageLog[]>("GET", `/costs?tenant_id=${minted.tenant.id}`);
    expect(cost?.energy_wh).toBeCloseTo(first.energy_wh + second.energy_wh, 5);
    expect(cost?.co2_g).toBeCloseTo(first.co2_g + second.co2_g, 5);
  });
});
