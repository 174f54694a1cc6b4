/** The health worker over time: what it finds, says and keeps (decisions §10). */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { modelRecordSchema, storeKeys } from "../../shared/records.ts";
import type { Model } from "../../shared/schema/model.ts";
import type { ModelEndpoint } from "../../shared/schema/model-endpoint.ts";
import type { ModelHealthDetail, ModelHealthSummary } from "../../shared/schema/model-health.ts";
import { type HealthScene, startHealthScene } from "../../test/harness/health-scene.ts";
import { waitFor } from "../../test/harness/wait-for.ts";
import { pruneChecks } from "../services/health/prune-checks.ts";

const HOUR_MS = 3_600_000;
const INTERVAL_MS = 900_000;
/** An interval, its jitter and the tick that notices. */
const ROUND_MS = INTERVAL_MS * 1.1 + 30_000;
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

describe("a model that is checked", () => {
  it("is looked at at once, then once an interval, and keeps a history", async () => {
    const model = await scene.model({ api_key: "secret-of-the-model" });
    await scene.tick();
    expect(scene.upstream.asked).toMatchObject([
      { method: "POST", url: "/v1/chat/completions", headers: { authorization: "Bearer secret-of-the-model" } },
    ]);
    const first = await detail(model);
    expect(first.summary).toMatchObject({ status: "healthy", consecutive_failures: 0, last_http_status: 200 });
    expect(first.checks).toMatchObject([{ trigger: "scheduled", status: "healthy", message: "http 200" }]);
    await scene.pass(4 * HOUR_MS);
    const asked = scene.upstream.asked.length;
    expect(asked).toBeGreaterThanOrEqual(1 + Math.floor((4 * HOUR_MS) / ROUND_MS));
    expect(asked).toBeLessThanOrEqual(1 + (4 * HOUR_MS) / INTERVAL_MS);
    expect((await detail(model)).checks).toHaveLength(asked);
    await pruneChecks(scene.control.ctx, 1);
    expect((await detail(model)).checks).toHaveLength(asked);
    await scene.pass(24 * HOUR_MS, 4 * HOUR_MS);
    await pruneChecks(scene.control.ctx, 1);
    const kept = (await detail(model)).checks.map((check) => Date.parse(check.checked_at));
    expect(Math.min(...kept)).toBeGreaterThanOrEqual(scene.nowMs() - 24 * HOUR_MS);
  });

  it("that goes down is told of once, within two intervals, and of its recovery once, within one", async () => {
    const model = await scene.model();
    const times: { detect: number; recover: number }[] = [];
    await scene.tick();
    for (const phase of [0.05, 0.35, 0.65, 0.95]) {
      await scene.pass(2 * INTERVAL_MS + phase * INTERVAL_MS);
      const downAt = scene.nowMs();
      scene.answers = { completions: REFUSED };
      while ((await scene.summary(model)).status !== "unhealthy") await scene.pass(30_000);
      const detect = (scene.nowMs() - downAt) / INTERVAL_MS;
      await scene.pass(3 * INTERVAL_MS);
      scene.answers = {};
      const upAt = scene.nowMs();
      while ((await scene.summary(model)).status !== "healthy") await scene.pass(30_000);
      times.push({ detect, recover: (scene.nowMs() - upAt) / INTERVAL_MS });
    }
    expect(Math.max(...times.map(({ detect }) => detect))).toBeLessThanOrEqual((2 * ROUND_MS) / INTERVAL_MS);
    expect(Math.max(...times.map(({ recover }) => recover))).toBeLessThanOrEqual(ROUND_MS / INTERVAL_MS);
    const told = await alertsOf(model, 2 * times.length);
    expect(told).toEqual(times.flatMap(() => ["model_health_down", "model_health_recovery"]));
    expect(scene.control.alerts[0]?.detail).toBe(
      `${model.model_name}: 2 consecutive failures, last: http 401: the credential is refused`,
    );
    expect(scene.control.alerts[1]?.detail).toMatch(
      new RegExp(`^${model.model_name} is healthy again after (\\d h )?\\d+ min$`),
    );
  });

  it("that flaps below its threshold alerts nobody", async () => {
    const model = await scene.model();
    await scene.tick();
    for (let turn = 0; turn < 4; turn += 1) {
      scene.skip(1000);
      scene.answers = turn % 2 === 0 ? { completions: REFUSED } : {};
      const { checks } = await scene.send<ModelHealthDetail>("POST", `/models/${model.id}/health/check`);
      expect(checks[0]?.status).toBe(turn % 2 === 0 ? "unhealthy" : "healthy");
      expect((await scene.summary(model)).status).toBe("healthy");
    }
    expect(scene.alerts(model)).toEqual([]);
  });
});

describe("configuration", () => {
  it("that names another upstream begins anew, also while the old one is being asked", async () => {
    const model = await scene.model({ health: { failure_threshold: 1 } });
    scene.answers = { completions: REFUSED };
    await scene.tick();
    expect(await alertsOf(model, 1)).toEqual(["model_health_down"]);
    scene.answers = { completions: null };
    await scene.pass(ROUND_MS);
    scene.answers = { completions: null };
    const checking = scene.send<ModelHealthDetail>("POST", `/models/${model.id}/health/check`);
    await waitFor(
      () => scene.upstream.asked.length,
      (asked) => asked > 4,
    );
    await scene.send("PUT", `/models/${model.id}`, { upstream_model: "other", api_base: model.api_base });
    const fresh = { status: "unknown", consecutive_failures: 0, alert_state: "ok", last_checked_at: null };
    expect((await checking).summary).toMatchObject(fresh);
    scene.answers = {};
    await scene.tick();
    expect(await scene.summary(model)).toMatchObject({ status: "healthy" });
    expect(scene.alerts(model)).toEqual(["model_health_down"]);
  });

  it("of maintenance silences: nothing is asked, nothing told, but what a person asks for is found", async () => {
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

  it("that turns checks off or the model off is followed", async () => {
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
  it("are checked each, leave with the publication of what was found, and come back", async () => {
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

  it("that are all gone take their model with them", async () => {
    const model = await scene.model({ api_base: "" });
    await scene.endpoint(model, "a");
    await scene.endpoint(model, "b");
    await scene.tick();
    await scene.pass(ROUND_MS);
    expect(await scene.summary(model)).toMatchObject({ status: "unhealthy", last_message: "0 of 2 endpoints healthy" });
    expect(await alertsOf(model, 1)).toEqual(["model_health_down"]);
  });
});

describe("checks that are asked for", () => {
  it("while another is under way count as one with it", async () => {
    const model = await scene.model();
    const check = async (): Promise<ModelHealthDetail> => await scene.send("POST", `/models/${model.id}/health/check`);
    scene.answers = { completions: null };
    const slow = check();
    await waitFor(
      () => scene.upstream.asked.length,
      (asked) => asked > 0,
    );
    scene.skip(1000);
    scene.answers = { completions: REFUSED };
    expect((await check()).summary.consecutive_failures).toBe(1);
    const late = await slow;
    expect(late.summary).toMatchObject({ consecutive_failures: 1, last_message: expect.stringMatching(/401/) });
    expect(late.checks).toHaveLength(1);
  });

  it("cover every eligible model at once", async () => {
    const [up, down] = [await scene.model(), await scene.model({ api_base: "http://127.0.0.1:9/v1" })];
    await scene.model({ enabled: false });
    await scene.model({ health: { checks_enabled: false } });
    await scene.model({ health: { maintenance_until: "2999-01-01T00:00:00Z" } });
    const bulk = await scene.send<{ checked: ModelHealthDetail[]; skipped: number }>("POST", "/models/health");
    expect(bulk.skipped).toBe(3);
    expect(
      bulk.checked.map(({ summary, checks }) => [summary.model_id, checks[0]?.trigger, checks[0]?.status]),
    ).toEqual([
      [up.id, "bulk", "healthy"],
      [down.id, "bulk", "unhealthy"],
    ]);
    const all = await scene.send<ModelHealthSummary[]>("GET", "/models/health");
    expect(all.map(({ status, consecutive_failures }) => [status, consecutive_failures])).toEqual([
      ["healthy", 0],
      ["unknown", 1],
      ["unknown", 0],
      ["unknown", 0],
      ["unknown", 0],
    ]);
  });
});
