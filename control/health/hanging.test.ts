/**
 * Upstreams that do not answer, and what happens until a check notices it (docs/rules/health.md#states,
 * docs/rules/health.md#classification).
 *
 * @module-tag long
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Model } from "../../shared/schema/model.ts";
import type { ModelHealthDetail } from "../../shared/schema/model-health.ts";
import { type HealthScene, startHealthScene } from "../../test/harness/health-scene.ts";
import type { SinkAnswer } from "../../test/harness/http-sink.ts";
import { mainRows } from "../../test/harness/main-rows.ts";
import { waitFor } from "../../test/harness/wait-for.ts";

const REFUSED = { status: 401 };

let scene: HealthScene;

beforeAll(async () => {
  scene = await startHealthScene({ probeTimeoutMs: 1000 });
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

describe("an upstream that hangs", () => {
  mainRows(1)([
    ["chat", "/completions", 3],
    ["image", "/models", 3],
  ])("makes its %s model unhealthy, after three attempts", async (model_type, path, calls) => {
    const model = await scene.model({ model_type, health: { failure_threshold: 1 } });
    scene.answers = { completions: null, models: null };
    await scene.tick();
    expect((await detail(model)).checks).toMatchObject([{ status: "unhealthy", message: "no answer: timeout" }]);
    expect(scene.upstream.asked.filter(({ url }) => url.endsWith(path))).toHaveLength(calls);
  });
});

describe("a check that takes its time", () => {
  it("counts together with another check that ended meanwhile as one", async () => {
    const model = await scene.model();
    const check = async (): Promise<ModelHealthDetail> => await scene.send("POST", `/models/${model.id}/health/check`);
    const answer = Promise.withResolvers<SinkAnswer>();
    scene.upstream.answer = async () => await answer.promise;
    const slow = check();
    await waitFor(
      () => scene.upstream.asked.length,
      (asked) => asked > 0,
    );
    scene.skip(1000);
    scene.upstream.answer = () => REFUSED;
    expect((await check()).summary.consecutive_failures).toBe(1);
    answer.resolve(REFUSED);
    const late = await slow;
    expect(late.summary).toMatchObject({ consecutive_failures: 1, last_message: expect.stringMatching(/401/) });
    expect(late.checks).toHaveLength(1);
  });

  it("is dropped when the model has another upstream by then, whose health is unknown at first", async () => {
    const model = await scene.model({ health: { failure_threshold: 1 } });
    scene.answers = { completions: REFUSED };
    await scene.tick();
    expect(await scene.summary(model)).toMatchObject({ status: "unhealthy", alert_state: "firing" });
    const answer = Promise.withResolvers<SinkAnswer>();
    const { answer: usual } = scene.upstream;
    scene.upstream.answer = async () => await answer.promise;
    const checking = scene.send<ModelHealthDetail>("POST", `/models/${model.id}/health/check`);
    await waitFor(
      () => scene.upstream.asked.length,
      (asked) => asked > 1,
    );
    await scene.send("PUT", `/models/${model.id}`, { upstream_model: "other", api_base: model.api_base });
    answer.resolve(REFUSED);
    const fresh = { status: "unknown", consecutive_failures: 0, alert_state: "ok", last_checked_at: null };
    expect((await checking).summary).toMatchObject(fresh);
    scene.upstream.answer = usual;
    scene.answers = {};
    await scene.tick();
    expect(await scene.summary(model)).toMatchObject({ status: "healthy" });
  });
});
