/**
 * What an upstream keeps belongs to the tenant that was given its id, although all tenants call the upstream with the same
 * credential (docs/rules/routes.md#objects-of-upstreams).
 */
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { CreatedKey } from "../../shared/schema/api-key.ts";
import type { ModelEndpoint } from "../../shared/schema/model-endpoint.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { useAnswerStore } from "../harness/answer-store.ts";
import { dataOf, useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";

const fixture = useGateway();
const upstream = useAnswerStore();

type Fields = Readonly<Record<string, unknown>>;

/** Two tenants that use the same model. */
async function scene(): Promise<{ readonly own: Minted; readonly other: Minted }> {
  const mark = `mark-${randomUUID()}`;
  const minted = await fixture.gateway.mint(upstream.baseOf(mark));
  return { own: { ...minted, mark }, other: { ...minted, mark, ...(await stranger()) } };
}

async function stranger(): Promise<Pick<Minted, "tenant" | "secret">> {
  const tenant = await fixture.gateway.must<Tenant>("POST", "/tenants", { name: `other-${randomUUID()}` });
  const { secret } = await fixture.gateway.must<CreatedKey>("POST", `/tenants/${tenant.id}/keys`, {});
  return { tenant, secret };
}

/** `body`: what is sent, or fields other than the model. */
async function call(
  caller: Minted,
  path: string,
  body: Fields | string | null = null,
  method = "POST",
): Promise<Response> {
  const sent = body === null || typeof body === "string" ? body : { model: caller.model.model_name, ...body };
  return await fetch(`${fixture.gateway.proxyUrl}/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${caller.secret}`, "content-type": "application/json" },
    ...(sent === null ? {} : { body: typeof sent === "string" ? sent : JSON.stringify(sent) }),
  });
}

interface Answered {
  readonly id: string;
  readonly output: readonly { readonly id: string; readonly container_id?: string }[];
}

const ask = async (caller: Minted, body: Fields = {}): Promise<Response> =>
  await call(caller, "/responses", { input: "hello", ...body });

async function created(caller: Minted, body: Fields = {}): Promise<Answered> {
  const response = await ask(caller, body);
  expect(response.status).toBe(200);
  return (await response.json()) as Answered;
}

/** Status and, of a refusal, its error. */
async function outcome(response: Response): Promise<object> {
  const text = await response.text();
  if (response.ok) return { status: response.status };
  const { error } = JSON.parse(text) as { error: { code: string; param: string | null } };
  return { status: response.status, code: error.code, param: error.param };
}

const notFound = (param: string | null) => ({ status: 404, code: "object_not_found", param });
const DONE = { status: 200 };

describe("an answer that an upstream keeps", () => {
  it("is continued by its tenant, and is unknown to another one, whose call reaches no upstream", async () => {
    const { own, other } = await scene();
    const { id } = await created(own);
    const before = upstream.seen(own.mark).length;
    const body = { previous_response_id: id };
    const refused = await ask(other, body);
    const requestId = refused.headers.get("x-gateway-request-id");
    expect({
      error: ((await refused.json()) as { error: unknown }).error,
      seen: upstream.seen(own.mark).length,
    }).toEqual({
      error: {
        message: `object '${id}' was not found`,
        type: "not_found_error",
        code: "object_not_found",
        param: "previous_response_id",
      },
      seen: before,
    });
    expect(await fixture.gateway.row(other.tenant.id, requestId)).toMatchObject({ status_code: 404, cost_usd: 0 });
    expect(await outcome(await ask(own, body))).toEqual(DONE);
    const { secret } = await fixture.gateway.must<CreatedKey>("POST", `/tenants/${own.tenant.id}/keys`, {});
    expect(await outcome(await ask({ ...own, secret }, body))).toEqual(DONE);
  });

  it("is read, listed, cancelled and deleted by its tenant alone, at no cost", async () => {
    const { own, other } = await scene();
    const { id } = await created(own);
    const routes = [
      ["GET", ""],
      ["GET", "/input_items?limit=2"],
      ["POST", "/cancel"],
      ["DELETE", ""],
    ] as const;
    for (const [method, rest] of routes)
      expect({
        method,
        rest,
        outcome: await outcome(await call(other, `/responses/${id}${rest}`, null, method)),
      }).toEqual({ method, rest, outcome: notFound(null) });
    expect(upstream.seen(own.mark)).toHaveLength(1);
    for (const [method, rest] of routes) {
      const response = await call(own, `/responses/${id}${rest}`, null, method);
      const row = await fixture.gateway.row(own.tenant.id, response.headers.get("x-gateway-request-id"));
      expect({ method, rest, outcome: await outcome(response), costUsd: row.cost_usd, model: row.model }).toEqual({
        method,
        rest,
        outcome: DONE,
        costUsd: 0,
        model: own.model.model_name,
      });
    }
    const reached = upstream.seen(own.mark).slice(1);
    expect(reached.map(({ method, path }) => `${method} ${path}`)).toEqual(
      routes.map(([method, rest]) => `${method} /responses/${id}${rest}`),
    );
  });

  it("made in the background is charged its estimate, and what it used beyond when it is read", async () => {
    const { own } = await scene();
    const outputOf = async (response: Response): Promise<object> => {
      const id = response.headers.get("x-gateway-request-id");
      const { output_tokens, cost_usd } = await fixture.gateway.row(own.tenant.id, id);
      return { output: output_tokens, isFree: cost_usd === 0 };
    };
    const posted = await ask(own, { background: true, max_output_tokens: 1 });
    const { id } = (await posted.json()) as Answered;
    const read = async (): Promise<Response> => {
      const response = await call(own, `/responses/${id}`, null, "GET");
      await response.text();
      return response;
    };
    const [first, second] = [await outputOf(await read()), await outputOf(await read())];
    expect({ posted: await outputOf(posted), first, second }).toEqual({
      posted: { output: 1, isFree: false },
      first: { output: 4, isFree: false },
      second: { output: 0, isFree: true },
    });
  });

  it("made in the background is charged once, however many reads of it come at once", { tags: ["check"] }, async () => {
    const { own } = await scene();
    const { id } = await created(own, { background: true, max_output_tokens: 1 });
    const outputs = await Promise.all(
      Array.from({ length: 6 }, async () => {
        const response = await call(own, `/responses/${id}`, null, "GET");
        await response.text();
        const row = await fixture.gateway.row(own.tenant.id, response.headers.get("x-gateway-request-id"));
        return row.output_tokens;
      }),
    );
    expect(outputs.reduce((sum, tokens) => sum + tokens, 0)).toBe(4);
  });

  it.each<[string, Fields]>([
    ["background", { background: 1 }],
    ["background", { background: "true" }],
    ["store", { store: "false" }],
    ["stream", { stream: 1 }],
  ])("depends on %s, which is true or false, never as in %j", { tags: ["check"] }, async (param, body) => {
    const { own } = await scene();
    expect(await outcome(await ask(own, body))).toEqual({ status: 400, code: "validation_failed", param });
    expect(upstream.seen(own.mark)).toEqual([]);
  });

  it("is unknown to another tenant also by the ids of its items", { tags: ["check"] }, async () => {
    const { own, other } = await scene();
    const { output } = await created(own);
    const item = `"id":"${output[0]?.id}"`;
    const items = [
      `{"type":"message",${item}}`,
      `{"type":"message",${item},"role":"user","content":"x"}`,
      `{"type":"function_call",${item},"call_id":"c","name":"f","arguments":"{}"}`,
      `{"type":"reasoning",${item},"summary":[],"content":[{}]}`,
      `{"Type":"item_reference","ID":"${output[0]?.id}","role":"user","content":"x"}`,
    ];
    for (const each of items) {
      const body = `{"model":"${own.model.model_name}","input":[${each}]}`;
      const [theirs, ours] = [await call(other, "/responses", body), await call(own, "/responses", body)];
      const outcomes = { each, theirs: await outcome(theirs), ours: await outcome(ours) };
      expect(outcomes).toEqual({ each, theirs: notFound("input"), ours: DONE });
    }
    const twice = `{"type":"item_reference",${item},"type":"message","role":"user","content":"x"}`;
    const refused = await call(other, "/responses", `{"model":"${own.model.model_name}","input":[${twice}]}`);
    expect(await outcome(refused)).toEqual({ status: 400, code: "validation_failed", param: "input.*" });
  });

  it("made in the background is charged its estimate when its stream is left", { tags: ["check"] }, async () => {
    const { own } = await scene();
    const response = await ask(own, { stream: true, background: true, instructions: "hang", max_output_tokens: 900 });
    const reader = response.body?.getReader();
    await reader?.read();
    await reader?.cancel();
    const row = await fixture.gateway.row(own.tenant.id, response.headers.get("x-gateway-request-id"));
    expect({ status: row.status_code, output: row.output_tokens }).toEqual({ status: 499, output: 900 });
  });

  it("belongs to its tenant when it was streamed, with its items and containers", { tags: ["check"] }, async () => {
    const { own, other } = await scene();
    const events = dataOf(await (await ask(own, { stream: true })).text()).map((text) => JSON.parse(text) as Fields);
    const { id, output } = (events.at(-1) as { readonly response: Answered }).response;
    const container = output[1]?.container_id ?? "";
    const bodies: Readonly<Record<string, Fields>> = {
      previous_response_id: { previous_response_id: id },
      input: { input: [{ type: "item_reference", id: output[0]?.id }] },
      container: { tools: [{ type: "code_interpreter", container }] },
    };
    for (const [param, body] of Object.entries(bodies))
      expect({ other: await outcome(await ask(other, body)), own: await outcome(await ask(own, body)) }).toEqual({
        other: notFound(param),
        own: DONE,
      });
  });
});

describe("an object that the gateway has given to nobody", { tags: ["check"] }, () => {
  const ID = "obj_0123456789";
  const content = [{ type: "input_file", file_id: ID }];
  it.each<[string, Fields]>([
    ["previous_response_id", { previous_response_id: ID }],
    ["previous_response_id", { stream: true, previous_response_id: ID }],
    ["conversation", { conversation: ID }],
    ["conversation", { conversation: { id: ID } }],
    ["prompt", { prompt: { id: ID, version: "2" } }],
    ["file_id", { input: [{ role: "user", content }] }],
    ["file_id", { prompt: { variables: { a: { type: "input_file", file_id: ID } } } }],
    ["file_id", { input: [{ type: "function_call_output", call_id: "c", output: content }] }],
    ["file_id", { input: [{ type: "computer_call_output", call_id: "c", output: { FILE_ID: ID } }] }],
    ["input", { input: [{ id: ID }] }],
    ["input", { input: [{ type: "item_reference", id: ID }] }],
    ["input", { input: [{ type: "reasoning", id: ID, summary: [] }] }],
    ["input", { input: [{ type: "image_generation_call", id: ID }] }],
    ["vector_store_ids", { tools: [{ type: "file_search", vector_store_ids: [ID] }] }],
    ["vector_store_ids", { tools: [{ type: "file_search", parameters: { vector_store_ids: [ID] } }] }],
    ["file_id", { input: [{ role: "user", content: [{ type: "input_file", fileId: ID }] }] }],
    ["skill_id", { tools: [{ type: "shell", environment: { skills: [{ skill_id: `skill_${ID}` }] } }] }],
    ["input", { input: { id: ID } }],
    ["container", { tools: [{ type: "code_interpreter", container: ID }] }],
    ["file_ids", { tools: [{ type: "code_interpreter", container: { type: "auto", file_ids: [ID] } }] }],
  ])("is refused as %s of %j, before its upstream is called", async (param, body) => {
    const { own } = await scene();
    expect(await outcome(await ask(own, body))).toEqual(notFound(param));
    expect(upstream.seen(own.mark)).toEqual([]);
  });

  it.each(["input", "Input"])("is refused beside another input, also as %s", async (name) => {
    const { own } = await scene();
    const body = `{"model":"${own.model.model_name}","${name}":[{"id":"${ID}"}],"input":"x"}`;
    expect(await outcome(await call(own, "/responses", body))).toEqual({
      status: 400,
      code: "validation_failed",
      param: name,
    });
  });

  it.each(["file_id", "images[][file_id]"])("is refused as field %s of a form", async (name) => {
    const { own } = await scene();
    const form = new FormData();
    form.set("model", own.model.model_name);
    form.set(name, ID);
    const response = await fetch(`${fixture.gateway.proxyUrl}/v1/images/edits`, {
      method: "POST",
      headers: { authorization: `Bearer ${own.secret}` },
      body: form,
    });
    expect(await outcome(response)).toEqual({ status: 400, code: "validation_failed", param: name });
    expect(upstream.seen(own.mark)).toEqual([]);
  });

  it.each(["previous_response_id", "PREVIOUS_RESPONSE_ID"])(
    "is refused when it is named twice, also as %s",
    async (name) => {
      const { own } = await scene();
      const { id } = await created(own);
      const body = `{"model":"${own.model.model_name}","input":"x","${name}":"${ID}","previous_response_id":"${id}"}`;
      const response = await call(own, "/responses", body);
      expect(await outcome(response)).toEqual({ status: 400, code: "validation_failed", param: name });
      expect(upstream.seen(own.mark)).toHaveLength(1);
    },
  );

  it.each<[string, string, Fields]>([
    ["a file of a chat", "/chat/completions", { messages: [{ role: "user", content: [{ file: { file_id: ID } }] }] }],
    ["a sound of a chat", "/chat/completions", { messages: [{ role: "assistant", audio: { id: ID } }] }],
    ["the container of a message", "/messages", { messages: [], container: ID }],
    ["a file of a message", "/messages", { messages: [{ role: "user", content: [{ source: { file_id: ID } }] }] }],
  ])("is refused as %s", async (_, path, body) => {
    const { own } = await scene();
    expect(await outcome(await call(own, path, body))).toMatchObject({ status: 404, code: "object_not_found" });
    expect(upstream.seen(own.mark)).toEqual([]);
  });

  it("is not known because an answer repeats what its client, or the client's tool server, wrote", async () => {
    const { own } = await scene();
    await created(own, { metadata: { id: ID, container_id: ID }, tools: [{ type: "function", id: ID }] });
    expect(await outcome(await ask(own, { previous_response_id: ID }))).toEqual(notFound("previous_response_id"));
  });

  it.each([/^/, /^resp_/])("is not taken by a client that chooses it without %s as its answer's id", async (cut) => {
    const { own, other } = await scene();
    const { id } = await created(own);
    expect(await outcome(await ask(other, { request_id: id.replace(cut, "") }))).toEqual(notFound("request_id"));
    expect(upstream.seen(own.mark)).toHaveLength(1);
    for (const caller of [own, other]) expect((await created(caller, { request_id: "mine" })).id).toBe("mine");
    for (const caller of [own, other])
      expect(await outcome(await call(caller, "/responses/mine", null, "GET"))).toEqual(notFound(null));
  });

  it("is not looked for in data of the client, or in items that are complete", async () => {
    const { own } = await scene();
    const schema = { type: "object", properties: { file_id: { type: "string" } }, example: { file_id: ID } };
    const body = {
      metadata: { file_id: ID },
      tools: [{ type: "function", name: "open", parameters: schema }],
      text: { format: { type: "json_schema", name: "f", schema } },
      previous_response_id: null,
      conversation: null,
      prompt: null,
      input: [
        { type: "message", role: "assistant", id: ID, content: [{ type: "output_text", text: `file_id ${ID}` }] },
        { type: "reasoning", id: ID, summary: [], encrypted_content: "gAAAA" },
        { type: "function_call", id: ID, call_id: "c", name: "open", arguments: JSON.stringify({ file_id: ID }) },
      ],
    };
    expect(await outcome(await ask(own, body))).toEqual(DONE);
  });

  it("cannot be read, and its routes stay unknown by other methods", async () => {
    const { own } = await scene();
    const outcomes = await Promise.all([
      call(own, `/responses/${ID}`, null, "GET").then(outcome),
      call(own, `/responses/${ID}`, {}).then(outcome),
      call(own, `/responses/${ID}/other`, null, "GET").then(outcome),
      call(own, `/conversations/${ID}`, null, "GET").then(outcome),
    ]);
    const unknown = { status: 404, code: "unknown_endpoint", param: null };
    expect(outcomes).toEqual([notFound(null), unknown, unknown, unknown]);
  });
});

describe("a request that names a stored answer", { tags: ["check"] }, () => {
  it("goes to the endpoint that made it, also when another one comes first, and to no other", async () => {
    const { own } = await scene();
    const ids: Record<string, string> = {};
    for (const [name, priority] of Object.entries({ a: 1, b: 2 })) {
      const body = { name, api_base: upstream.baseOf(own.mark, name), priority };
      const { id } = await fixture.gateway.must<ModelEndpoint>("POST", `/models/${own.model.id}/endpoints`, body);
      ids[name] = `/models/${own.model.id}/endpoints/${id}`;
    }
    const wentTo = (): readonly string[] => upstream.seen(own.mark).map(({ endpoint }) => endpoint);
    const { id } = await created(own);
    await fixture.gateway.must("PUT", ids["a"] ?? "", { priority: 3 });
    await created(own);
    const continued = async () => await outcome(await ask(own, { previous_response_id: id }));
    const read = async () => await outcome(await call(own, `/responses/${id}`, null, "GET"));
    expect({ continued: await continued(), read: await read(), wentTo: wentTo() }).toEqual({
      continued: DONE,
      read: DONE,
      wentTo: ["a", "b", "a", "a"],
    });
    await fixture.gateway.must("PUT", ids["a"] ?? "", { enabled: false });
    expect({ continued: await continued(), read: await read(), wentTo: wentTo().length }).toEqual({
      continued: notFound("previous_response_id"),
      read: notFound(null),
      wentTo: 4,
    });
  });

  it("may be for another model of the same server", async () => {
    const { own } = await scene();
    const { id } = await created(own);
    const sibling = await fixture.gateway.mint(upstream.baseOf(own.mark));
    const elsewhere = await fixture.gateway.mint(upstream.baseOf(own.mark, "elsewhere"));
    const at = async ({ model }: Minted) => await outcome(await ask({ ...own, model }, { previous_response_id: id }));
    expect({ sibling: await at(sibling), elsewhere: await at(elsewhere) }).toEqual({
      sibling: DONE,
      elsewhere: notFound("previous_response_id"),
    });
  });

  it("shows no text of a background answer that the tenant's policy keeps back", async () => {
    const { own } = await scene();
    const { id } = await created(own, { background: true });
    const policy = { output_scanners: ["ban_keywords"], ban_keywords: ["4711"] };
    await fixture.gateway.must("PATCH", `/tenants/${own.tenant.id}/guardrails`, { policy });
    expect(await outcome(await call(own, `/responses/${id}`, null, "GET"))).toMatchObject({ code: "response_blocked" });
  });
});
