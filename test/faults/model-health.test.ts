/**
 * The health of models on the running stack: upstreams that fail in every way, and the consequences
 * (docs/rules/health.md#states).
 *
 * @module-tag long
 */

import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import type { Stack } from "../../infra/local/stack.ts";
import type { Model } from "../../shared/schema/model.ts";
import type { ModelEndpoint } from "../../shared/schema/model-endpoint.ts";
import type { ModelHealthDetail } from "../../shared/schema/model-health.ts";
import { Gateway, type Minted } from "../harness/gateway.ts";
import { type HttpSink, type SinkAnswer, startHttpSink } from "../harness/http-sink.ts";
import { alertsIn } from "../harness/object-faults.ts";
import { startTestStack } from "../harness/test-stack.ts";
import { waitFor } from "../harness/wait-for.ts";

const lines: string[] = [];
const COMPLETION = {
  id: "c",
  object: "chat.completion",
  choices: [{ index: 0, message: { role: "assistant", content: "hi" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
};

let stack: Stack;
let gateway: Gateway;
let upstream: HttpSink;
/** How the upstream answers, by the first word of the path, `chat` or `catalog`; without an entry it answers normally. */
let answers: Record<string, { readonly chat?: SinkAnswer | null; readonly catalog?: SinkAnswer }> = {};

beforeAll(async () => {
  upstream = await startHttpSink();
  upstream.answer = ({ url }) => {
    const { chat, catalog = { body: '{"data":[]}' } } = answers[url.split("/")[1] ?? ""] ?? {};
    if (url.endsWith("/models")) return catalog;
    return chat === undefined
      ? { headers: { "content-type": "application/json" }, body: JSON.stringify(COMPLETION) }
      : chat;
  };
  stack = await startTestStack(
    { GATEWAY_MODEL_HEALTH_ENABLED: "1", GATEWAY_MODEL_HEALTH_TIMEOUT_SECS: "1" },
    { log: (line) => lines.push(line) },
  );
  gateway = new Gateway(stack);
});
afterAll(async () => {
  await stack.stop();
  await upstream.close();
});
beforeEach(() => {
  answers = {};
  upstream.asked.length = 0;
});

const at = (name: string): string => `${upstream.url}/${name}/v1`;
const askedAt = (name: string): number => upstream.asked.filter(({ url }) => url.startsWith(`/${name}/`)).length;

async function health({ id }: Model): Promise<ModelHealthDetail> {
  return await gateway.must("GET", `/models/${id}/health`);
}

async function check({ id }: Model): Promise<ModelHealthDetail> {
  return await gateway.must("POST", `/models/${id}/health/check`);
}

/** Makes a scheduled check due and waits for its result. */
async function scheduled(model: Model): Promise<ModelHealthDetail> {
  const { checks } = await health(model);
  await gateway.must("PUT", `/models/${model.id}/health/config`, {});
  return await waitFor(
    async () => await health(model),
    (now) => now.checks.length > checks.length,
  );
}

/** The keys of a model's alerts so far. */
function alertsOf({ model_name }: Model): readonly string[] {
  const keys = alertsIn(lines).map(({ key }) => String(key));
  return keys.filter((key) => key.endsWith(model_name)).map((key) => key.slice(0, -model_name.length - 1));
}

/** The model is checked only when a test starts a check; one failure is an outage. */
const BY_HAND = { health: { checks_enabled: false, failure_threshold: 1 } };

async function minted(name: string, fields: Readonly<Record<string, unknown>> = {}): Promise<Minted> {
  return await gateway.mint(at(name), "m", fields);
}

it("a model is checked when it is made; its outage and its recovery are reported once each", async () => {
  const { model } = await minted("updown");
  const first = await waitFor(
    async () => await health(model),
    ({ checks }) => checks.length > 0,
  );
  expect(first.summary).toMatchObject({ status: "healthy", alert_state: "ok" });
  answers = { updown: { chat: { status: 403 } } };
  expect((await scheduled(model)).summary).toMatchObject({ status: "healthy", consecutive_failures: 1 });
  expect((await scheduled(model)).summary).toMatchObject({ status: "unhealthy", alert_state: "firing" });
  await scheduled(model);
  answers = {};
  expect((await scheduled(model)).summary).toMatchObject({
    status: "healthy",
    alert_state: "ok",
    consecutive_failures: 0,
  });
  const { checks } = await scheduled(model);
  expect(new Set(checks.map(({ trigger }) => trigger))).toEqual(new Set(["scheduled"]));
  expect(
    checks
      .map(({ status }) => status)
      .toReversed()
      .join(" "),
  ).toBe("healthy unhealthy unhealthy unhealthy healthy healthy");
  const keys = await waitFor(
    () => alertsOf(model),
    (keys) => keys.length > 1,
  );
  expect(keys).toEqual(["model_health_down", "model_health_recovery"]);
});

it("upstreams that flap, reject, hang and send wrong answers are each diagnosed correctly", async () => {
  const cases = {
    flaps: await minted("flaps", { health: { checks_enabled: false } }),
    listed: await minted("listed", BY_HAND),
    absent: await minted("absent", BY_HAND),
    hangs: await minted("hangs", BY_HAND),
    lies: await minted("lies", BY_HAND),
  };
  answers = {
    listed: { chat: { status: 404 }, catalog: { body: '{"data":[{"id":"m"}]}' } },
    absent: { chat: { status: 404 } },
    hangs: { chat: null },
    lies: { chat: { body: "<html>welcome</html>" } },
  };
  for (const status of ["unhealthy", "healthy", "unhealthy", "healthy"]) {
    answers["flaps"] = status === "healthy" ? {} : { chat: { status: 401 } };
    expect((await check(cases.flaps.model)).checks[0]).toMatchObject({ trigger: "manual", status });
  }
  const found = await Promise.all(
    [cases.listed, cases.absent, cases.hangs, cases.lies].map(async ({ model }) => (await check(model)).summary),
  );
  expect(found.map(({ status, last_message }) => [status, last_message])).toEqual([
    ["degraded", "http 404, but the catalog lists the model: check model_type"],
    ["unhealthy", "http 404, and the catalog does not list the model"],
    ["unhealthy", "no answer: timeout"],
    ["healthy", "http 200"],
  ]);
  await waitFor(
    () => [cases.absent, cases.hangs].map(({ model }) => alertsOf(model)),
    (keys) => keys.every(([key, more]) => key === "model_health_down" && more === undefined),
  );
  for (const { model } of [cases.flaps, cases.listed, cases.lies]) expect(alertsOf(model)).toEqual([]);
});

it("an endpoint that is down gets no requests until a check finds it back", async () => {
  const mint = await gateway.mint("", "m", BY_HAND);
  for (const [name, priority] of [
    ["first", 1],
    ["second", 2],
  ])
    await gateway.must<ModelEndpoint>("POST", `/models/${mint.model.id}/endpoints`, {
      name,
      priority,
      api_base: at(String(name)),
    });
  const went = async (): Promise<readonly number[]> => {
    const before = [askedAt("first"), askedAt("second")];
    const response = await gateway.chat(mint);
    await response.text();
    expect(response.status).toBe(200);
    return [askedAt("first") - (before[0] ?? 0), askedAt("second") - (before[1] ?? 0)];
  };
  await check(mint.model);
  expect(await went()).toEqual([1, 0]);
  answers = { first: { chat: { status: 401 } } };
  const down = await check(mint.model);
  expect(await went()).toEqual([0, 1]);
  const endpoints = await gateway.must<ModelEndpoint[]>("GET", `/models/${mint.model.id}/endpoints`);
  expect(endpoints.map(({ name, health_status }) => [name, health_status])).toEqual([
    ["first", "unhealthy"],
    ["second", "healthy"],
  ]);
  expect(down.summary.status).not.toBe("unhealthy");
  answers = {};
  await check(mint.model);
  expect(await went()).toEqual([1, 0]);
});

it("after a served request the next scheduled check is no probe; probes leave rows", async () => {
  const mint = await minted("passive");
  await waitFor(
    () => askedAt("passive"),
    (count) => count > 0,
  );
  const response = await gateway.chat(mint);
  await response.text();
  await gateway.row(mint.tenant.id, response.headers.get("x-gateway-request-id"));
  const before = askedAt("passive");
  const { checks } = await scheduled(mint.model);
  expect(checks[0]).toMatchObject({ status: "healthy", message: expect.stringMatching(/^served a request at /) });
  expect(askedAt("passive")).toBe(before);
  const query = `/usage/logs?model=${mint.model.model_name}`;
  const rows = await waitFor(
    async () =>
      await gateway.must<Record<string, unknown>[]>("GET", `${query}&request_type=health_probe&include_internal=true`),
    (found) => found.length > 0,
  );
  expect(rows).toMatchObject([{ input_tokens: 3, output_tokens: 2, cost_usd: 0, admission: "fast" }]);
  expect(await gateway.must("GET", query)).toHaveLength(1);
});
