/** Capacity auto-tune on the running stack, with upstreams whose capacity is known (docs/rules/autotune.md#report). */
import { request } from "node:http";
import { expect, inject, it } from "vitest";
import type { AutotuneReport } from "../../shared/schema/autotune.ts";
import type { Model } from "../../shared/schema/model.ts";
import { useGateway } from "../harness/fixture.ts";
import { startNarrowUpstream } from "../harness/narrow-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();

it("finds the knee, recommends it without writing, and an applied one becomes the capacity", {
  tags: ["check"],
}, async () => {
  const { gateway } = fixture;
  // Four requests at once take 2 s: on any machine that is far from the time of two, and from the target.
  const upstream = await startNarrowUpstream(2, 1000);
  try {
    const minted = await gateway.mint(upstream.url);
    const path = `/models/${minted.model.id}/autotune`;
    const report = await gateway.must<AutotuneReport>("POST", path, { target_p99_ms: 1500 });
    expect(report).toMatchObject({ recommended_max_in_flight: 2, knee_reason: "slo_breach", modality: "chat" });
    expect(report.steps.map(({ concurrency, errors }) => [concurrency, errors])).toEqual([
      [1, 0],
      [2, 0],
      [4, 0],
    ]);
    expect(report.steps.reduce((sum, { requests }) => sum + requests, 0)).toBe(upstream.asked);
    expect(report.recommended_throughput_rps).toBe(report.steps[1]?.throughput_rps);
    expect(await gateway.must("GET", `/models/${minted.model.id}`)).toMatchObject({
      max_in_flight: null,
      capacity_mode: "static",
      capacity_tuned_at: null,
    });
    // The probe is not traffic of the gateway: the model's first row is that of another request.
    await (await gateway.chat(minted)).text();
    expect(await waitForRows(minted.model.model_name)).toBe(1);

    const applied = await gateway.must<Model>("POST", `${path}/apply`, {
      max_in_flight: report.recommended_max_in_flight,
    });
    expect(applied).toMatchObject({ max_in_flight: 2, capacity_mode: "tuned" });
    expect(applied.capacity_tuned_at).not.toBeNull();
  } finally {
    await upstream.close();
  }
});

/** The number of rows of a model in the ledger, once there is one. */
async function waitForRows(model: string): Promise<number> {
  const usage = await waitFor(
    async () =>
      await fixture.gateway.must<{ model: string; requests: number }[]>("GET", `/usage/models?model=${model}`),
    (rows) => rows.some((row) => row.model === model),
  );
  return usage.filter((row) => row.model === model).reduce((sum, row) => sum + row.requests, 0);
}

it("ends when its caller hangs up, and leaves the model free for the next run", async () => {
  const { gateway } = fixture;
  const upstream = await startNarrowUpstream(1, 600_000);
  try {
    const minted = await gateway.mint(upstream.url);
    const path = `/models/${minted.model.id}/autotune`;
    const leaving = request(`${inject("adminUrl")}/api/v1${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${inject("adminToken")}` },
    });
    leaving.on("error", () => undefined).end("{}");
    await waitFor(
      () => upstream.inFlight,
      (inFlight) => inFlight === 1,
    );
    expect((await gateway.admin("POST", path, {})).status).toBe(409);
    leaving.destroy();
    await waitFor(
      () => upstream.inFlight,
      (inFlight) => inFlight === 0,
    );
    const [run] = await waitFor(
      async () =>
        await gateway.must<{ detail: object }[]>(
          "GET",
          `/audit?action=autotune_model&entity_id=${minted.model.id}&limit=1`,
        ),
      (found) => found.length > 0,
    );
    expect(run?.detail).toMatchObject({ cancelled: true, requests: 1 });
    expect(upstream.asked).toBe(1);
    await gateway.must("PUT", `/models/${minted.model.id}`, {
      upstream_model: "m",
      api_base: "http://127.0.0.1:9/v1",
    });
    const next = await waitFor(
      async () => await gateway.admin("POST", path, { max_concurrency: 1 }),
      ({ status }) => status !== 409,
    );
    expect(await next.json()).toMatchObject({ knee_reason: "no_data" });
  } finally {
    await upstream.close();
  }
});
