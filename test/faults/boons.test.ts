/**
 * Each part that a boon, a guardrail or the auto router relies on is away, hangs or answers nonsense: the request goes
 * upstream as its client sent it, the client gets the model's answer, and headers and counters say what failed
 * (docs/rules/boons.md#order).
 * @module-tag check
 */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Stack } from "../../infra/local/stack.ts";
import type { Model } from "../../shared/schema/model.ts";
import { Gateway, type Minted } from "../harness/gateway.ts";
import { type HttpSink, startHttpSink } from "../harness/http-sink.ts";
import { startTestStack } from "../harness/test-stack.ts";
import { startTestUpstream, type TestUpstream } from "../harness/test-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";

/** Nothing listens here. */
const AWAY = "http://127.0.0.1:9";

let stack: Stack;
let upstream: TestUpstream;
let sidecar: HttpSink;
let tools: HttpSink;
let gateway: Gateway;

beforeAll(async () => {
  upstream = await startTestUpstream();
  sidecar = await startHttpSink();
  sidecar.answer = () => null;
  tools = await startHttpSink();
  tools.answer = () => ({ status: 500, body: "broken" });
  // What hangs gets time enough to be asked at all, on a busy machine too.
  const more = { GATEWAY_COMPRESSOR_URL: sidecar.url, GATEWAY_COMPRESSOR_TIMEOUT_MS: "2000" };
  stack = await startTestStack(more);
  gateway = new Gateway(stack);
  const helper = async (model_name: string, api_base: string, more: object = {}): Promise<Model> =>
    await gateway.must<Model>("POST", "/models", { model_name, upstream_model: "plain", api_base, ...more });
  await helper("describer-away", AWAY, { supports_vision: true });
  await helper("fixer-of-garbage", upstream.at("fixer", "plain"));
  await helper("guard-away", AWAY);
  await helper("classifier-that-hangs", upstream.at("classifier", "hang"));
  await gateway.must("PUT", "/settings/boons", {
    vision_enabled: true,
    vision_fallback_model: "describer-away",
    structured_output_enabled: true,
    structured_output_fixer_model: "fixer-of-garbage",
    structured_output_timeout_ms: 10_000,
    tool_loop_enabled: true,
    compression_enabled: true,
    compression_allow_lossy: true,
  });
  await gateway.must("PUT", "/settings/auto-router", {
    classifier_enabled: true,
    classifier_model: "classifier-that-hangs",
    classifier_timeout_ms: 2_000,
  });
});
afterAll(async () => {
  await stack.stop();
  await Promise.all([upstream.close(), sidecar.close(), tools.close()]);
});

/** Sends a chat; returns what the client got, and what the model's own upstream was sent. */
async function chat(minted: Minted, body: Readonly<Record<string, unknown>> = {}) {
  const response = await gateway.chat(minted, { body });
  const header = (name: string): string | null => response.headers.get(name);
  const answer = (await response.json()) as { choices?: { message: { content: string } }[] };
  const own = upstream.seen(minted.mark).filter(({ path }) => !path.startsWith("/at/"));
  return {
    status: response.status,
    content: answer.choices?.[0]?.message.content,
    boons: header("x-gateway-boons"),
    warnings: header("x-gateway-boons-warning"),
    requestId: header("x-gateway-request-id"),
    sent: own.map((request) => request.body),
  };
}

/** The value of a counter, once it is at least `least`. */
async function counted(series: string, least: number): Promise<void> {
  const value = (text: string): number =>
    Number(
      text
        .split("\n")
        .find((line) => line.startsWith(`gateway_boon_runs_total{${series}`))
        ?.split(" ")
        .at(-1),
    );
  const read = async (): Promise<string> => await (await fetch(`${stack.metricsUrl}/metrics`)).text();
  await waitFor(read, (text) => value(text) >= least);
}

const ANSWER = { status: 200, content: "hello world" };

describe("a request continues as it was", () => {
  it("when the model that describes images is down", async () => {
    const minted = await gateway.mint(upstream.url, "plain", { boons: ["vision"] });
    const image = { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } };
    const messages = [{ role: "user", content: [{ type: "text", text: minted.mark }, image] }];
    const { sent, requestId, ...got } = await chat(minted, { messages });
    expect(got).toMatchObject({ ...ANSWER, warnings: "vision_description_failed" });
    expect(sent).toMatchObject([{ messages }]);
    const rows = await waitFor(
      async () => await gateway.rows(minted.tenant.id),
      (found) => found.length === 2,
    );
    const [own, described] = [true, false].map((is) => rows.find((row) => (row.request_id === requestId) === is));
    expect(own).toMatchObject({ status_code: 200, admission: "fast" });
    expect(described).toMatchObject({ request_type: "vision_boon", admission: "boon", status_code: 502, cost_usd: 0 });
  });

  it("when the model that mends answers answers garbage", async () => {
    const minted = await gateway.mint(upstream.url, "plain", { boons: ["structured_output"] });
    const schema = { type: "object", properties: { a: { type: "number" } }, required: ["a"] };
    const { sent, ...got } = await chat(minted, {
      response_format: { type: "json_schema", json_schema: { name: "one", schema } },
    });
    expect(got).toMatchObject({ ...ANSWER, warnings: "structured_output_validation_failed" });
    expect(sent).toHaveLength(1);
    expect(upstream.attempts("hello world")["fixer"]).toBe(1);
  });

  it("when the compression sidecar hangs: no sentence is left out", async () => {
    const minted = await gateway.mint(upstream.url, "plain", { boons: ["compression"] });
    const policy = { enabled: true, allow_lossy: true };
    await gateway.must("PATCH", `/tenants/${minted.tenant.id}/compression`, { policy });
    const prose = Array.from(
      { length: 60 },
      (_, at) => `In year ${at} the harbour had ${at * 7} ships and calm water.`,
    );
    const question = { role: "user", content: `How many ships had the harbour? ${minted.mark}` };
    const messages = [{ role: "user", content: prose.join(" ") }, { role: "assistant", content: "I see." }, question];
    const { sent, ...got } = await chat(minted, { messages });
    expect(got).toMatchObject({ ...ANSWER, boons: null });
    expect(sidecar.asked.map(({ url }) => url)).toEqual(["/score"]);
    expect(sent).toMatchObject([{ messages }]);
  });

  it("when its tool servers are down, or answer an error", async () => {
    await gateway.must("POST", "/mcp-servers", { name: "tools-away", upstream_url: `${AWAY}/mcp` });
    await gateway.must("POST", "/mcp-servers", { name: "tools-broken", upstream_url: `${tools.url}/mcp` });
    const minted = await gateway.mint(upstream.url, "plain", {
      tool_servers: ["tools-away", "tools-broken"],
      supports_function_calling: true,
    });
    const { sent, ...got } = await chat(minted);
    expect(got).toMatchObject({ ...ANSWER, boons: null });
    expect(sent.map((body) => body["tools"])).toEqual([undefined]);
    expect(tools.asked.length).toBeGreaterThan(0);
  });

  it("when the guard model is down and the policy fails open; not when it fails closed", async () => {
    const minted = await gateway.mint(upstream.url, "plain");
    const policy = { action: "block", input_scanners: ["harm"], guard_model: "guard-away", fail_open: true };
    await gateway.must("PATCH", `/tenants/${minted.tenant.id}/guardrails`, { policy });
    expect(await chat(minted)).toMatchObject({
      ...ANSWER,
      sent: [{ messages: [{ content: `hello ${minted.mark}` }] }],
    });
    await counted('boon="guardrails_input:harm",outcome="failed"', 1);
    await gateway.must("PATCH", `/tenants/${minted.tenant.id}/guardrails`, { policy: { ...policy, fail_open: false } });
    const { status, sent } = await chat(minted);
    expect({ status, sentCount: sent.length }).toEqual({ status: 503, sentCount: 1 });
  });

  it("when the classifier of the auto router hangs: heuristics choose", async () => {
    const minted = await gateway.mint(upstream.url, "plain", { tags: ["poetry"] });
    const allowed = { allowed_models: [minted.model.model_name] };
    await gateway.must("PATCH", `/tenants/${minted.tenant.id}/allowlist`, allowed);
    const messages = [{ role: "user", content: `what rhymes with orange? ${minted.mark}` }];
    const { sent, ...got } = await chat(minted, { model: "auto", messages });
    expect(got).toMatchObject(ANSWER);
    expect(sent).toMatchObject([{ model: "plain", messages }]);
    expect(upstream.attempts(minted.mark)["classifier"]).toBe(1);
    const rows = await waitFor(
      async () => await gateway.rows(minted.tenant.id),
      (found) => found.length > 0,
    );
    expect(rows).toMatchObject([{ model: minted.model.model_name, request_type: "chat" }]);
  });
});
