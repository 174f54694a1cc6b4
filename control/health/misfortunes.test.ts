/**
 * What must not stop health checks: clocks that jump, unusual values, models and callers that are gone
 * (docs/rules/health.md#states).
 *
 * @module-tag check
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Model } from "../../shared/schema/model.ts";
import type { ModelHealthDetail } from "../../shared/schema/model-health.ts";
import { type HealthScene, startHealthScene } from "../../test/harness/health-scene.ts";
import { type HttpSink, type SinkAnswer, startHttpSink } from "../../test/harness/http-sink.ts";
import { waitFor } from "../../test/harness/wait-for.ts";
import { CatalogCache } from "./catalogs.ts";
import { checkAllHealth } from "./check-all-health.ts";

const DAY_MS = 86_400_000;
/** An interval, its jitter, and the tick of the job that notices. */
const ROUND_MS = 900_000 * 1.1 + 30_000;

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

async function check(model: Model): Promise<ModelHealthDetail> {
  return await scene.send("POST", `/models/${model.id}/health/check`);
}

describe("a clock that was ahead and is set back", () => {
  it("leaves no model without checks, and drops no requested check", async () => {
    const model = await scene.model({ health: { failure_threshold: 1 } });
    scene.skip(DAY_MS);
    scene.answers = { completions: { status: 401 } };
    await scene.tick();
    scene.skip(-DAY_MS);
    scene.answers = {};
    await scene.pass(ROUND_MS);
    expect(await scene.summary(model)).toMatchObject({ status: "healthy", consecutive_failures: 0 });
    scene.skip(DAY_MS);
    await check(model);
    scene.skip(-DAY_MS);
    scene.answers = { completions: { status: 401 } };
    expect((await check(model)).summary).toMatchObject({ status: "unhealthy" });
  });
});

describe("an interval longer than any date", () => {
  it("does not keep a model from its check", async () => {
    const model = await scene.model({ health: { check_interval_secs: Number.MAX_SAFE_INTEGER } });
    await scene.tick();
    expect(await scene.summary(model)).toMatchObject({ status: "healthy" });
    await scene.pass(ROUND_MS);
    expect(scene.upstream.asked).toHaveLength(1);
  });
});

describe("a bulk check", () => {
  it("skips a model that is removed as soon as it was checked", async () => {
    const [kept, gone] = [await scene.model(), await scene.model()];
    const { ctx, prober } = scene.control;
    const check: typeof prober.check = async (id, trigger, signal) => {
      const sync = await prober.check(id, trigger, signal);
      if (id === gone.id) await scene.control.request("DELETE", `/api/v1/models/${id}`);
      return sync;
    };
    const { record } = await checkAllHealth(ctx, { check }, new AbortController().signal);
    expect(record.checked.map(({ summary }) => summary.model_id)).toEqual([kept.id]);
  });
});

describe("a check that is under way", () => {
  it.each([
    ["checks are turned off", { checks_enabled: false }],
    ["maintenance begins", { maintenance_until: "2999-01-01T00:00:00Z" }],
  ])("takes no endpoint out of rotation and raises no alert once %s", async (_, config) => {
    const model = await scene.model({ api_base: "", health: { failure_threshold: 1 } });
    await scene.endpoint(model, "a", `${scene.upstream.url}/v1`);
    const answer = Promise.withResolvers<SinkAnswer>();
    scene.upstream.answer = async () => await answer.promise;
    await scene.control.prober.run();
    await waitFor(
      () => scene.upstream.asked.length,
      (asked) => asked > 0,
    );
    await scene.send("PUT", `/models/${model.id}/health/config`, config);
    answer.resolve({ status: 401 });
    await scene.control.prober.idle();
    expect(await scene.send("GET", `/models/${model.id}/endpoints`)).toMatchObject([{ health_status: "unknown" }]);
    expect(await scene.summary(model)).toMatchObject({ consecutive_failures: 0, alert_state: "ok" });
    expect(scene.alerts(model)).toEqual([]);
  });
});

describe("a catalog that two checks read at the same time", () => {
  let upstream: HttpSink;
  let nowMs = 0;
  const read = async (catalogs: CatalogCache, signal: AbortSignal): Promise<readonly string[] | null> =>
    await catalogs.read({
      apiBase: upstream.url,
      access: { api_dialect: "openai", auth_scheme: "bearer" },
      credential: null,
      timeoutMs: 5000,
      policy: undefined,
      signal,
    });

  beforeAll(async () => {
    upstream = await startHttpSink();
  });
  afterAll(async () => {
    await upstream.close();
  });

  it("is read for the check whose caller stays", async () => {
    const catalogs = new CatalogCache(() => nowMs);
    const [left, stays] = [new AbortController(), new AbortController()];
    upstream.answer = () => null;
    const first = read(catalogs, left.signal).catch((error: Error) => error.message);
    const second = read(catalogs, stays.signal);
    await waitFor(
      () => upstream.asked.length,
      (asked) => asked === 1,
    );
    upstream.answer = () => ({ body: '{"data":[{"id":"m"}]}' });
    left.abort();
    expect({ first: await first, second: await second }).toEqual({ first: "cancelled", second: ["m"] });
    expect(await read(catalogs, stays.signal)).toEqual(["m"]);
    expect(upstream.asked).toHaveLength(2);
  });

  it("is read again when the clock was set back", async () => {
    nowMs = DAY_MS;
    const catalogs = new CatalogCache(() => nowMs);
    const { signal } = new AbortController();
    upstream.answer = () => ({ body: '{"data":[{"id":"old"}]}' });
    await read(catalogs, signal);
    nowMs = 0;
    upstream.answer = () => ({ body: '{"data":[{"id":"new"}]}' });
    expect(await read(catalogs, signal)).toEqual(["new"]);
  });
});
