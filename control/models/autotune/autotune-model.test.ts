/**
 * Capacity auto-tune over HTTP: which upstream it probes and how, what it refuses, and what it records
 * (docs/rules/autotune.md#what-is-probed).
 *
 * @module-tag check
 */
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { AutotuneReport } from "../../../shared/schema/autotune.ts";
import type { Model } from "../../../shared/schema/model.ts";
import { ADMIN_TOKEN, startControl, type TestControl } from "../../../test/harness/control.ts";
import { type HttpSink, startHttpSink } from "../../../test/harness/http-sink.ts";
import { waitFor } from "../../../test/harness/wait-for.ts";
import { jobs } from "../../db/schema/jobs.ts";
import { models } from "../../db/schema/models.ts";

let control: TestControl;
let upstream: HttpSink;
let count = 0;

beforeAll(async () => {
  [control, upstream] = await Promise.all([startControl(), startHttpSink()]);
});
afterAll(async () => {
  await Promise.all([control.close(), upstream.close()]);
});
beforeEach(() => {
  upstream.asked.length = 0;
  upstream.answer = () => ({ status: 500 });
});

async function model(more: Readonly<Record<string, unknown>> = {}): Promise<Model> {
  count += 1;
  const body = { model_name: `tuned-${count}`, upstream_model: "theirs", api_base: `${upstream.url}/v1`, ...more };
  return (await (await control.request("POST", "/api/v1/models", body)).json()) as Model;
}

const autotune = async ({ id }: { readonly id: string }, body: object = {}): Promise<Response> =>
  await control.request("POST", `/api/v1/models/${id}/autotune`, body);

/** The audit log's entries of a model's runs, newest first. */
async function runs({ id }: Model): Promise<readonly { readonly detail: Record<string, unknown> }[]> {
  const path = `/api/v1/audit?action=autotune_model&entity_id=${id}`;
  return (await (await control.request("GET", path)).json()) as { detail: Record<string, unknown> }[];
}

async function refusal(response: Response): Promise<unknown> {
  return [response.status, ((await response.json()) as { error: object }).error];
}

describe("auto-tune", () => {
  it.each([
    ["chat", "/v1/chat/completions", { messages: [{ role: "user", content: "ping" }], max_tokens: 8, stream: false }],
    ["embedding", "/v1/embeddings", { input: "ping" }],
  ])(
    "calls %s models at their own path with their credential and reports a failing upstream",
    async (modality, path, asked) => {
      const probed = await model({ model_type: modality, api_key: "sk-upstream" });
      const response = await autotune(probed);
      const report = (await response.json()) as AutotuneReport;
      expect({ status: response.status, report }).toEqual({
        status: 200,
        report: {
          model_id: probed.id,
          model_name: probed.model_name,
          modality,
          target_p99_ms: 2000,
          max_concurrency: 64,
          recommended_max_in_flight: 1,
          recommended_throughput_rps: 0,
          knee_reason: "no_data",
          steps: [{ concurrency: 1, throughput_rps: 0, p50_ms: null, p99_ms: null, requests: 20, errors: 20 }],
          duration_ms: report.duration_ms,
        },
      });
      expect(upstream.asked).toHaveLength(20);
      expect(upstream.asked[0]).toMatchObject({ method: "POST", url: path });
      expect(upstream.asked[0]?.headers["authorization"]).toBe("Bearer sk-upstream");
      expect(JSON.parse(upstream.asked[0]?.body ?? "")).toEqual({ model: "theirs", ...asked });
      const after = await (await control.request("GET", `/api/v1/models/${probed.id}`)).json();
      expect(after).toEqual(probed);
      expect(await runs(probed)).toMatchObject([{ detail: { knee_reason: "no_data", requests: 20 } }]);
    },
  );

  it("probes the first endpoint of failover order", async () => {
    const probed = await model({ api_base: "http://127.0.0.1:9/v1" });
    for (const [name, priority, api_key] of [
      ["later", 200, "sk-later"],
      ["first", 10, "sk-first"],
    ])
      await control.request("POST", `/api/v1/models/${probed.id}/endpoints`, {
        name,
        priority,
        api_key,
        api_base: `${upstream.url}/${name}/v1`,
      });
    await autotune(probed);
    expect(new Set(upstream.asked.map(({ url }) => url))).toEqual(new Set(["/first/v1/chat/completions"]));
    expect(upstream.asked[0]?.headers["authorization"]).toBe("Bearer sk-first");
  });

  it("follows no redirect, and counts it as a failure", async () => {
    upstream.answer = () => ({ status: 307, headers: { location: "/elsewhere" } });
    const response = await autotune(await model());
    expect(await response.json()).toMatchObject({ knee_reason: "no_data" });
    expect(new Set(upstream.asked.map(({ url }) => url))).toEqual(new Set(["/v1/chat/completions"]));
  });

  it("refuses other models, unknown ones, and invalid bodies", async () => {
    const speech = await model({ model_type: "audio_speech" });
    expect(await refusal(await autotune(speech))).toMatchObject([400, { code: "autotune_unsupported" }]);
    const probed = await model();
    for (const [body, path] of [
      [{ target_p99_ms: 0 }, "target_p99_ms"],
      [{ target_p99_ms: 600_001 }, "target_p99_ms"],
      [{ max_concurrency: 0 }, "max_concurrency"],
      [{ max_concurrency: "all" }, "max_concurrency"],
    ] as const)
      expect(await refusal(await autotune(probed, body))).toMatchObject([400, { param: path }]);
    expect((await autotune({ id: "7a1f4c1e-6d0b-4f57-9a53-2b8f0f1c9d3e" })).status).toBe(404);
    expect({ asked: upstream.asked, runs: await runs(probed) }).toEqual({ asked: [], runs: [] });
  });

  it("says which field to set when the stored credential cannot be read", async () => {
    const probed = await model({ api_key: "sk-upstream" });
    await control.connection.db.update(models).set({ api_key: "enc:v1:AAAA" }).where(eq(models.id, probed.id));
    expect(await refusal(await autotune(probed))).toMatchObject([400, { code: "validation_failed", param: "api_key" }]);
    expect({ asked: upstream.asked, jobs: await control.connection.db.select().from(jobs) }).toEqual({
      asked: [],
      jobs: [],
    });
  });

  it("tries at most 256 concurrent requests", async () => {
    const response = await autotune(await model(), { max_concurrency: 10_000 });
    expect(await response.json()).toMatchObject({ max_concurrency: 256 });
  });

  it("calls no address that the policy does not allow", async () => {
    const strict = await startControl({ ssrf: { blockPrivate: true, allowedCidrs: [] } });
    try {
      const body = { model_name: "blocked", api_base: "" };
      const { id } = (await (await strict.request("POST", "/api/v1/models", body)).json()) as Model;
      await strict.connection.db.update(models).set({ api_base: upstream.url }).where(eq(models.id, id));
      const response = await strict.request("POST", `/api/v1/models/${id}/autotune`, {});
      expect(await refusal(response)).toMatchObject([400, { code: "address_blocked" }]);
      expect(upstream.asked).toEqual([]);
    } finally {
      await strict.close();
    }
  });

  it("ends with the service", async () => {
    const ending = await startControl();
    try {
      upstream.answer = () => null;
      const body = { model_name: "ending", api_base: `${upstream.url}/v1` };
      const { id } = (await (await ending.request("POST", "/api/v1/models", body)).json()) as Model;
      const running = ending.request("POST", `/api/v1/models/${id}/autotune`, { target_p99_ms: 600_000 });
      await waitFor(
        () => upstream.asked.length,
        (asked) => asked === 1,
      );
      ending.end();
      expect(await (await running).json()).toMatchObject({ knee_reason: "no_data", steps: [] });
      expect(await ending.connection.db.select().from(jobs)).toEqual([]);
    } finally {
      await ending.close();
    }
  });

  it("runs once at a time per model, and ends when its caller leaves", async () => {
    upstream.answer = () => null;
    const [probed, other] = [await model(), await model()];
    const leaving = new AbortController();
    const running = control.app.request(`/api/v1/models/${probed.id}/autotune`, {
      method: "POST",
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
      body: "{}",
      signal: leaving.signal,
    });
    await waitFor(
      () => upstream.asked.length,
      (asked) => asked === 1,
    );
    expect(await refusal(await autotune(probed, {}))).toMatchObject([409, { code: "autotune_running" }]);
    upstream.answer = () => ({ status: 500 });
    expect((await autotune(other)).status).toBe(200);
    leaving.abort();
    await running;
    expect(await runs(probed)).toMatchObject([{ detail: { cancelled: true, requests: 1 } }]);
    expect(await control.connection.db.select().from(jobs)).toEqual([]);
    expect((await autotune(probed)).status).toBe(200);
  });
});
