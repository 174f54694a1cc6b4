/**
 * An answer stays the first tenant's that was given its id, whatever id another one chooses for its own
 * (docs/rules/routes.md#objects-of-upstreams).
 */
import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { useAnswerStore } from "../harness/answer-store.ts";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";

const fixture = useGateway();
const upstream = useAnswerStore();

async function call({ secret }: Minted, method: string, path: string, body: object | null = null): Promise<Response> {
  return await fetch(`${fixture.gateway.proxyUrl}/v1/responses${path}`, {
    method,
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
    ...(body === null ? {} : { body: JSON.stringify(body) }),
  });
}

const ask = async (caller: Minted, body: object): Promise<Response> =>
  await call(caller, "POST", "", { model: caller.model.model_name, input: "hello", ...body });

async function created(caller: Minted, body: object = {}): Promise<string> {
  return ((await (await ask(caller, body)).json()) as { readonly id: string }).id;
}

/** Two tenants with one upstream, and an answer of the first. */
async function scene() {
  const mark = `mark-${randomUUID()}`;
  const [own, other] = await Promise.all([
    fixture.gateway.mint(upstream.baseOf(mark)),
    fixture.gateway.mint(upstream.baseOf(mark)),
  ]);
  return { own, other, id: await created(own), calls: () => upstream.seen(mark).length };
}

it.each<[string, (id: string) => object]>([
  ["rid", (id) => ({ rid: id })],
  ["extra_body", (id) => ({ extra_body: { request_id: id } })],
  ["parameters", (id) => ({ parameters: { requestId: id } })],
  ["vllm_xargs", (id) => ({ vllm_xargs: { request_id: id } })],
  ["sampling_params", (id) => ({ sampling_params: [{ rid: id }] })],
])("another tenant's id in %s is unknown, and reaches no upstream", async (_, choosing) => {
  const { other, id, calls } = await scene();
  const response = await ask(other, choosing(id));
  const { error } = (await response.json()) as { readonly error: { readonly code: string } };
  expect({ status: response.status, code: error.code, calls: calls() }).toEqual({
    status: 404,
    code: "object_not_found",
    calls: 1,
  });
});

it("an answer stays its first tenant's when an upstream gives its id to another one too", async () => {
  const { own, other, id } = await scene();
  expect(await created(other, { name_for_my_answer: id })).toBe(id);
  const complete = { type: "message", role: "user", id, content: "x" };
  const statuses = {
    read: (await call(other, "GET", `/${id}`)).status,
    deleted: (await call(other, "DELETE", `/${id}`)).status,
    continued: (await ask(other, { previous_response_id: id })).status,
    chosen: (await ask(other, { request_id: id })).status,
    referenced: (await ask(other, { input: [{ type: "item_reference", id }] })).status,
    sentBack: (await ask(other, { input: [complete] })).status,
    readByItsOwn: (await call(own, "GET", `/${id}`)).status,
    continuedByItsOwn: (await ask(own, { previous_response_id: id })).status,
  };
  expect(statuses).toEqual({
    read: 404,
    deleted: 404,
    continued: 404,
    chosen: 404,
    referenced: 404,
    sentBack: 200,
    readByItsOwn: 200,
    continuedByItsOwn: 200,
  });
});
