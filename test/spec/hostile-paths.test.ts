/**
 * Paths as an attacker writes them: another spelling makes nothing free, opens no endpoint of the operator's account,
 * and passes no allow-list (docs/rules/routes.md#unknown-paths).
 */
import { describe, expect, it } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { mainRows } from "../harness/main-rows.ts";
import { type RawAnswer, type RawRequest, rawRequest } from "../harness/raw-request.ts";
import { mintAt, useRouteUpstream } from "../harness/upstream-routes.ts";

const fixture = useGateway();
const upstream = useRouteUpstream();

async function mint(model: Readonly<Record<string, unknown>> = {}): Promise<Minted> {
  const operator = { api_key: "the-operators-credential", cost_per_image: 0.04, cost_per_character: 0.01 };
  return await mintAt(fixture.gateway, upstream, { ...operator, ...model });
}

async function send(minted: Minted, request: RawRequest): Promise<RawAnswer> {
  const headers = { authorization: `Bearer ${minted.secret}`, "content-type": "application/json", ...request.headers };
  return await rawRequest(fixture.gateway.proxyUrl, { ...request, headers });
}

/** A body with all fields that the documented routes need. */
const bodyOf = (minted: Minted): string =>
  JSON.stringify({ model: minted.model.model_name, prompt: "p", input: "spoken", messages: [], n: 2 });

const UNKNOWN = {
  error: { message: "unknown endpoint", type: "not_found_error", code: "unknown_endpoint", param: null },
};

/**
 * Checks that a path is refused as unknown: nothing reaches the upstream, and no row is left. `after` leaves the only row.
 */
async function expectUnknown(minted: Minted, requests: readonly RawRequest[]): Promise<void> {
  for (const request of requests) {
    const answer = await send(minted, request);
    expect({
      method: request.method,
      path: request.path,
      status: answer.status,
      body: JSON.parse(answer.text),
    }).toEqual({ method: request.method, path: request.path, status: 404, body: UNKNOWN });
  }
  expect(upstream.seen(minted.mark)).toEqual([]);
  const after = await send(minted, { method: "POST", path: "/v1/rerank", body: bodyOf(minted) });
  expect(after.status).toBe(200);
  await fixture.gateway.row(minted.tenant.id, after.requestId);
  expect(await fixture.gateway.rows(minted.tenant.id)).toHaveLength(1);
}

/** Spellings that some servers accept for a route. */
function spellingsOf(route: string): readonly string[] {
  const [, , folder = "", name = ""] = route.split("/");
  const capital = (word: string): string => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`;
  const encoded = (word: string, by: string): string => `${by}${word.charCodeAt(0).toString(16)}${word.slice(1)}`;
  return [
    `/v1//${folder}/${name}`,
    `//v1/${folder}/${name}`,
    `/v1/${folder}//${name}`,
    `${route}/`,
    `${route}//`,
    `/V1/${folder}/${name}`,
    `/v1/${capital(folder)}/${name}`,
    `/v1/${folder}/${capital(name)}`,
    `/v1/${folder}/${encoded(capital(name), "%")}`,
    `/v1/${folder}/${encoded(name, "%25")}`,
    `/v1/${encoded(folder, "%2525")}/${name}`,
    `/v1/${encoded(folder, "%")}/${encoded(name, "%25")}`,
    `/v1/${folder};a=b/${name}`,
    `/${capital(folder)}/${name}`,
    `/openai/${folder}/${capital(name)}`,
    ...[";a=b", "%3ba=b", "%3Fa=b", "%23a", "%20", "%00", "."].map((end) => `${route}${end}`),
  ];
}

describe("images and speech", () => {
  it("are not free by another spelling: a speech", async () => {
    const minted = await mint();
    const body = bodyOf(minted);
    await expectUnknown(
      minted,
      spellingsOf("/v1/audio/speech").map((path) => ({ method: "POST", path, body })),
    );
  });

  it("are not free by another spelling: an image, with every operation under /images", {
    tags: ["check"],
  }, async () => {
    const minted = await mint();
    const body = bodyOf(minted);
    for (const path of spellingsOf("/v1/images/generations")) {
      const seen = upstream.seen(minted.mark).length;
      const answer = await send(minted, { method: "POST", path, body });
      expect({ path, status: answer.status }).toEqual({ path, status: 404 });
      if (upstream.seen(minted.mark).length === seen) continue;
      expect(await fixture.gateway.row(minted.tenant.id, answer.requestId)).toMatchObject({ request_type: "image" });
    }
  });

  it("are unknown below another folder, and by an encoded letter", async () => {
    const minted = await mint();
    const body = bodyOf(minted);
    const paths = ["/images/generations", "/v1/v1/images/generations", "/v1/images/generation%73", "/audio/speech"];
    await expectUnknown(
      minted,
      paths.map((path) => ({ method: "POST", path, body })),
    );
  });
});

describe("a path that is written oddly", () => {
  it("is unknown: an empty segment, a slash at its end, a documented route in capitals", async () => {
    const minted = await mint();
    const body = bodyOf(minted);
    const post = (path: string): RawRequest => ({ method: "POST", path, body });
    await expectUnknown(minted, [
      ...[
        "/",
        "/v1//rerank",
        "//v1/rerank",
        "/v1/rerank/",
        "/v1/chat/completions/",
        "/V1/chat/completions",
        "/v1/Chat/Completions",
        "/v1/%43hat/completions",
        "/v1/Embeddings",
        "/v1/Rerank",
        "/Health",
        "/MCP/tools",
        "/mcp/tools//x",
        "/mcp//tools",
        "/Internal/stats",
        "/v1/Models",
      ].map(post),
      ...["/v1/models/", "/v1/Models", "/V1/models/x", "/v1/models//x", "/v1/models/x/", "/HEALTH", "/health/"].map(
        (path) => ({ method: "GET", path }),
      ),
    ]);
  });

  mainRows(1)([
    "/v1/..;/admin",
    "/v1/..;a/admin",
    "/v1/%252e%252e/admin",
    "/v1/a%252Fb",
    "/v1/a%25255cb",
    "/mcp/x/..;/y",
  ])("that some servers would leave its folder by is refused: %s", async (path) => {
    const minted = await mint();
    const answer = await send(minted, { method: "POST", path, body: bodyOf(minted) });
    expect({ status: answer.status, body: JSON.parse(answer.text) }).toMatchObject({
      status: 400,
      body: { error: { code: "invalid_path" } },
    });
    expect(upstream.seen(minted.mark)).toEqual([]);
  });
});

const ACCOUNT = (
  "uploads fine_tuning fine-tunes assistants threads vector_stores containers evals organization projects " +
  "realtime conversations videos skills responses/resp_1/other chat/completions/chatcmpl-1"
).split(" ");

const placesOf = (name: string): readonly string[] => [
  `/v1/${name}`,
  `/${name}`,
  `/openai/v1/${name}/x`,
  `/v1/${name.toUpperCase()}`,
  `/v1/%${name.charCodeAt(0).toString(16)}${name.slice(1)}`,
  `/v1/%25${name.charCodeAt(0).toString(16)}${name.slice(1)}`,
  `/v1/${name};x=y`,
  `/v1/${name}?limit=1`,
];

describe("the operator's account", () => {
  it("gets no request of a tenant, by no method and no spelling", async () => {
    const minted = await mint();
    const body = bodyOf(minted);
    await expectUnknown(
      minted,
      ACCOUNT.flatMap(placesOf).map((path) => ({ method: "POST", path, body })),
    );
  });

  it("gets no request for files and batches, which are the gateway's own", { tags: ["check"] }, async () => {
    const minted = await mint();
    const paths = ["files", "batches", "files/file-1", "batches/batch_1"].flatMap(placesOf);
    for (const method of ["POST", "GET", "DELETE"])
      for (const path of paths) {
        const { status } = await send(minted, { method, path, ...(method === "POST" ? { body: bodyOf(minted) } : {}) });
        expect({ method, path, isServed: status < 500 }).toEqual({ method, path, isServed: true });
      }
    expect(upstream.seen(minted.mark)).toEqual([]);
  });

  it("gets nothing by the methods that read, change and delete, on any path", { tags: ["check"] }, async () => {
    const minted = await mint();
    const body = bodyOf(minted);
    const paths = ["/v1/responses/resp_1/other", "/v1/organization/x", "/v1/rerank", "/v1/chat/completions"];
    await expectUnknown(
      minted,
      ["GET", "PUT", "PATCH", "DELETE", "OPTIONS"].flatMap((method) => paths.map((path) => ({ method, path, body }))),
    );
    await expectUnknown(await mint(), [{ method: "DELETE", path: `/v1/models/${minted.model.model_name}` }]);
  });
});

describe("GET /v1/models/{id}", () => {
  mainRows(1)([
    [
      "model_not_permitted",
      async (minted: Minted) =>
        await fixture.gateway.must("PATCH", `/tenants/${minted.tenant.id}/allowlist`, { allowed_models: ["another"] }),
    ],
    [
      "model_disabled",
      async (minted: Minted) =>
        await fixture.gateway.must("PUT", `/models/${minted.model.id}`, { ...minted.model, enabled: false }),
    ],
  ])("has the gates of its model: %s", async (code, close) => {
    const minted = await mint();
    await close(minted);
    const name = minted.model.model_name;
    const body = JSON.stringify({ model: name });
    for (const request of [
      { method: "GET", path: `/v1/models/${name}` },
      { method: "GET", path: `/v1/models/mod%65l${name.slice("model".length)}` },
      { method: "GET", path: "/v1/models", body },
    ]) {
      const answer = await send(minted, request);
      expect({ status: answer.status, body: JSON.parse(answer.text) }).toMatchObject({
        status: 403,
        body: { error: { code, param: "model" } },
      });
      const row = await fixture.gateway.row(minted.tenant.id, answer.requestId);
      expect({ admission: row.admission, model: row.model, cost_usd: row.cost_usd }).toEqual({
        admission: "rejected",
        model: name,
        cost_usd: 0,
      });
    }
    expect(upstream.seen(minted.mark)).toEqual([]);
  });

  it("with a body that names two models is refused, because the body goes upstream unchanged", {
    tags: ["check"],
  }, async () => {
    const [minted, other] = [await mint(), await mint()];
    const [first, second] = [minted.model.model_name, other.model.model_name];
    for (const [body, param] of [
      [`{"model":"${second}","model":"${first}"}`, "model"],
      [`{"model":"${first}","Model":"${second}"}`, "Model"],
    ] as const) {
      const answer = await send(minted, { method: "GET", path: "/v1/models", body });
      expect({ status: answer.status, body: JSON.parse(answer.text) }).toMatchObject({
        status: 400,
        body: { error: { code: "validation_failed", param } },
      });
    }
    expect(upstream.seen(minted.mark)).toEqual([]);
  });
});
