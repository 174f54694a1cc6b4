/**
 * Benchmarks from their start to their end (docs/rules/benchmarks.md), with a scripted data plane.
 *
 * @module-tag check
 */
import { randomUUID } from "node:crypto";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { GatewayError } from "../../../shared/errors.ts";
import type { Benchmark, BenchmarkDetail } from "../../../shared/schema/benchmark.ts";
import type { Tenant } from "../../../shared/schema/tenant.ts";
import { startControl, type TestControl } from "../../../test/harness/control.ts";
import { startToolModel, type ToolModel } from "../../../test/harness/tool-model.ts";
import { waitFor } from "../../../test/harness/wait-for.ts";
import { startBenchmark } from "./benchmark-verbs.ts";
import { type BenchmarkRow, benchmarks } from "./tables.ts";

let plane: ToolModel;
let control: TestControl;

beforeAll(async () => {
  plane = await startToolModel();
  control = await startControl({ dataPlaneUrl: plane.url.replace(/\/v1$/, "") });
  await post("/models", { model_name: "measured", model_type: "chat" });
  await post("/models", { model_name: "painter", model_type: "image" });
});
afterAll(async () => {
  await control.close();
  await plane.close();
});
beforeEach(async () => {
  await control.benchmarks.stop();
});

const post = async (path: string, body?: object) => await control.request("POST", `/api/v1${path}`, body);
const start = async (body: object) =>
  (await (await post("/benchmarks", { model: "measured", ...body })).json()) as Benchmark;
const now = async (id: string) =>
  (await (await control.request("GET", `/api/v1/benchmarks/${id}`)).json()) as BenchmarkDetail;
const ended = async (id: string) =>
  await waitFor(
    async () => await now(id),
    ({ state }) => state !== "running",
  );
const tenants = async () =>
  ((await (await control.request("GET", "/api/v1/tenants?limit=1000")).json()) as readonly Tenant[]).filter(
    ({ name }) => name.startsWith("gateway-benchmark-"),
  );

it("sends its planned requests as a temporary tenant, keeps the figures and removes the tenant", async () => {
  const started = await start({ max_requests: 20, concurrency: 4, max_tokens: 7 });
  expect(started).toMatchObject({ state: "running", started_by: "admin", result: null });
  const { state, result, points } = await ended(started.id);
  expect({ state, requests: result?.requests, errors: result?.errors, output_tokens: result?.output_tokens }).toEqual({
    state: "done",
    requests: 20,
    errors: 0,
    output_tokens: 100,
  });
  expect(points.reduce((sum, { requests }) => sum + requests, 0)).toBe(20);
  expect(await tenants()).toEqual([]);
  const seen = plane.seen('"max_tokens":7');
  expect(new Set(seen.map(({ messages }) => messages[0]?.content)).size).toBe(20);
  expect(((await (await control.request("GET", "/api/v1/benchmarks")).json()) as Benchmark[])[0]).toMatchObject({
    id: started.id,
    state: "done",
  });
});

it("answers a repeated start with the same benchmark, and nowhere with the key", async () => {
  const key = { "idempotency-key": randomUUID() };
  const body = { model: "measured", max_requests: 1 };
  const answers: string[] = [];
  for (let nth = 0; nth < 2; nth += 1)
    answers.push(await (await control.request("POST", "/api/v1/benchmarks", body, key)).text());
  expect(answers[1]).toBe(answers[0]);
  const { id } = JSON.parse(answers[0] ?? "") as Benchmark;
  expect(JSON.parse(answers[0] ?? "")).toMatchObject({ id, state: "running" });
  expect(answers.join()).not.toMatch(/secret|sk_/);
  await ended(id);
});

it("is 503 and over when the store does not take the key of it, as the assistant's is", async () => {
  vi.spyOn(control.publisher, "publish").mockResolvedValue("pending");
  vi.spyOn(control.publisher, "refresh").mockRejectedValue(new GatewayError("key_store_unavailable"));
  const statuses = [await post("/assistant/key"), await post("/benchmarks", { model: "measured" })];
  expect(statuses.map(({ status }) => status)).toEqual([503, 503]);
  expect(await control.benchmarks.sweep()).toEqual({ lost: 1 });
  expect(await tenants()).toEqual([]);
});

it.each([
  [{ concurrency: 41 }, "concurrency"],
  [{ duration_secs: 121 }, "duration_secs"],
  [{ max_requests: 501 }, "max_requests"],
  [{ max_requests: 1e308 }, "max_requests"],
  [{ model: "not-there" }, "model"],
  [{ model: "painter" }, "model"],
  [{ model: "" }, "model"],
])("refuses %j, naming %s", async (body, param) => {
  const answer = await post("/benchmarks", { model: "measured", ...body });
  expect({ status: answer.status, param: ((await answer.json()) as { error: { param: string } }).error.param }).toEqual(
    { status: 400, param },
  );
});

it("takes more where the settings say so, one at a time, and ends when somebody stops it", async () => {
  await control.request("PUT", "/api/v1/settings/assistant", { bench_max_requests: 20_000 });
  const { id } = await start({ max_requests: 20_000, concurrency: 1, duration_secs: 100 });
  const [tenant] = await tenants();
  expect(tenant).toMatchObject({ synthetic: true });
  const keys = await control.request("GET", `/api/v1/tenants/${tenant?.id}/keys`);
  expect(await keys.json()).toMatchObject([{ allowed_models: ["measured"] }]);
  const backup = await (await control.request("GET", "/api/v1/backup/export")).text();
  expect(backup).not.toContain("gateway-benchmark-");
  expect((await post("/benchmarks", { model: "measured" })).status).toBe(409);
  expect((await post(`/benchmarks/${id}/stop`)).status).toBe(200);
  expect(await ended(id)).toMatchObject({ state: "stopped" });
  expect(await tenants()).toEqual([]);
});

it("counts what fails, also when there is no data plane", async () => {
  const alone = await startControl();
  await alone.request("POST", "/api/v1/models", { model_name: "m", model_type: "chat" });
  const answer = await alone.request("POST", "/api/v1/benchmarks", { model: "m", max_requests: 5 });
  const { id } = (await answer.json()) as Benchmark;
  const read = async () => (await (await alone.request("GET", `/api/v1/benchmarks/${id}`)).json()) as BenchmarkDetail;
  const { result } = await waitFor(read, ({ state }) => state !== "running");
  expect(result).toMatchObject({ requests: 5, errors: 5, p50_ms: null, statuses: { 0: 5 } });
  await alone.close();
});

it("of a killed process is called lost, and its tenant is removed", async () => {
  const { db } = control.connection;
  const tenant = (await (await post("/tenants", { name: `gateway-benchmark-${randomUUID()}` })).json()) as Tenant;
  const row = {
    started_by: "ann",
    plan: { model: "measured", concurrency: 1, duration_secs: 1, max_requests: 1, prompt_tokens: 1, max_tokens: 1 },
    state: "running" as const,
    tenant_id: tenant.id,
  };
  const [left] = await db
    .insert(benchmarks)
    .values({ ...row, deadline: new Date(Date.now() + 60_000) })
    .returning();
  expect(await control.benchmarks.sweep()).toEqual({ lost: 0 });
  await db.update(benchmarks).set({ deadline: new Date(Date.now() - 1) });
  expect(await control.benchmarks.sweep()).toEqual({ lost: 1 });
  expect(await now(left?.id ?? "")).toMatchObject({ state: "lost" });
  expect(await tenants()).toEqual([]);
  expect(await control.benchmarks.sweep()).toEqual({ lost: 0 });
  await db.delete(benchmarks).where(eq(benchmarks.state, "lost"));
});

it("that is called lost stops on its own, stays lost, and had its whole time from its row on", async () => {
  const { db } = control.connection;
  let seconds = 0;
  const beganMs = Date.now();
  const ticking = (): Date => {
    seconds += 1;
    return new Date(beganMs + seconds * 1000);
  };
  const ctx = { ...control.ctx, now: ticking };
  const begun: (readonly [BenchmarkRow, string, boolean])[] = [];
  const plan = { model: "measured", duration_secs: 100, max_requests: 500, concurrency: 1 };
  const { record } = await startBenchmark(ctx, { start: (...given) => void begun.push(given) }, plan);
  const [row, secret, isEmbedding] = begun[0] ?? [];
  if (row === undefined || secret === undefined || isEmbedding === undefined) throw new Error("a start expected");
  expect(row.deadline.getTime() - row.created_at.getTime()).toBe(130_000);
  await db.update(benchmarks).set({ state: "lost" }).where(eq(benchmarks.id, record.id));
  control.benchmarks.start({ ...row, plan: { ...row.plan, max_requests: 1_000_000 } }, secret, isEmbedding);
  await waitFor(tenants, (left) => left.length === 0);
  await control.benchmarks.stop();
  expect(await now(record.id)).toMatchObject({ state: "lost", result: null, ended_at: null });
});
