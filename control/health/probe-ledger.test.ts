/**
 * Health and the ledger: traffic that was served makes a probe unnecessary, and a probe records what it used
 * (docs/rules/health.md#probes).
 *
 * @module-tag long
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Model } from "../../shared/schema/model.ts";
import type { ModelHealthDetail } from "../../shared/schema/model-health.ts";
import type { UsageLog } from "../../shared/schema/usage.ts";
import { NIL_UUID, type UsageRow } from "../../shared/usage/usage-row.ts";
import { type HealthScene, startHealthScene } from "../../test/harness/health-scene.ts";
import { ledgerRow, TestLedger } from "../../test/harness/ledger.ts";
import { waitFor } from "../../test/harness/wait-for.ts";
import { ProbeLedger } from "./probe-ledger.ts";

const INTERVAL_MS = 900_000;

const ledger = new TestLedger();
ledger.use();
let scene: HealthScene;

beforeAll(async () => {
  scene = await startHealthScene({ analytics: ledger.store });
});
afterEach(async () => {
  await scene.clear();
});
afterAll(async () => {
  await scene.close();
});

/** A model that has existed for longer than an interval. */
async function known(fields: Readonly<Record<string, unknown>> = {}): Promise<Model> {
  const model = await scene.model(fields);
  scene.skip(2 * INTERVAL_MS);
  return model;
}

/** A request of a model that ended `agoMs` ago and took a second. */
async function served(model: Model, agoMs: number, change: Partial<UsageRow> = {}): Promise<void> {
  const row = { model: model.model_name, upstream_status: 200, attempts: 1, total_ms: 1000, ...change };
  await ledger.insert([ledgerRow(scene.nowMs() - agoMs, row)]);
}

async function checked(model: Model): Promise<ModelHealthDetail["checks"][number] | undefined> {
  await scene.send("POST", "/models/health");
  return (await scene.send<ModelHealthDetail>("GET", `/models/${model.id}/health`)).checks[0];
}

const probes = (): number => scene.upstream.asked.length;

describe("requests that all failed", () => {
  const fail = async (model: Model, count: number): Promise<void> => {
    for (let at = 0; at < count; at++) await served(model, 5000 + at, { status_code: 502, upstream_status: 500 });
  };

  it("make a model that answers with errors down, and one whose probe passes degraded", async () => {
    const model = await known({ health: { failure_threshold: 1 } });
    await fail(model, 3);
    expect(await checked(model)).toMatchObject({
      status: "degraded",
      message: "http 200; all 3 requests since the last check failed",
    });
    scene.answers = { completions: { status: 500 } };
    await scene.pass(60_000);
    await fail(model, 4);
    expect(await checked(model)).toMatchObject({
      status: "unhealthy",
      message: "http 500; all 4 requests since the last check failed",
    });
    expect(await scene.summary(model)).toMatchObject({ status: "unhealthy", alert_state: "firing" });
  });

  it("say nothing when they are two, or when one was served", async () => {
    const few = await known();
    await fail(few, 2);
    expect(await checked(few)).toMatchObject({ status: "healthy", message: "http 200" });
    const mixed = await known();
    await served(mixed, 9000);
    await fail(mixed, 3);
    expect(await checked(mixed)).toMatchObject({ status: "healthy", message: "http 200" });
  });
});

it("a model without checks is shown as its requests say, in every read", async () => {
  const model = await known({ health: { checks_enabled: false } });
  const shown = async () => [
    (await scene.send<Model>("GET", `/models/${model.id}`)).health_status,
    (await scene.send<readonly Model[]>("GET", `/models?q=${model.model_name}`))[0]?.health_status,
    (await scene.summary(model)).status,
  ];
  expect(await shown()).toEqual(["unknown", "unknown", "unknown"]);
  await served(model, 9000);
  scene.skip(1000);
  expect(await shown()).toEqual(["healthy", "healthy", "healthy"]);
  for (const agoMs of [3000, 4000, 5000]) await served(model, agoMs, { status_code: 502, upstream_status: 500 });
  scene.skip(1000);
  expect(await shown()).toEqual(["degraded", "degraded", "degraded"]);
  expect(probes()).toBe(0);
});

describe("a request that was served", () => {
  it("within the interval settles checks that nobody has asked for, without a call", async () => {
    const model = await known();
    await served(model, INTERVAL_MS - 5000);
    const at = new Date(scene.nowMs() - INTERVAL_MS + 5000).toISOString();
    const proof = { status: "healthy", message: `served a request at ${at}`, latency_ms: 1000, http_status: 200 };
    expect(await checked(model)).toMatchObject(proof);
    expect(probes()).toBe(0);
    scene.skip(1000);
    const { checks } = await scene.send<ModelHealthDetail>("POST", `/models/${model.id}/health/check`);
    expect(checks[0]).toMatchObject({ trigger: "manual", message: "http 200" });
    expect(probes()).toBe(1);
  });

  it.each<[string, Partial<UsageRow>]>([
    ["failed", { status_code: 502 }],
    ["broke off", { error_code: "upstream_stream_error" }],
    ["went on to another model", { served_model: "another" }],
  ])("proves nothing when a later one %s", async (_what, change) => {
    const model = await known();
    await served(model, 5000);
    await served(model, 1000, change);
    expect(await checked(model)).toMatchObject({ message: "http 200" });
    expect(probes()).toBe(1);
  });

  it.each<[string, number, Partial<UsageRow>]>([
    ["is older than the interval", INTERVAL_MS + 1000, {}],
    ["is another model's", 1000, { model: "another" }],
    ["failed", 1000, { status_code: 502 }],
    ["came from the cache", 1000, { cache_status: "hit" }],
    ["was a probe", 1000, { request_type: "health_probe" }],
    ["was a benchmark", 1000, { request_type: "benchmark" }],
  ])("proves nothing when it %s", async (_what, agoMs, change) => {
    const model = await known();
    await served(model, agoMs, change);
    expect(await checked(model)).toMatchObject({ message: "http 200" });
    expect(probes()).toBe(1);
  });

  it("proves that a model works which answered as a fallback", async () => {
    const model = await known();
    await served(model, 1000, { model: "another", served_model: model.model_name });
    expect(await checked(model)).toMatchObject({ message: expect.stringMatching(/^served/) });
    expect(probes()).toBe(0);
  });

  it("proves nothing when it started before the last failed check or another upstream served it", async () => {
    const model = await known();
    scene.answers = { completions: { status: 500 } };
    expect(await checked(model)).toMatchObject({ status: "degraded" });
    await scene.pass(500);
    await served(model, 0);
    expect(await checked(model)).toMatchObject({ status: "degraded" });
    await scene.pass(5000);
    await served(model, 0);
    expect(await checked(model)).toMatchObject({ status: "healthy", message: expect.stringMatching(/^served/) });
    await scene.pass(5000);
    await scene.send("PUT", `/models/${model.id}`, { upstream_model: "other", api_base: model.api_base });
    expect(await checked(model)).toMatchObject({ status: "degraded" });
  });

  it("proves nothing of a credential that has changed since", async () => {
    const model = await known();
    await served(model, 1000);
    expect(await checked(model)).toMatchObject({ message: expect.stringMatching(/^served/) });
    scene.answers = { completions: { status: 401 } };
    await scene.send("PATCH", `/models/${model.id}`, { api_key: "wrong" });
    // checks are listed by their times
    scene.skip(1000);
    expect(await checked(model)).toMatchObject({ status: "unhealthy", http_status: 401 });
  });

  it("proves nothing about a model that got the name later", async () => {
    const gone = await known();
    await served(gone, 5000);
    await scene.control.request("DELETE", `/api/v1/models/${gone.id}`);
    const model = await scene.model({ model_name: gone.model_name, api_base: "http://127.0.0.1:9/v1" });
    expect(await checked(model)).toMatchObject({ status: "unhealthy", message: "no answer: connect failed" });
  });

  it("says nothing about endpoints, which are called anyway", async () => {
    const model = await known({ api_base: "" });
    await scene.endpoint(model, "a", `${scene.upstream.url}/v1`);
    await served(model, 1000);
    expect(await checked(model)).toMatchObject({ message: expect.stringMatching(/^served/) });
    expect(probes()).toBe(1);
  });
});

describe("a probe", () => {
  it("leaves a row of what it used, which reads show on request", async () => {
    const model = await scene.model();
    const usage = { prompt_tokens: 8, completion_tokens: 1, total_tokens: 9 };
    scene.answers = { completions: { body: JSON.stringify({ usage }) } };
    await checked(model);
    const query = `since_ms=0&model=${model.model_name}`;
    const rows = await waitFor(
      async () => {
        await scene.tick();
        return await scene.send<UsageLog[]>("GET", `/usage/logs?${query}&include_internal=true`);
      },
      (found) => found.length > 0,
    );
    expect(rows.at(-1)).toMatchObject({
      tenant_id: NIL_UUID,
      key_id: NIL_UUID,
      model: model.model_name,
      request_type: "health_probe",
      admission: "fast",
      cell: "local",
      status_code: 200,
      upstream_status: 200,
      input_tokens: 8,
      output_tokens: 1,
      total_tokens: 9,
      cost_usd: 0,
    });
    expect(await scene.send("GET", `/usage/logs?${query}`)).toEqual([]);
    expect(await scene.send("GET", `/usage/models?${query}`)).toEqual([]);
  });

  it("keeps its rows until the analytics store takes them, and sends each batch with one token", async () => {
    const taken: [string, number][] = [];
    let away = true;
    const waiting = new ProbeLedger(
      {
        insertUsage: async (rows, token) => {
          taken.push([token, rows.length]);
          if (away) throw new Error("away");
        },
      },
      "local",
    );
    const usage = { status: 200, inputTokens: 1, outputTokens: 1, latencyMs: 1 };
    waiting.add("m", [usage, usage], 1);
    await waiting.flush();
    away = false;
    await waiting.flush();
    await waiting.flush();
    expect(taken.map(([, rows]) => rows)).toEqual([2, 2]);
    expect(taken[0]?.[0]).toBe(taken[1]?.[0]);
  });
});
