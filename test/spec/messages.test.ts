/**
 * `/v1/messages` as Anthropic's own SDK meets it (docs/rules/errors.md#form-by-route, docs/rules/streams.md#broken-streams).
 */
import type { ServerResponse } from "node:http";
import Anthropic from "@anthropic-ai/sdk";
import { describe, expect, it } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { jsonAnswer, namedEvents } from "../harness/http-sink.ts";
import { reportUpstream } from "../harness/report-upstream.ts";

const fixture = useGateway();
/** The upstream has the same API. */
const SPOKEN = { api_dialect: "anthropic" };

const USAGE = { input_tokens: 11, output_tokens: 22, cache_read_input_tokens: 5, cache_creation_input_tokens: 3 };
const messageOf = (text: string, usage: object = USAGE) => ({
  id: "msg_1",
  type: "message" as const,
  role: "assistant",
  model: "m",
  content: text === "" ? [] : [{ type: "text", text }],
  stop_reason: text === "" ? null : "end_turn",
  stop_sequence: null,
  usage,
});
const BEGIN = namedEvents(
  { type: "message_start", message: messageOf("", { ...USAGE, output_tokens: 1 }) },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "half" } },
);
const END = namedEvents(
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 22 } },
  { type: "message_stop" },
);

/** Begins a stream of events, and lets `then` continue. */
const streaming = (then: (response: ServerResponse) => unknown) => (response: ServerResponse) => {
  response.writeHead(200, { "content-type": "text/event-stream" }).write(BEGIN);
  then(response);
};

const clientOf = ({ secret }: Pick<Minted, "secret">): Anthropic =>
  new Anthropic({ baseURL: fixture.gateway.proxyUrl, apiKey: secret, maxRetries: 0 });
const requestOf = ({ model }: Minted) => ({
  model: model.model_name,
  max_tokens: 64,
  messages: [{ role: "user" as const, content: "hello" }],
});
const rowOf = async ({ tenant }: Minted, headers: Headers) =>
  await fixture.gateway.row(tenant.id, headers.get("x-gateway-request-id"));

/** What the SDK raised. */
async function raisedBy(call: Promise<unknown>) {
  const error = await call.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof Anthropic.APIError)) throw new Error(`not an error of the API: ${String(error)}`);
  const body = error.error as {
    readonly type: string;
    readonly error: { readonly code: string };
    readonly request_id: string;
  };
  return { error, body, seen: { name: error.constructor.name, type: error.type as string, code: body.error.code } };
}

describe("a refusal on /v1/messages", () => {
  const policy = { input_scanners: ["ban_keywords"], ban_keywords: ["hello"] };
  const spent = { budget_tokens: 0, budget_cost_usd: null, budget_period: "monthly" };
  /** Changes the model, or a part of the tenant. */
  const changing = (part: "model" | "budget" | "guardrails", body: object) => async (minted: Minted) => {
    const path = part === "model" ? `/models/${minted.model.id}` : `/tenants/${minted.tenant.id}/${part}`;
    await fixture.gateway.must("PATCH", path, body);
    return {};
  };

  it.each<[string, (minted: Minted) => Promise<object>, string, string, string]>([
    ["an unknown model", async () => ({ model: "absent" }), "NotFoundError", "not_found_error", "model_not_found"],
    ["a field", async () => ({ max_tokens: -1 }), "BadRequestError", "invalid_request_error", "validation_failed"],
    ["a model", changing("model", { enabled: false }), "PermissionDeniedError", "permission_error", "model_disabled"],
    ["a budget", changing("budget", spent), "PermissionDeniedError", "billing_error", "tenant_budget_exhausted"],
    ["a text", changing("guardrails", { policy }), "BadRequestError", "invalid_request_error", "request_blocked"],
    [
      "an absent upstream",
      changing("model", { api_base: "http://127.0.0.1:9" }),
      "InternalServerError",
      "api_error",
      "upstream_failed",
    ],
  ])("because of %s is an error of Anthropic's SDK", async (_, change, name, type, code) => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    const more = await change(minted);
    const { error, body, seen } = await raisedBy(clientOf(minted).messages.create({ ...requestOf(minted), ...more }));
    expect(seen).toEqual({ name, type, code });
    expect({ type: body.type, id: body.request_id }).toEqual({ type: "error", id: error.headers?.get("x-request-id") });
  });

  it("of a key has this form on the count of tokens too", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    const stranger = clientOf({ secret: `sk_${"1".repeat(48)}` });
    const { model, messages } = requestOf(minted);
    const { seen } = await raisedBy(stranger.messages.countTokens({ model, messages }));
    expect(seen).toEqual({ name: "AuthenticationError", type: "authentication_error", code: "invalid_api_key" });
  });
});

describe("a call of /v1/messages", () => {
  it("passes Anthropic's headers on, and has its own type and its parts of usage in its row", async () => {
    const sink = await reportUpstream(() => jsonAnswer(messageOf("hello")));
    const minted = await fixture.gateway.mint(sink.url, "plain", SPOKEN);
    const call = clientOf(minted).beta.messages.create({ ...requestOf(minted), betas: ["context-1m-2025-08-07"] });
    const { data, response } = await call.withResponse();
    expect(data.content).toEqual([{ type: "text", text: "hello" }]);
    const [asked] = sink.asked;
    expect(asked?.headers).toMatchObject({
      "anthropic-version": expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
      "anthropic-beta": "context-1m-2025-08-07",
    });
    expect(await rowOf(minted, response.headers)).toMatchObject({
      request_type: "messages",
      input_tokens: 19,
      cached_tokens: 5,
      cache_write_tokens: 3,
      output_tokens: 22,
    });
    const listed = await fixture.gateway.rows(minted.tenant.id, "&request_type=messages");
    expect(listed).toHaveLength(1);
  });

  it("is never taken for whole when its stream breaks", async () => {
    const sink = await reportUpstream(() => streaming((response) => setTimeout(() => response.destroy(), 0)));
    const minted = await fixture.gateway.mint(sink.url, "plain", SPOKEN);
    const stream = clientOf(minted).messages.stream(requestOf(minted));
    const { seen } = await raisedBy(stream.finalMessage());
    expect(seen).toEqual({ name: "APIError", type: "api_error", code: "upstream_stream_error" });
  });

  it("that waits is kept open by comments, which the SDK leaves out", async () => {
    const begun = Promise.withResolvers<ServerResponse>();
    const sink = await reportUpstream(() => (response) => begun.resolve(response));
    const minted = await fixture.gateway.mint(sink.url, "plain", { ...SPOKEN, stream_keepalive_secs: 1 });
    const calling = clientOf(minted)
      .messages.create({ ...requestOf(minted), stream: true })
      .withResponse();
    // The head comes before any answer of the upstream.
    const { data, response } = await calling;
    const upstream = await begun.promise;
    upstream.writeHead(200, { "content-type": "text/event-stream" }).end(BEGIN + END);
    const types: string[] = [];
    for await (const event of data) types.push(event.type);
    expect({ first: types[0], last: types.at(-1) }).toEqual({ first: "message_start", last: "message_stop" });
    expect(await rowOf(minted, response.headers)).toMatchObject({
      status_code: 200,
      input_tokens: 19,
      output_tokens: 22,
    });
  });

  it("raises a refusal that comes after its head", { tags: ["check"] }, async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "hang", {
      stream_keepalive_secs: 1,
      first_token_timeout_secs: 2,
    });
    const { seen } = await raisedBy(clientOf(minted).messages.stream(requestOf(minted)).finalMessage());
    expect(seen).toEqual({ name: "APIError", type: "timeout_error", code: "upstream_timeout" });
  });
});

it("the document of the data plane needs no key, and names every header of an answer", async () => {
  const document = await fetch(`${fixture.gateway.proxyUrl}/v1/openapi.json`);
  const { paths, components } = (await document.json()) as { paths: object; components: { headers: object } };
  expect({ status: document.status, hasMessages: "/v1/messages" in paths }).toEqual({ status: 200, hasMessages: true });
  const minted = await fixture.gateway.mint(fixture.upstream.url, "plain", { cache_enabled: true });
  await fixture.gateway.must("PUT", `/tenants/${minted.tenant.id}/quota`, { tokens_per_minute: 100_000 });
  const { headers } = await fixture.gateway.chat(minted);
  const own = [...headers.keys()].filter((name) => /^x-(?:gateway|request|ratelimit)-/.test(name));
  expect(own.length).toBeGreaterThan(5);
  expect(own.filter((name) => !(name in components.headers))).toEqual([]);
});
