/** @module-tag check */
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { modelRecordSchema, storeKeys } from "../../shared/records.ts";
import type { Model } from "../../shared/schema/model.ts";
import type { ModelHealthDetail, ModelHealthSummary } from "../../shared/schema/model-health.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import { modelHealth, modelHealthChecks } from "../db/schema/models.ts";

let control: TestControl;
let model: Model;
let path = "";
let count = 0;
const LATER = "2999-01-01T00:00:00.000Z";

beforeAll(async () => {
  control = await startControl();
});
afterAll(async () => {
  await control.close();
});
beforeEach(async () => {
  count += 1;
  model = await send<Model>("POST", "/api/v1/models", { model_name: `model-${count}` });
  path = `/api/v1/models/${model.id}`;
});

async function send<T>(method: string, to: string, body?: unknown): Promise<T> {
  return (await (await control.request(method, to, body)).json()) as T;
}

async function summary(): Promise<ModelHealthSummary> {
  return (await send<ModelHealthDetail>("GET", `${path}/health`)).summary;
}

/** The state of a model that is down and has alerted. */
async function fail(): Promise<void> {
  await control.connection.db
    .update(modelHealth)
    .set({
      status: "unhealthy",
      consecutive_failures: 5,
      alert_state: "firing",
      next_check_at: null,
      last_message: "x",
    })
    .where(eq(modelHealth.model_id, model.id));
}

describe("the health of a model", () => {
  it("is unknown at first, with a check due at once", async () => {
    const first = await summary();
    expect(first).toEqual({
      model_id: model.id,
      model_name: model.model_name,
      checks_enabled: true,
      alerts_enabled: true,
      check_interval_secs: 900,
      failure_threshold: 2,
      maintenance_until: null,
      maintenance_note: null,
      status: "unknown",
      consecutive_failures: 0,
      alert_state: "ok",
      next_check_at: model.created_at,
      last_checked_at: null,
      last_latency_ms: null,
      last_http_status: null,
      last_message: null,
      updated_at: model.created_at,
      rev: model.rev,
    });
    const all = await send<ModelHealthSummary[]>("GET", "/api/v1/models/health");
    expect(all.filter((each) => each.model_id === model.id)).toEqual([first]);
    expect(all.map((each) => each.model_name)).toEqual(
      all.map((each) => each.model_name).toSorted((a, b) => (a < b ? -1 : 1)),
    );
  });

  it("shows the newest fifty checks of the model, not those of its endpoints", async () => {
    const checks = Array.from({ length: 60 }, (_, at) => ({
      model_id: model.id,
      endpoint_id: at % 10 === 0 ? model.id : null,
      checked_at: new Date(1_700_000_000_000 + at),
      trigger: "manual",
      status: "healthy",
      message: String(at),
    }));
    await control.connection.db.insert(modelHealthChecks).values(checks);
    const shown = (await send<ModelHealthDetail>("GET", `${path}/health`)).checks.map((check) => Number(check.message));
    expect({ count: shown.length, first: shown[0], last: shown.at(-1) }).toEqual({ count: 50, first: 59, last: 5 });
    expect(shown.some((at) => at % 10 === 0)).toBe(false);
  });

  it("is configured part by part, with floors", async () => {
    await send("PUT", `${path}/health/config`, { check_interval_secs: 5, failure_threshold: 0 });
    expect(await summary()).toMatchObject({ check_interval_secs: 60, failure_threshold: 1, checks_enabled: true });
    const until = { maintenance_until: LATER, maintenance_note: " n " };
    expect(await send("PUT", `${path}/health/config`, until)).toMatchObject({
      check_interval_secs: 60,
      maintenance_until: LATER,
      maintenance_note: "n",
    });
    const [text] = await control.store.get([storeKeys.model(model.model_name)]);
    expect(modelRecordSchema.parse(JSON.parse(text ?? "")).maintenance_until_ms).toBe(Date.parse(LATER));
    expect(await send<Model>("GET", path)).toMatchObject({
      health: { failure_threshold: 1, ...until, maintenance_note: "n" },
    });
    const audit = await (await control.request("GET", "/api/v1/audit?limit=1")).json();
    expect(audit).toMatchObject([
      {
        action: "update_model_health_config",
        entity_type: "model",
        entity_id: model.id,
        detail: { changed: { health_maintenance_note: [null, "n"] } },
      },
    ]);
  });

  it.each([
    [{ failure_threshold: 3 }, { consecutive_failures: 5, alert_state: "firing" }],
    [{ checks_enabled: false }, { consecutive_failures: 0, alert_state: "ok" }],
    [{ alerts_enabled: false }, { consecutive_failures: 5, alert_state: "ok" }],
    [{ maintenance_until: LATER }, { consecutive_failures: 5, alert_state: "ok" }],
    [{ maintenance_until: "2001-01-01T00:00:00Z" }, { consecutive_failures: 5, alert_state: "firing" }],
  ])("follows %j: %j, and a check is due", async (config, state) => {
    await fail();
    const saved = await send<ModelHealthSummary>("PUT", `${path}/health/config`, config);
    expect(saved).toMatchObject({ status: "unhealthy", ...state });
    expect(saved.next_check_at).not.toBeNull();
    await fail();
    await send("PUT", path, { upstream_model: model.upstream_model, api_base: model.api_base, health: config });
    expect(await summary()).toMatchObject({ status: "unhealthy", ...state });
  });

  it.each([{ api_base: "http://127.0.0.1:9/v1" }, { upstream_model: "other" }, { model_type: "image" }])(
    "starts again with %j",
    async (change) => {
      await fail();
      const kept = { upstream_model: model.upstream_model, api_base: model.api_base };
      expect(await send("PUT", path, { ...kept, description: "d" })).toMatchObject({ health_status: "unhealthy" });
      expect(await send("PUT", path, { ...kept, ...change })).toMatchObject({ health_status: "unknown" });
      const after = await summary();
      expect(after).toMatchObject({
        status: "unknown",
        consecutive_failures: 0,
        alert_state: "ok",
        last_message: null,
      });
      expect(after.next_check_at).not.toBeNull();
    },
  );

  it.each([
    [{ checks_enabled: "no" }, "checks_enabled"],
    [{ check_interval_secs: -1 }, "check_interval_secs"],
    [{ failure_threshold: 1.5 }, "failure_threshold"],
    [{ maintenance_until: "tomorrow" }, "maintenance_until"],
    [{ maintenance_note: 5 }, "maintenance_note"],
  ])("refuses the configuration %j by naming %s", async (body, field) => {
    const response = await control.request("PUT", `${path}/health/config`, body);
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 400,
      body: { error: { param: field } },
    });
  });
});

describe("a recommended capacity", () => {
  it("is applied as a tuned one", async () => {
    const tuned = await send<Model>("POST", `${path}/autotune/apply`, { max_in_flight: 12 });
    expect(tuned).toMatchObject({ max_in_flight: 12, capacity_mode: "tuned" });
    expect(tuned.capacity_tuned_at).toMatch(/^\d{4}-.*Z$/);
    for (const body of [{}, { max_in_flight: 0 }, { max_in_flight: null }]) {
      const refused = await control.request("POST", `${path}/autotune/apply`, body);
      expect({ status: refused.status, body: await refused.json() }).toMatchObject({
        status: 400,
        body: { error: { param: "max_in_flight" } },
      });
    }
  });
});
