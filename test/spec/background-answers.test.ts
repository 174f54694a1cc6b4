/**
 * What reads of a stored answer are charged, and how often it may be read
 * (docs/rules/settlement-and-rows.md#answers-made-in-the-background, docs/rules/budgets.md#per-minute-buckets).
 */
import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { useAnswerStore } from "../harness/answer-store.ts";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";

const fixture = useGateway();
const upstream = useAnswerStore();

/** A tenant with an upstream that keeps its answers. */
async function scene(prices: Readonly<Record<string, number>> = {}): Promise<Minted> {
  const mark = `mark-${randomUUID()}`;
  return { ...(await fixture.gateway.mint(upstream.baseOf(mark), "plain", prices)), mark };
}

async function call(caller: Minted, method: string, path: string, body: object | null = null): Promise<Response> {
  return await fetch(`${fixture.gateway.proxyUrl}/v1/responses${path}`, {
    method,
    headers: { authorization: `Bearer ${caller.secret}`, "content-type": "application/json" },
    ...(body === null ? {} : { body: JSON.stringify({ model: caller.model.model_name, input: "hello", ...body }) }),
  });
}

async function rowOf(caller: Minted, response: Response) {
  return await fixture.gateway.row(caller.tenant.id, response.headers.get("x-gateway-request-id"));
}

it.each([
  ["before", { posted: 1, read: 4 }],
  ["after", { posted: 5, read: 0 }],
])("a background answer is charged once, when it is read %s its stream has ended", async (when, charged) => {
  const caller = await scene();
  const kept = { stream: true, background: true, instructions: "hang", max_output_tokens: 1 };
  const posted = await call(caller, "POST", "", kept);
  const reader = posted.body?.getReader();
  const { value } = (await reader?.read()) ?? {};
  const id = /resp_[\w-]+/.exec(new TextDecoder().decode(value))?.[0] ?? "";
  const read = async () => {
    const response = await call(caller, "GET", `/${id}`);
    await response.text();
    return await rowOf(caller, response);
  };
  const early = when === "before" ? await read() : null;
  await (await call(caller, "POST", `/${id}/cancel`, {})).text();
  for (let piece = await reader?.read(); piece?.done === false; piece = await reader?.read());
  const rows = { posted: await rowOf(caller, posted), read: early ?? (await read()) };
  const cost = Number((rows.posted.cost_usd + rows.read.cost_usd).toFixed(9));
  expect({ posted: rows.posted.output_tokens, read: rows.read.output_tokens, cost }).toEqual({
    ...charged,
    cost: 0.053,
  });
});

it.each([
  ["tokens beyond the estimate", 1, { output_tokens: 4, reasoning_tokens: 4 }],
  ["a part that is dearer than it", 100, { output_tokens: 0, reasoning_tokens: 0 }],
])("a read of a background answer is charged its parts at their prices, once: %s", async (_, limit, tokens) => {
  const reasoning = 1;
  const caller = await scene({ reasoning_output_cost_per_token: reasoning });
  const posted = await call(caller, "POST", "", { background: true, max_output_tokens: limit });
  const { id } = (await posted.json()) as { readonly id: string };
  const read = async () => {
    const response = await call(caller, "GET", `/${id}`);
    await response.text();
    return await rowOf(caller, response);
  };
  const estimate = await rowOf(caller, posted);
  const [first, second] = [await read(), await read()];
  // of five tokens four are reasoning
  const outputUsd = 4 * reasoning + 0.01;
  const inputUsd = 0.001 * (estimate.input_tokens + first.input_tokens);
  const cost = Number((estimate.cost_usd + first.cost_usd - inputUsd).toFixed(9));
  expect({ first, cost, second: second.cost_usd }).toMatchObject({ first: tokens, cost: outputUsd, second: 0 });
});

it("an id that is tried and unknown is one of the requests of a minute", { tags: ["check"] }, async () => {
  const caller = await scene();
  const quota = { tokens_per_minute: 0, requests_per_minute: 2 };
  await fixture.gateway.must("PUT", `/tenants/${caller.tenant.id}/quota`, quota);
  const outcomes: object[] = [];
  for (const rest of ["", "/input_items", ""]) {
    const response = await call(caller, "GET", `/resp_unknown${rest}`);
    const { error } = (await response.json()) as { readonly error: { readonly code: string } };
    const row = await rowOf(caller, response);
    outcomes.push({ status: response.status, code: error.code, rowStatus: row.status_code, rowCode: row.error_code });
  }
  const unknown = { status: 404, code: "object_not_found", rowStatus: 404, rowCode: "object_not_found" };
  const refused = { status: 429, code: "request_rate_exceeded", rowStatus: 429, rowCode: "request_rate_exceeded" };
  expect(outcomes).toEqual([unknown, unknown, refused]);
});

it("a stored answer is read and cancelled as often as its tenant has requests per minute", {
  tags: ["check"],
}, async () => {
  const caller = await scene();
  const created = await call(caller, "POST", "", {});
  const { id } = (await created.json()) as { readonly id: string };
  const quota = { tokens_per_minute: 0, requests_per_minute: 2 };
  await fixture.gateway.must("PUT", `/tenants/${caller.tenant.id}/quota`, quota);
  const outcomes: object[] = [];
  for (const [method, rest] of [
    ["GET", ""],
    ["POST", "/cancel"],
    ["GET", ""],
    ["DELETE", ""],
  ] as const) {
    const response = await call(caller, method, `/${id}${rest}`);
    const isRefused = (await response.text()).includes("request_rate_exceeded");
    const waits = Number(response.headers.get("retry-after") ?? 0) > 0;
    outcomes.push({ status: response.status, isRefused, waits });
    await rowOf(caller, response);
  }
  const passed = { status: 200, isRefused: false, waits: false };
  const refused = { status: 429, isRefused: true, waits: true };
  expect(outcomes).toEqual([passed, passed, refused, refused]);
  expect(upstream.seen(caller.mark).map(({ method }) => method)).toEqual(["POST", "GET", "POST"]);
});

it("what a read of a background answer is charged counts for the end user who asked for it", {
  tags: ["check"],
}, async () => {
  const caller = await scene();
  const setCap = async (end_user_budget_tokens: number) =>
    await fixture.gateway.must("PATCH", `/tenants/${caller.tenant.id}/budget`, { end_user_budget_tokens });
  await setCap(1_000_000);
  const user = "ann b\u00e9";
  const posted = await call(caller, "POST", "", { background: true, max_output_tokens: 1, user });
  const { id } = (await posted.json()) as { readonly id: string };
  const read = await call(caller, "GET", `/${id}`);
  await read.text();
  const rows = { posted: await rowOf(caller, posted), read: await rowOf(caller, read) };
  expect(rows.read).toMatchObject({ end_user: user, output_tokens: 4 });
  await setCap(rows.posted.total_tokens + rows.read.total_tokens);
  const statusFor = async (of: string) => {
    const response = await call(caller, "POST", "", { user: of });
    await response.text();
    return response.status;
  };
  expect({ sameUser: await statusFor(user), another: await statusFor("bob") }).toEqual({ sameUser: 403, another: 200 });
});
