/** The mode `adaptive` on the running stack, with an upstream whose knee is known (docs/rules/adaptive-capacity.md). */
import { expect, inject, it } from "vitest";
import type { FairshareLive, FairshareSample } from "../../shared/schema/load.ts";
import { useGateway } from "../harness/fixture.ts";
import { startNarrowUpstream } from "../harness/narrow-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();
const KNEE = 8;
const CLIENTS = 32;

it("moves the capacity to the knee of the upstream, and says why", { tags: ["check"], timeout: 120_000 }, async () => {
  const { gateway } = fixture;
  const upstream = await startNarrowUpstream(KNEE, 200);
  const stop = new AbortController();
  try {
    const minted = await gateway.mint(upstream.url, "plain", {
      capacity_mode: "adaptive",
      adaptive_min: 2,
      adaptive_max: 64,
    });
    const { model_name: name } = minted.model;
    const clients = Array.from({ length: CLIENTS }, async () => {
      while (!stop.signal.aborted) await (await gateway.chat(minted)).text();
    });
    const capacityNow = async () =>
      (await gateway.must<FairshareLive>("GET", "/fairshare/live")).adaptive.find(({ model }) => model === name);
    // Only the last changes are kept.
    const begun = await waitFor(capacityNow, (now) => now !== undefined);
    expect(begun?.changes.at(-1)).toMatchObject({ from: 2, to: 2, reason: "start" });
    const found = await waitFor(
      capacityNow,
      (now) =>
        now?.changes.some(({ reason }) => reason === "delay") === true && Math.abs(now.capacity - KNEE) <= KNEE / 4,
      60_000,
    );
    expect(found).toMatchObject({ model: name, min: 2, max: 64 });
    // Those that are too many wait in the gateway, which knows their tenants, and not in the upstream.
    expect(upstream.inFlight).toBeLessThan(2 * KNEE);

    const history = await gateway.must<FairshareSample[]>("GET", "/fairshare/history");
    const sampled = history.flatMap(({ adaptive }) => adaptive.filter(({ model }) => model === name));
    expect(new Set(sampled.map(({ reason }) => reason))).toContain("delay");
    const metrics = await (await fetch(`${inject("metricsUrl")}/metrics`)).text();
    expect(metrics).toMatch(/^gateway_adaptive_capacity_changes_total\{reason="throughput",cell="[^"]+"\} [1-9]/m);

    stop.abort();
    await Promise.all(clients);
    await gateway.must("PUT", `/models/${minted.model.id}/capacity-mode`, { capacity_mode: "static" });
    await (await gateway.chat(minted)).text();
    expect(await capacityNow()).toBeUndefined();
  } finally {
    stop.abort();
    await upstream.close();
  }
});

it("refuses bounds without a capacity between them", async () => {
  const { gateway } = fixture;
  const minted = await gateway.mint("http://127.0.0.1:9/v1");
  const path = `/models/${minted.model.id}`;
  const both = await gateway.admin("PUT", `${path}/capacity-mode`, {
    capacity_mode: "adaptive",
    adaptive_min: 9,
    adaptive_max: 8,
  });
  expect({ status: both.status, body: await both.json() }).toMatchObject({
    status: 400,
    body: { error: { details: [{ path: "adaptive_max", message: "must not be below adaptive_min" }] } },
  });
  const stored = await gateway.admin("PATCH", path, { adaptive_min: 257 });
  expect({ status: stored.status, body: await stored.json() }).toMatchObject({
    status: 400,
    body: { error: { details: [{ path: "adaptive_max" }] } },
  });
});
