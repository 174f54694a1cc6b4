/** The health worker over time: what it finds, reports and keeps (docs/rules/health.md#states). */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Model } from "../../shared/schema/model.ts";
import type { ModelHealthDetail, ModelHealthSummary } from "../../shared/schema/model-health.ts";
import { type HealthScene, startHealthScene } from "../../test/harness/health-scene.ts";
import { waitFor } from "../../test/harness/wait-for.ts";
import { checkAllHealth } from "./check-all-health.ts";
import { pruneChecks } from "./prune-checks.ts";

const HOUR_MS = 3_600_000;
const INTERVAL_MS = 900_000;
/** An interval, its jitter, and the tick of the job that notices. */
const ROUND_MS = INTERVAL_MS * 1.1 + 30_000;
/** No probe of these tests ends by it, on a busy machine either. */
const PROBE_TIMEOUT_MS = 20_000;
const REFUSED = { status: 401 };

let scene: HealthScene;

beforeAll(async () => {
  scene = await startHealthScene({ probeTimeoutMs: PROBE_TIMEOUT_MS });
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

describe("a model that is checked", () => {
  it("is checked at once, then once an interval, and keeps a history", { tags: ["check"] }, async () => {
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

  /** The model goes down at each of these parts of an interval. */
  const isReportedOnce = async (phases: readonly number[]): Promise<void> => {
    const model = await scene.model();
    const before = scene.control.alerts.length;
    const times: { detect: number; recover: number }[] = [];
    await scene.tick();
    for (const phase of phases) {
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
    const raised = await alertsOf(model, 2 * times.length);
    expect(raised).toEqual(times.flatMap(() => ["model_health_down", "model_health_recovery"]));
    const [down, recovery] = scene.control.alerts.slice(before);
    expect(down?.detail).toBe(
      `${model.model_name}: 2 consecutive failures, last: http 401: the credential is rejected`,
    );
    expect(recovery?.detail).toMatch(
      new RegExp(`^${model.model_name} is healthy again after (\\d h )?\\d+ min( \\d+ s)?$`),
    );
  };

  it("that goes down is reported once, within two intervals, and its recovery once, within one", async () => {
    await isReportedOnce([0.95]);
  });

  it("that goes down at any part of an interval is so too", { tags: ["long"] }, async () => {
    await isReportedOnce([0.05, 0.35, 0.65, 0.95]);
  });

  it("that flaps below its threshold raises no alert", { tags: ["check"] }, async () => {
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

describe("the worker", () => {
  it("ends at once, and drops the checks that were running", { tags: ["check"] }, async () => {
    const ending = await startHealthScene({ probeTimeoutMs: PROBE_TIMEOUT_MS });
    try {
      const model = await ending.model();
      ending.answers = { completions: null };
      const running = ending.control.prober.run();
      await waitFor(
        () => ending.upstream.asked.length,
        (asked) => asked > 0,
      );
      await ending.control.prober.stop();
      await running;
      expect(await ending.summary(model)).toMatchObject({ status: "unknown", last_checked_at: null });
    } finally {
      await ending.close();
    }
  });
});

describe("checks on request", () => {
  it("end when the caller no longer waits for them", { tags: ["check"] }, async () => {
    for (let count = 0; count < 12; count += 1) await scene.model();
    scene.answers = { completions: null };
    const left = new AbortController();
    const bulk = checkAllHealth(scene.control.ctx, scene.control.prober, left.signal);
    await waitFor(
      () => scene.upstream.asked.length,
      (asked) => asked >= 8,
    );
    left.abort();
    expect((await bulk).record).toEqual({ checked: [], skipped: 0 });
    expect(new Set(scene.upstream.asked.map(({ body }) => body)).size).toBeLessThanOrEqual(8);
  });

  it("cover all eligible models at the same time", async () => {
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
