/**
 * Every route of the data plane: what reaches the upstream, what reaches the client, and the row
 * (docs/rules/routes.md#path-classes, docs/rules/token-estimates.md#formulas, docs/rules/settlement-and-rows.md#rows).
 */
import { describe, expect, it } from "vitest";
import type { UsageLog } from "../../shared/schema/usage.ts";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { mainRows } from "../harness/main-rows.ts";
import { SPOKEN } from "../harness/route-answers.ts";
import { speaking } from "../harness/speaking.ts";
import { mintAt, sha256, useRouteUpstream } from "../harness/upstream-routes.ts";

const fixture = useGateway();
const upstream = useRouteUpstream();

const prices = { cost_per_image: 0.04, cost_per_character: 0.000_015 };

async function mint(model: Readonly<Record<string, unknown>> = {}): Promise<Minted> {
  return await mintAt(fixture.gateway, upstream, { ...prices, ...model });
}

async function send(minted: Minted, path: string, body: FormData | string | object): Promise<Response> {
  const form = body instanceof FormData;
  return await fetch(`${fixture.gateway.proxyUrl}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${minted.secret}`, ...(form ? {} : { "content-type": "application/json" }) },
    body: form || typeof body === "string" ? body : JSON.stringify(body),
  });
}

async function rowOf(minted: Minted, response: Response): Promise<UsageLog> {
  return await fixture.gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"));
}

const text = "x".repeat(40);

it("a place of the upstream's own files reaches no upstream, and texts that speak of one do", async () => {
  const minted = await mint();
  const own = "file:///etc/passwd";
  const said = (part: object) => ({ messages: [{ role: "user", content: [part] }] });
  for (const [path, body, param] of [
    ["/v1/images/generations", { prompt: "p", parameters: { image: own } }, "image"],
    ["/v1/images/generations", { prompt: "p", mask_image: own }, "mask_image"],
    ["/v1/audio/speech", { input: "x", voice: own }, "voice"],
    ["/v1/chat/completions", said({ type: "image_url", image_url: { url: "/etc/x.png" } }), "url"],
  ] as const) {
    const response = await send(minted, path, { model: minted.model.model_name, ...body });
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 404,
      body: { error: { code: "object_not_found", param } },
    });
  }
  expect(upstream.seen(minted.mark)).toEqual([]);
  for (const [path, body] of [
    ["/v1/images/generations", { prompt: own, image: "/9j/4AAQSkZJRg==" }],
    ["/v1/chat/completions", said({ type: "text", text: own })],
  ] as const) {
    const response = await send(minted, path, { model: minted.model.model_name, ...body });
    await response.text();
    expect({ path, status: response.status }).toEqual({ path, status: 200 });
  }
});

describe("a JSON route", () => {
  mainRows(6)<[string, object, Partial<UsageLog>]>([
    [
      "/v1/completions",
      { prompt: text, stream: true },
      { request_type: "completion", estimated_tokens: 522, total_tokens: 33, cost_usd: 0.231 },
    ],
    [
      "/v1/responses",
      { input: text, instructions: text },
      { request_type: "responses", estimated_tokens: 532, input_tokens: 11, output_tokens: 22, cost_usd: 0.231 },
    ],
    [
      "/v1/embeddings",
      { input: [text, text] },
      { request_type: "embedding", estimated_tokens: 20, input_tokens: 11, output_tokens: 0, cost_usd: 0.011 },
    ],
    [
      "/v1/audio/speech",
      { input: "héllo wörld", voice: "alloy" },
      { request_type: "audio", estimated_tokens: 2, input_tokens: 2, output_tokens: 0, cost_usd: 0.000_165 },
    ],
    [
      "/v1/images/generations",
      { prompt: text, n: 3 },
      { request_type: "image", estimated_tokens: 1, total_tokens: 0, cost_usd: 0.12 },
    ],
    [
      "/v1/messages",
      { messages: [{ role: "user", content: text }], max_tokens: 7, stream: true },
      { request_type: "messages", estimated_tokens: 21, input_tokens: 11, output_tokens: 22, cost_usd: 0.231 },
    ],
    [
      "/v1/completions",
      { prompt: text },
      { request_type: "completion", estimated_tokens: 522, total_tokens: 33, cost_usd: 0.231 },
    ],
    [
      "/v1/responses",
      { input: text, stream: true },
      { request_type: "responses", estimated_tokens: 522, input_tokens: 11, output_tokens: 22, cost_usd: 0.231 },
    ],
    [
      "/v1/rerank",
      { query: text, documents: [text] },
      { request_type: "rerank", estimated_tokens: 20, input_tokens: 11, output_tokens: 0, cost_usd: 0.011 },
    ],
    [
      "/v1/moderations",
      { input: text },
      { request_type: "moderation", estimated_tokens: 10, total_tokens: 10, cost_usd: 0.01 },
    ],
    [
      "/v1/messages?beta=true",
      { messages: [{ role: "user", content: text }], max_tokens: 7 },
      { request_type: "messages", estimated_tokens: 21, input_tokens: 11, output_tokens: 22, cost_usd: 0.231 },
    ],
  ])("%s %j is forwarded with another model and nothing else, and billed", async (path, body, row) => {
    const minted = await mint(speaking(path));
    const sent = { ...body, model: minted.model.model_name };
    const response = await send(minted, path, sent);
    expect({ status: response.status, hasBody: (await response.arrayBuffer()).byteLength > 0 }).toEqual({
      status: 200,
      hasBody: true,
    });
    const [call] = upstream.seen(minted.mark);
    const streams = "stream" in body && path === "/v1/completions";
    expect({ method: call?.method, path: call?.path, json: call?.json }).toEqual({
      method: "POST",
      path,
      json: { ...sent, model: "upstream-name", ...(streams ? { stream_options: { include_usage: true } } : {}) },
    });
    expect(call?.headers["content-type"]).toBe("application/json");
    expect(await rowOf(minted, response)).toMatchObject({
      ...row,
      model: minted.model.model_name,
      admission: "fast",
      status_code: 200,
      upstream_status: 200,
    });
  });

  it("streams the answers of a route in its own events, none withheld", async () => {
    const minted = await mint();
    const response = await send(minted, "/v1/responses", {
      model: minted.model.model_name,
      input: text,
      stream: true,
    });
    expect(response.headers.get("content-type")).toContain("text/event-stream");
    expect(response.headers.get("x-accel-buffering")).toBe("no");
    const types = [...(await response.text()).matchAll(/^event: (.*)$/gm)].map((match) => match[1]);
    expect({ first: types[0], last: types.at(-1), count: types.length }).toEqual({
      first: "response.created",
      last: "response.completed",
      count: 5,
    });
  });

  it("streams binary audio unchanged, under its own content type", async () => {
    const minted = await mint();
    const response = await send(minted, "/v1/audio/speech", { model: minted.model.model_name, input: "hello" });
    expect(response.headers.get("content-type")).toBe("audio/mpeg");
    expect(sha256(new Uint8Array(await response.arrayBuffer()))).toBe(sha256(SPOKEN));
  });
});

describe("a path that is not documented", () => {
  it("is unknown, without a row, when its body names no registered model", async () => {
    const minted = await mint();
    const form = new FormData();
    form.set("model", minted.model.model_name);
    for (const body of ["{", "[]", "{}", { model: "absent" }, { model: 5 }, form]) {
      const response = await send(minted, "/v1/rerank", body);
      expect({ status: response.status, body: await response.json() }).toEqual({
        status: 404,
        body: {
          error: { message: "unknown endpoint", type: "not_found_error", code: "unknown_endpoint", param: null },
        },
      });
    }
    const served = await send(minted, "/v1/rerank", { model: minted.model.model_name });
    await served.text();
    await rowOf(minted, served);
    expect(await fixture.gateway.rows(minted.tenant.id)).toHaveLength(1);
    expect(upstream.seen(minted.mark)).toHaveLength(1);
  });

  it("has its model's gates", async () => {
    const minted = await mint();
    const body = { model: minted.model.model_name };
    await fixture.gateway.must("PUT", `/models/${minted.model.id}`, { ...minted.model, enabled: false });
    const refused = await send(minted, "/v1/rerank", body);
    expect({ status: refused.status, body: await refused.json() }).toMatchObject({
      status: 403,
      body: { error: { code: "model_disabled" } },
    });
    expect(await rowOf(minted, refused)).toMatchObject({ admission: "rejected", request_type: "rerank" });
  });
});
