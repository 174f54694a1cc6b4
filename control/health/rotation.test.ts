/**
 * How configuration changes health, and how health changes rotation, over time (docs/rules/models.md#endpoints,
 * docs/rules/health.md#states).
 *
 * @module-tag check
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { modelRecordSchema, storeKeys } from "../../shared/records.ts";
import type { Model } from "../../shared/schema/model.ts";
import type { ModelEndpoint } from "../../shared/schema/model-endpoint.ts";
import type { ModelHealthDetail } from "../../shared/schema/model-health.ts";
import { type HealthScene, startHealthScene } from "../../test/harness/health-scene.ts";
import { waitFor } from "../../test/harness/wait-for.ts";

const HOUR_MS = 3_600_000;
/** An interval, its jitter, and the tick of the job that notices. */
const ROUND_MS = 900_000 * 1.1 + 30_000;
const REFUSED = { status: 401 };

let scene: HealthScene;

beforeAll(async () => {
  scene = await startHealthScene();
});
afterEach(async () => {
  await scene.clear();
});
afterAll(async () => {
  await scene.close();
});

async function detail(model: Model): Promise<ModelHealthDetail> {
  return await scene.send("GET", `/models/${model.id}/health`);
}

/** Alerts are handed over after the check that raised them. */
async function alertsOf(model: Model, count: number): Promise<readonly string[]> {
  return await waitFor(
    () => scene.alerts(model),
    (keys) => keys.length >= count,
  );
}

/** The model as the cells have it. */
async function hotCopy(model: Model) {
  const [text] = await scene.control.store.get([storeKeys.model(model.model_name)]);
  return modelRecordSchema.parse(JSON.parse(text ?? ""));
}

async function endpoints(model: Model): Promise<readonly ModelEndpoint[]> {
  return await scene.send("GET", `/models/${model.id}/endpoints`);
}

describe("configuration", () => {
  it("of maintenance stops checks and alerts, but a manual check still finds something", async () => {
    const model = await scene.model({ health: { failure_threshold: 1 } });
    scene.answers = { completions: REFUSED };
    const until = new Date(scene.nowMs() + 2 * HOUR_MS).toISOString();
    await scene.send("PUT", `/models/${model.id}/health/config`, { maintenance_until: until });
    await scene.pass(HOUR_MS);
    expect(scene.upstream.asked).toEqual([]);
    expect((await detail(model)).checks[0]).toMatchObject({
      status: "skipped",
      message: `in maintenance until ${until}`,
    });
    await scene.send("POST", `/models/${model.id}/health/check`);
    expect(await scene.summary(model)).toMatchObject({ status: "unhealthy", alert_state: "ok" });
    await scene.pass(HOUR_MS + ROUND_MS);
    expect(await alertsOf(model, 1)).toEqual(["model_health_down"]);
  });

  it("that turns the checks or the model off takes effect", async () => {
    const unchecked = await scene.model({ health: { checks_enabled: false } });
    const disabled = await scene.model({ enabled: false });
    await scene.pass(HOUR_MS);
    expect(scene.upstream.asked).toEqual([]);
    expect(await scene.summary(unchecked)).toMatchObject({ status: "unknown", last_checked_at: null });
    expect(await scene.summary(disabled)).toMatchObject({ status: "disabled", consecutive_failures: 0 });
    const on = { upstream_model: "m", api_base: disabled.api_base, enabled: true };
    await scene.send("PUT", `/models/${disabled.id}`, on);
    await scene.tick();
    expect(await scene.summary(disabled)).toMatchObject({ status: "healthy" });
    await scene.send("POST", `/models/${unchecked.id}/health/check`);
    expect(await scene.summary(unchecked)).toMatchObject({ status: "healthy" });
  });
});

describe("endpoints", () => {
  it("are each checked, leave rotation when the result is published, and come back", async () => {
    const model = await scene.model({ api_base: "", api_key: "of-model" });
    const [good, bad] = [
      await scene.endpoint(model, "good", `${scene.upstream.url}/v1`),
      await scene.endpoint(model, "bad"),
    ];
    await scene.tick();
    expect(await endpoints(model)).toMatchObject([
      { name: "bad", health_status: "unknown", consecutive_failures: 1, last_message: "no answer: connect failed" },
      { name: "good", health_status: "healthy", last_http_status: 200 },
    ]);
    expect(await scene.summary(model)).toMatchObject({ status: "degraded", last_message: "1 of 2 endpoints healthy" });
    await scene.pass(ROUND_MS);
    const statuses = async () => (await hotCopy(model)).endpoints.map(({ id, health_status }) => [id, health_status]);
    expect(await statuses()).toEqual([
      [bad.id, "unhealthy"],
      [good.id, "healthy"],
    ]);
    const { rev } = await hotCopy(model);
    expect(scene.control.cell.items).toContainEqual({ kind: "model", id: model.model_name, rev });
    const moved = { api_base: `${scene.upstream.url}/v1` };
    await scene.send("PUT", `/models/${model.id}/endpoints/${bad.id}`, moved);
    await scene.tick();
    expect((await statuses()).map(([, status]) => status)).toEqual(["healthy", "healthy"]);
    expect(await scene.summary(model)).toMatchObject({ status: "healthy" });
    expect(new Set(scene.upstream.asked.map(({ headers }) => headers["authorization"]))).toEqual(
      new Set(["Bearer of-model"]),
    );
    expect(scene.alerts(model)).toEqual([]);
  });

  it("are checked at once after a new credential or enabling, and in rotation without checks", async () => {
    const model = await scene.model({ api_base: "", health: { failure_threshold: 1 } });
    const { id } = await scene.endpoint(model, "e", `${scene.upstream.url}/v1`);
    const path = `/models/${model.id}/endpoints/${id}`;
    const status = async (): Promise<unknown> => (await endpoints(model))[0]?.health_status;
    scene.answers = { completions: REFUSED };
    await scene.tick();
    expect(await status()).toBe("unhealthy");
    scene.answers = {};
    await scene.send("PUT", path, { api_key: "another" });
    await scene.tick();
    expect(await status()).toBe("healthy");
    scene.answers = { completions: REFUSED };
    await scene.send("PUT", path, { enabled: false });
    await scene.send("PUT", path, { enabled: true });
    await scene.tick();
    expect(await status()).toBe("unhealthy");
    await scene.send("PUT", `/models/${model.id}/health/config`, { checks_enabled: false });
    expect((await endpoints(model))[0]).toMatchObject({ health_status: "unknown", consecutive_failures: 0 });
    expect((await hotCopy(model)).endpoints).toMatchObject([{ health_status: "unknown" }]);
  });

  it("that are all unhealthy make their model unhealthy", async () => {
    const model = await scene.model({ api_base: "" });
    await scene.endpoint(model, "a");
    await scene.endpoint(model, "b");
    await scene.tick();
    await scene.pass(ROUND_MS);
    expect(await scene.summary(model)).toMatchObject({ status: "unhealthy", last_message: "0 of 2 endpoints healthy" });
    expect(await alertsOf(model, 1)).toEqual(["model_health_down"]);
  });
});
