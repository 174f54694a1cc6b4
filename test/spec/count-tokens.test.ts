/** `POST /v1/messages/count_tokens` (docs/rules/routes.md#counting-tokens). */
import type { ServerResponse } from "node:http";
import Anthropic from "@anthropic-ai/sdk";
import { describe, expect, it } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { type HttpSink, jsonAnswer } from "../harness/http-sink.ts";
import { reportUpstream } from "../harness/report-upstream.ts";

const fixture = useGateway();
const ANTHROPIC = { api_dialect: "anthropic" };
/** A quarter of the characters, and 4 for the message. */
const ESTIMATE = { input_tokens: 106 };
const SYSTEM = "Be brief.";
const MESSAGES = [{ role: "user" as const, content: "x".repeat(400) }];

/** The answer to a count of tokens by a model, and its row. */
async function countBy({ secret, model, tenant }: Minted, messages: Anthropic.MessageParam[] = MESSAGES) {
  const client = new Anthropic({ baseURL: fixture.gateway.proxyUrl, apiKey: secret, maxRetries: 0 });
  const counting = client.messages.countTokens({ model: model.model_name, system: SYSTEM, messages });
  const { data, response } = await counting.withResponse();
  return { data, row: await fixture.gateway.row(tenant.id, response.headers.get("x-gateway-request-id")) };
}

/** Takes the only slot of a model, and all of its tenant's budget; `finish` gives the slot back. */
async function takeAll(minted: Minted, sink: HttpSink) {
  const { answer } = sink;
  const held = Promise.withResolvers<ServerResponse>();
  sink.answer = () => held.resolve;
  await fixture.gateway.must("PATCH", `/models/${minted.model.id}`, { max_in_flight: 1 });
  const holding = fixture.gateway.chat(minted);
  const upstream = await held.promise;
  sink.answer = answer;
  const budget = { budget_tokens: 0, budget_cost_usd: null, budget_period: "monthly" };
  await fixture.gateway.must("PATCH", `/tenants/${minted.tenant.id}/budget`, budget);
  return async (): Promise<void> => {
    upstream.writeHead(200, { "content-type": "application/json" }).end("{}");
    await (await holding).text();
  };
}

const FREE = { request_type: "other", status_code: 200, admission: "fast", total_tokens: 0, cost_usd: 0 };

describe("a count of tokens", () => {
  it.each([
    ["the estimate of the gateway for a model of OpenAI's API", {}, ESTIMATE, 0],
    ["that of the upstream for a model of Anthropic's API", ANTHROPIC, { input_tokens: 42 }, 1],
  ])("is %s, and needs neither slot nor budget", async (_, fields, expected, calls) => {
    const sink = await reportUpstream(() => jsonAnswer({ input_tokens: 42 }));
    const minted = await fixture.gateway.mint(sink.url, "upstream-name", fields);
    const finish = await takeAll(minted, sink);
    const { data, row } = await countBy(minted);
    expect({ data, row }).toMatchObject({ data: expected, row: { ...FREE, model: minted.model.model_name } });
    const asked = sink.asked.filter(({ url }) => url.endsWith("/v1/messages/count_tokens"));
    expect(asked.map(({ body }) => JSON.parse(body) as object)).toEqual(
      Array.from({ length: calls }, () => ({ model: "upstream-name", system: SYSTEM, messages: MESSAGES })),
    );
    for (const { headers } of asked) expect(headers["anthropic-version"]).toMatch(/^\d{4}-\d\d-\d\d$/);
    await finish();
  });

  it("is the estimate under guardrails of requests: the text goes to no upstream", async () => {
    const sink = await reportUpstream(() => jsonAnswer({ input_tokens: 42 }));
    const minted = await fixture.gateway.mint(sink.url, "plain", ANTHROPIC);
    const policy = { action: "redact", input_scanners: ["pii"] };
    await fixture.gateway.must("PATCH", `/tenants/${minted.tenant.id}/guardrails`, { policy });
    const { data } = await countBy(minted);
    expect({ data, calls: sink.asked.length }).toEqual({ data: ESTIMATE, calls: 0 });
  });

  it("may not name a file that its tenant was not given", async () => {
    const sink = await reportUpstream(() => jsonAnswer({ input_tokens: 42 }));
    const minted = await fixture.gateway.mint(sink.url, "plain", ANTHROPIC);
    const source = { type: "file", file_id: `file_${minted.mark}` };
    const content = [{ type: "document", source }] as unknown as Anthropic.ContentBlockParam[];
    await expect(countBy(minted, [{ role: "user", content }])).rejects.toMatchObject({
      status: 404,
      error: { type: "error", error: { type: "not_found_error", code: "object_not_found" } },
    });
    expect(sink.asked).toHaveLength(0);
  });
});
