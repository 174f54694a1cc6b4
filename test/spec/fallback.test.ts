/** A request continues to another model when its own cannot serve it (docs/rules/models.md#fallback-models). */
import { describe, expect, it } from "vitest";
import type { BudgetUsage } from "../../shared/schema/budget.ts";
import type { Model } from "../../shared/schema/model.ts";
import type { UsageLogDetail } from "../../shared/schema/usage-reads.ts";
import { dataOf, useGateway } from "../harness/fixture.ts";
import { startGatedUpstream } from "../harness/gated-upstream.ts";
import type { Minted } from "../harness/gateway.ts";
import { jsonAnswer, type SinkAnswer, startHttpSink } from "../harness/http-sink.ts";
import { useStarted } from "../harness/use-started.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();
const sink = useStarted(startHttpSink);

/** The test upstream reports 11 input and 22 output tokens. */
const TOKENS = 33;
/** At the prices of the second model: ten times those of the first one. */
const SECOND_USD = 11 * 0.01 + 22 * 0.1;
const TOO_LONG = { error: { message: "too long", type: "invalid_request_error", code: "context_length_exceeded" } };

interface Scene {
  readonly minted: Minted;
  readonly second: Model;
}

/** A tenant whose model fails with 503 at both of its endpoints, and the model to which it falls back. */
async function scene(fields: object = {}, secondFields: object = {}): Promise<Scene> {
  const { gateway, upstream } = fixture;
  const minted = await gateway.mint("", "first", { ...fields });
  const second = await gateway.must<Model>("POST", "/models", {
    model_name: `second-${minted.mark}`,
    upstream_model: "plain",
    api_base: upstream.at("second", "plain"),
    input_cost_per_token: 0.01,
    output_cost_per_token: 0.1,
    ...secondFields,
  });
  await change(minted.model, { fallback_models: [second.model_name] });
  if (!("api_base" in fields))
    for (const name of ["a", "b"])
      await gateway.must("POST", `/models/${minted.model.id}/endpoints`, {
        name,
        api_base: upstream.at(name, "status=503"),
      });
  return { minted, second };
}

async function change({ id }: Model, fields: object): Promise<void> {
  await fixture.gateway.must("PATCH", `/models/${id}`, fields);
}

async function changeTenant({ tenant }: Minted, fields: object): Promise<void> {
  await fixture.gateway.must("PATCH", `/tenants/${tenant.id}`, fields);
}

async function rowOf({ tenant }: Minted, response: Response) {
  return await fixture.gateway.row(tenant.id, response.headers.get("x-gateway-request-id"));
}

const seenOf = ({ status, headers }: Response) => ({
  status,
  model: headers.get("x-gateway-model"),
  upstream: headers.get("x-gateway-upstream-status"),
});

const budgetOf = async ({ tenant }: Minted) =>
  await fixture.gateway.must<BudgetUsage>("GET", `/tenants/${tenant.id}/budget/usage`);

/** What is used once nothing is reserved any more, and something is used. */
const settledBudget = async (minted: Minted) =>
  await waitFor(
    async () => await budgetOf(minted),
    (usage) => usage.used_tokens > 0 && usage.reserved_tokens + usage.reserved_cost_usd === 0,
  );

describe("a model whose endpoints all fail", () => {
  it("is replaced by its fallback: in header and row, and charged once at that one's price", async () => {
    const { minted, second } = await scene();
    await changeTenant(minted, { requests_per_minute: 10 });
    const response = await fixture.gateway.chat(minted);
    const body = (await response.json()) as { choices: unknown[] };
    expect({
      ...seenOf(response),
      choices: body.choices.length,
      requestsLeft: response.headers.get("x-ratelimit-remaining-requests"),
    }).toEqual({ status: 200, model: second.model_name, upstream: "200", choices: 1, requestsLeft: "9" });
    expect(await rowOf(minted, response)).toMatchObject({
      model: minted.model.model_name,
      served_model: second.model_name,
      upstream_model: "plain",
      status_code: 200,
      error_code: "",
      attempts: 3,
      total_tokens: TOKENS,
      cost_usd: SECOND_USD,
    });
    expect(await settledBudget(minted)).toMatchObject({ used_tokens: TOKENS, used_cost_usd: SECOND_USD });
  });

  it("is replaced before the first byte of a stream, and named in the span of the request", async () => {
    const { minted, second } = await scene();
    await fixture.gateway.must("PUT", `/tenants/${minted.tenant.id}/tracing`, { tracing_enabled: true });
    const response = await fixture.gateway.chat(minted, { stream: true });
    expect({ ...seenOf(response), last: dataOf(await response.text()).at(-1) }).toEqual({
      status: 200,
      model: second.model_name,
      upstream: "200",
      last: "[DONE]",
    });
    const id = response.headers.get("x-gateway-request-id") ?? "";
    await rowOf(minted, response);
    const detail = await waitFor(
      async () => await fixture.gateway.must<UsageLogDetail>("GET", `/usage/logs/${id}`),
      ({ spans }) => spans.some(({ span_name }) => span_name === "proxy_request"),
    );
    const root = detail.spans.find(({ span_name }) => span_name === "proxy_request");
    expect(JSON.parse(root?.attributes ?? "{}")).toMatchObject({
      model: minted.model.model_name,
      served_model: second.model_name,
    });
  });

  it("gives its slot back before the request waits for one of its fallback", async () => {
    const gate = await startGatedUpstream();
    try {
      const { minted, second } = await scene({ max_in_flight: 1 }, { max_in_flight: 1, api_base: gate.url });
      const holder = fixture.gateway.chat({ ...minted, model: second });
      await waitFor(
        async () => await fixture.gateway.loadOf(second.model_name),
        ({ inFlight }) => inFlight === 1,
      );
      const moved = fixture.gateway.chat(minted);
      await waitFor(
        async () => await fixture.gateway.loadOf(second.model_name),
        ({ queued }) => queued === 1,
      );
      expect(await fixture.gateway.loadOf(minted.model.model_name)).toEqual({ inFlight: 0, queued: 0 });
      gate.release();
      const responses = await Promise.all([holder, moved]);
      expect(responses.map(seenOf)).toEqual([
        { status: 200, model: null, upstream: "200" },
        { status: 200, model: second.model_name, upstream: "200" },
      ]);
      const row = await rowOf(minted, responses[1] as Response);
      expect(row).toMatchObject({ admission: "queued", served_model: second.model_name, status_code: 200 });
    } finally {
      await gate.close();
    }
  });
});

describe("the first error stands", () => {
  const FIRST = { status: 502, model: null, upstream: "503" };

  async function expectFirstError({ minted, second }: Scene): Promise<void> {
    const response = await fixture.gateway.chat(minted);
    await response.text();
    expect(seenOf(response)).toEqual(FIRST);
    expect(await rowOf(minted, response)).toMatchObject({
      model: minted.model.model_name,
      served_model: minted.model.model_name,
      status_code: 502,
      upstream_status: 503,
      attempts: 2,
      total_tokens: 0,
      cost_usd: 0,
    });
    expect(fixture.upstream.attempts(minted.mark)).toEqual({ a: 1, b: 1 });
    const load = {
      first: await fixture.gateway.loadOf(minted.model.model_name),
      second: await fixture.gateway.loadOf(second.model_name),
    };
    expect(load).toEqual({ first: { inFlight: 0, queued: 0 }, second: { inFlight: 0, queued: 0 } });
  }

  it("when the tenant may not use the fallback", async () => {
    const found = await scene();
    await changeTenant(found.minted, { allowed_models: [found.minted.model.model_name] });
    await expectFirstError(found);
  });

  it("when the budget is full by then, and only the request that filled it is charged", {
    tags: ["check"],
  }, async () => {
    const gate = await startGatedUpstream();
    try {
      const failing = Promise.withResolvers<SinkAnswer>();
      sink().answer = async () => await failing.promise;
      const free = { api_base: sink().url, input_cost_per_token: 0, output_cost_per_token: 0 };
      const { minted, second } = await scene(free, { api_base: gate.url });
      await changeTenant(minted, { budget_cost_usd: 1, budget_period: "lifetime" });
      const first = fixture.gateway.chat(minted);
      await waitFor(
        () => sink().asked.filter(({ body }) => body.includes(minted.mark)),
        (asked) => asked.length === 1,
      );
      const holder = fixture.gateway.chat({ ...minted, model: second }, { body: { max_tokens: 1000 } });
      await waitFor(
        () => gate.seen(minted.mark),
        (asked) => asked.length === 1,
      );
      failing.resolve(jsonAnswer({}, 503));
      const response = await first;
      await response.text();
      expect(seenOf(response)).toEqual(FIRST);
      gate.release();
      expect((await holder).status).toBe(200);
      expect(await rowOf(minted, response)).toMatchObject({
        served_model: minted.model.model_name,
        status_code: 502,
        upstream_status: 503,
        total_tokens: 0,
        cost_usd: 0,
      });
      expect(gate.seen(minted.mark)).toHaveLength(1);
      expect(await settledBudget(minted)).toMatchObject({ used_tokens: TOKENS });
    } finally {
      await gate.close();
    }
  });

  it.each([
    ["the fallback is disabled", {}, { enabled: false }],
    ["fallback_on is empty", { fallback_on: [] }, {}],
    ["the model does not fall back on it", { fallback_on: ["context_length"] }, {}],
  ])("when %s", { tags: ["check"] }, async (_, first, second) => {
    await expectFirstError(await scene(first, second));
  });
});

it("a fallback that fails too is followed by its own fallback, and the last error is passed on", {
  tags: ["check"],
}, async () => {
  const { minted, second } = await scene({}, { api_base: fixture.upstream.at("second", "status=500") });
  const third = await fixture.gateway.must<Model>("POST", "/models", {
    model_name: `third-${minted.mark}`,
    upstream_model: "plain",
    api_base: fixture.upstream.at("third", "status=529"),
  });
  await change(second, { fallback_models: [third.model_name] });
  const response = await fixture.gateway.chat(minted);
  await response.text();
  expect(seenOf(response)).toEqual({ status: 529, model: third.model_name, upstream: "529" });
  expect(await rowOf(minted, response)).toMatchObject({
    model: minted.model.model_name,
    served_model: third.model_name,
    status_code: 529,
    attempts: 4,
    total_tokens: 0,
  });
});

it("a stream that has begun stays with its model, also when it breaks", { tags: ["check"] }, async () => {
  const { minted } = await scene({ api_base: fixture.upstream.at("first", "cut,chunks=10,pace=50") });
  const response = await fixture.gateway.chat(minted, { stream: true });
  expect(dataOf(await response.text()).at(-1)).toContain("upstream_stream_error");
  expect(await rowOf(minted, response)).toMatchObject({
    served_model: minted.model.model_name,
    error_code: "upstream_stream_error",
    attempts: 1,
  });
  expect(fixture.upstream.attempts(minted.mark)).toEqual({ first: 1 });
});

describe("a request that is too long for its model", () => {
  async function tooLong(fallback_on: readonly string[], answer: unknown = TOO_LONG): Promise<Scene> {
    sink().answer = () => jsonAnswer(answer, 400);
    return await scene({ api_base: sink().url, fallback_on });
  }

  it.each([
    ["by OpenAI's code", TOO_LONG],
    ["in words", { message: "This model's maximum context length is 10 tokens.", type: "BadRequestError", code: 400 }],
  ])("continues to the fallback when the model falls back on it (%s)", { tags: ["check"] }, async (_, answer) => {
    const { minted, second } = await tooLong(["context_length"], answer);
    const response = await fixture.gateway.chat(minted);
    await response.text();
    expect(seenOf(response)).toEqual({ status: 200, model: second.model_name, upstream: "200" });
    expect(await rowOf(minted, response)).toMatchObject({ served_model: second.model_name, cost_usd: SECOND_USD });
  });

  it("keeps its 400, body and all, when the model falls back on failures only", { tags: ["check"] }, async () => {
    const { minted } = await tooLong(["failure"]);
    const response = await fixture.gateway.chat(minted);
    expect({ ...seenOf(response), body: await response.json() }).toEqual({
      status: 400,
      model: null,
      upstream: "400",
      body: TOO_LONG,
    });
  });

  it("keeps another 400, body and all", { tags: ["check"] }, async () => {
    const other = { error: { message: "no such field", type: "invalid_request_error", code: null } };
    const { minted } = await tooLong(["context_length"], other);
    const response = await fixture.gateway.chat(minted);
    expect({ ...seenOf(response), body: await response.json() }).toEqual({
      status: 400,
      model: null,
      upstream: "400",
      body: other,
    });
  });
});

it("`auto` continues to its next candidate", { tags: ["check"] }, async () => {
  const { minted, second } = await scene({ fallback_on: [] });
  const ask = async (models: readonly string[]) => {
    await changeTenant(minted, { allowed_models: models });
    return await fixture.gateway.chat(minted, { body: { model: "auto" } });
  };
  // a request without candidates reads the list of models again
  expect((await ask(["no such model"])).status).toBe(503);
  const response = await ask([minted.model.model_name, second.model_name]);
  await response.text();
  expect(seenOf(response)).toEqual({ status: 200, model: second.model_name, upstream: "200" });
  expect(await rowOf(minted, response)).toMatchObject({
    model: minted.model.model_name,
    served_model: second.model_name,
    attempts: 3,
    cost_usd: SECOND_USD,
  });
});
