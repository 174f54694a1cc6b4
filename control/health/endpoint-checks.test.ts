/**
 * What checks found at a model's endpoints, as admins read it (docs/rules/models.md#endpoints,
 * docs/rules/health.md#records).
 *
 * @module-tag check
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import type { ModelEndpoint } from "../../shared/schema/model-endpoint.ts";
import type { ModelHealthDetail } from "../../shared/schema/model-health.ts";
import { type HealthScene, startHealthScene } from "../../test/harness/health-scene.ts";
import { waitFor } from "../../test/harness/wait-for.ts";

let scene: HealthScene;
beforeAll(async () => {
  scene = await startHealthScene();
});
afterAll(async () => {
  await scene.close();
});

it("every endpoint shows its last check, and the model's health lists all of them", async () => {
  const model = await scene.model({ api_base: "" });
  const good = await scene.endpoint(model, "good", `${scene.upstream.url}/v1`);
  const bad = await scene.endpoint(model, "bad");
  const path = `/models/${model.id}/endpoints`;
  const unchecked = { last_checked_at: null, last_latency_ms: null, last_http_status: null, last_message: null };
  expect({ good, bad }).toMatchObject({ good: unchecked, bad: unchecked });

  await scene.tick();
  const checkedAt = new Date(scene.nowMs()).toISOString();
  const [first, second] = (await scene.send<ModelEndpoint[]>("GET", path)) as [ModelEndpoint, ModelEndpoint];
  expect({ first, second }).toMatchObject({
    first: {
      name: "bad",
      last_checked_at: checkedAt,
      last_http_status: null,
      last_message: expect.stringMatching(/./),
    },
    second: { name: "good", health_status: "healthy", last_checked_at: checkedAt, last_http_status: 200 },
  });
  for (const { last_latency_ms } of [first, second]) expect(last_latency_ms).toBeGreaterThanOrEqual(0);

  const detail = await scene.send<ModelHealthDetail>("GET", `/models/${model.id}/health`);
  const seen = { model_id: model.id, checked_at: checkedAt, trigger: "scheduled" };
  expect(
    detail.endpoint_checks.toSorted((a, b) => (a.endpoint_name ?? "").localeCompare(b.endpoint_name ?? "")),
  ).toMatchObject([
    { ...seen, endpoint_id: bad.id, endpoint_name: "bad", status: "unhealthy", http_status: null },
    { ...seen, endpoint_id: good.id, endpoint_name: "good", status: "healthy", http_status: 200 },
  ]);
  expect(detail.checks).toHaveLength(1);
  expect(detail.checks[0]).not.toHaveProperty("endpoint_id");
});

it("the newest fifty are listed, those of a removed endpoint without a name", async () => {
  const model = await scene.model();
  const { id } = await scene.endpoint(model, "removed", `${scene.upstream.url}/v1`);
  const check = async (): Promise<ModelHealthDetail> => {
    scene.skip(1000);
    return await scene.send("POST", `/models/${model.id}/health/check`);
  };
  for (let count = 0; count < 51; count += 1) await check();
  const full = await check();
  expect(full.endpoint_checks).toHaveLength(50);
  const times = full.endpoint_checks.map(({ checked_at }) => checked_at);
  expect(times).toEqual(times.toSorted().reverse());
  expect(times[0]).toBe(new Date(scene.nowMs()).toISOString());
  expect((await scene.control.request("DELETE", `/api/v1/models/${model.id}/endpoints/${id}`)).status).toBe(204);
  const after = await scene.send<ModelHealthDetail>("GET", `/models/${model.id}/health`);
  expect(after.endpoint_checks[0]).toMatchObject({ endpoint_id: id, endpoint_name: null, status: "healthy" });
});

it("an endpoint with another address has no last check until the new address was checked", async () => {
  const model = await scene.model({ api_base: "" });
  const { id } = await scene.endpoint(model, "moves", `${scene.upstream.url}/v1`);
  await scene.tick();
  const moved = await scene.send("PUT", `/models/${model.id}/endpoints/${id}`, {
    api_base: `${scene.upstream.url}/other/v1`,
  });
  expect(moved).toMatchObject({ last_checked_at: null, last_http_status: null, last_message: null });
  scene.skip(1000);
  await scene.tick();
  expect(await scene.send("GET", `/models/${model.id}/endpoints`)).toMatchObject([
    { last_checked_at: new Date(scene.nowMs()).toISOString(), last_http_status: 200 },
  ]);
});

it("an endpoint that is added while its model is checked is checked at once too", async () => {
  const model = await scene.model({ api_base: "" });
  await scene.endpoint(model, "first", `${scene.upstream.url}/v1`);
  await scene.tick();
  scene.skip(1_000_000);
  scene.upstream.asked.length = 0;
  const gates = { first: Promise.withResolvers<object>(), second: Promise.withResolvers<object>() };
  scene.upstream.answer = ({ url }) => gates[url.startsWith("/other/") ? "second" : "first"].promise;
  const asks = async (path: string): Promise<void> => {
    await waitFor(
      () => scene.upstream.asked.some(({ url }) => url.startsWith(path)),
      (asked) => asked,
    );
  };
  const checking = scene.tick();
  await asks("/v1/");
  scene.skip(10);
  await scene.endpoint(model, "second", `${scene.upstream.url}/other/v1`);
  const again = scene.tick();
  await asks("/other/");
  scene.skip(10);
  gates.first.resolve({});
  await waitFor(
    async () => await scene.summary(model),
    ({ last_checked_at }) => last_checked_at === new Date(scene.nowMs()).toISOString(),
  );
  gates.second.resolve({});
  await Promise.all([checking, again]);
  const statuses = await scene.send<ModelEndpoint[]>("GET", `/models/${model.id}/endpoints`);
  expect(statuses).toMatchObject([
    { name: "first", health_status: "healthy" },
    { name: "second", health_status: "healthy" },
  ]);
  // the claim of the check that was overtaken has ended
  const { next_check_at } = await scene.summary(model);
  expect(Date.parse(next_check_at ?? "")).toBeGreaterThan(scene.nowMs() + 800_000);
});
