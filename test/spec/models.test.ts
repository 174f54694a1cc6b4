/**
 * GET /v1/models and its forwarded forms (docs/rules/routes.md#model-listing). The list itself is tested in
 * refusals.test.ts.
 */
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { describe, expect, it } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { mintAt, useRouteUpstream } from "../harness/upstream-routes.ts";

const fixture = useGateway();
const upstream = useRouteUpstream();

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: unknown;
}

/** A GET that may have a body, which `fetch` would not send. */
async function get(minted: Minted, path: string, body?: string): Promise<Answer> {
  return await new Promise((resolve, reject) => {
    const outgoing = request(
      `${fixture.gateway.proxyUrl}${path}`,
      {
        method: "GET",
        headers: {
          authorization: `Bearer ${minted.secret}`,
          ...(body === undefined ? {} : { "content-type": "application/json", "content-length": body.length }),
        },
      },
      (incoming) => {
        let text = "";
        incoming.on("data", (chunk: Buffer) => {
          text += chunk.toString();
        });
        incoming.on("end", () =>
          resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body: JSON.parse(text) }),
        );
      },
    );
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

const probed = { request_type: "other", admission: "fast", status_code: 200, total_tokens: 0, cost_usd: 0 };

describe("the details of a model", () => {
  it("are what the registry knows, under the name that clients use, and leave no row", async () => {
    const known = { api_key: "upstream-secret", context_window: 8000, output_cost_per_token: 0.5 };
    const minted = await mintAt(fixture.gateway, upstream, known);
    const name = minted.model.model_name;
    const answer = await get(minted, `/v1/models/${name}?x=1`);
    expect({ status: answer.status, body: answer.body }).toMatchObject({
      status: 200,
      body: { id: name, object: "model", owned_by: "gateway", context_window: 8000, prices_usd: { output: 0.5 } },
    });
    expect(JSON.stringify(answer.body)).not.toMatch(/upstream|http/);
    const absent = await get(minted, "/v1/models/absent");
    expect({ status: absent.status, body: absent.body }).toMatchObject({
      status: 404,
      body: { error: { code: "model_not_found", param: "model" } },
    });
    await fixture.gateway.row(minted.tenant.id, String(absent.headers["x-gateway-request-id"]));
    expect({ rows: (await fixture.gateway.rows(minted.tenant.id)).length, calls: upstream.seen(minted.mark) }).toEqual({
      rows: 1,
      calls: [],
    });
  });

  it("are found by an id with slashes, plain and as clients encode it", async () => {
    const minted = await mintAt(fixture.gateway, upstream);
    const name = `org/${minted.mark}/model`;
    await fixture.gateway.must("POST", "/models", { model_name: name, model_type: "chat" });
    for (const path of [name, encodeURIComponent(name), name.replaceAll("/", "%2f")])
      expect({ path, answer: await get(minted, `/v1/models/${path}`) }).toMatchObject({
        path,
        answer: { status: 200, body: { id: name } },
      });
    for (const path of [name.replaceAll("/", "%252f"), `org%2F%2e%2e%2F${minted.mark}`, `org%5C${minted.mark}`])
      expect({ path, status: (await get(minted, `/v1/models/${path}`)).status }).toEqual({ path, status: 400 });
  });

  it("need no body, and refuse one that is too large", async () => {
    const minted = await mintAt(fixture.gateway, upstream);
    const path = `/v1/models/${minted.model.model_name}`;
    expect((await get(minted, path, JSON.stringify({ model: "other" }))).body).toMatchObject({
      id: minted.model.model_name,
    });
    const headers = { authorization: `Bearer ${minted.secret}`, "content-length": String(32 * 1024 * 1024) };
    const half = request(`${fixture.gateway.proxyUrl}${path}`, { method: "GET", headers });
    half.write("{");
    const [answer] = (await once(half, "response")) as [IncomingMessage];
    expect(answer.statusCode).toBe(200);
    half.destroy();
    const larger = { ...headers, "content-length": String(32 * 1024 * 1024 + 1) };
    const large = request(`${fixture.gateway.proxyUrl}${path}`, { method: "GET", headers: larger });
    large.write("{");
    const [refusal] = (await once(large, "response")) as [IncomingMessage];
    expect(refusal.statusCode).toBe(413);
    large.destroy();
    expect(upstream.seen(minted.mark)).toEqual([]);
  });

  it("are checked against the tenant's gates, and against no budget", async () => {
    const minted = await mintAt(fixture.gateway, upstream);
    await fixture.gateway.must("PUT", `/tenants/${minted.tenant.id}/quota`, { tokens_per_minute: 1 });
    for (let round = 0; round < 3; round += 1)
      expect((await get(minted, `/v1/models/${minted.model.model_name}`)).status).toBe(200);
    await fixture.gateway.must("PUT", `/keys/${minted.key.id}/disabled`, { disabled: true });
    expect((await get(minted, `/v1/models/${minted.model.model_name}`)).status).toBe(403);
  });
});

describe("a detail probe", () => {
  it("goes to the model's upstream, with its credential and the body as it is", async () => {
    const minted = await mintAt(fixture.gateway, upstream, { api_key: "upstream-secret" });
    const body = JSON.stringify({ model: minted.model.model_name, verbose: true });
    const answer = await get(minted, "/v1/models", body);
    expect({ status: answer.status, body: answer.body }).toMatchObject({
      status: 200,
      body: { id: "of-upstream", asked: "/v1/models" },
    });
    const [call] = upstream.seen(minted.mark);
    expect({ json: call?.json, authorization: call?.headers.authorization }).toEqual({
      json: JSON.parse(body),
      authorization: "Bearer upstream-secret",
    });
    expect(await fixture.gateway.row(minted.tenant.id, String(answer.headers["x-gateway-request-id"]))).toMatchObject(
      probed,
    );
    for (const other of ["{}", "[]", "{", '{"model":5}'])
      expect((await get(minted, "/v1/models", other)).body).toMatchObject({ object: "list" });
  });

  it("of a name that is not registered goes to the default upstream, which is down here", async () => {
    const minted = await mintAt(fixture.gateway, upstream);
    const answer = await get(minted, "/v1/models", JSON.stringify({ model: "absent" }));
    expect({ status: answer.status, body: answer.body }).toMatchObject({
      status: 502,
      body: { error: { code: "upstream_failed" } },
    });
    expect(await fixture.gateway.row(minted.tenant.id, String(answer.headers["x-gateway-request-id"]))).toMatchObject({
      model: "",
      status_code: 502,
      admission: "fast",
    });
  });
});
