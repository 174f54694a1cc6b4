/**
 * Requests whose path or host is written oddly: the path that is routed, governed and billed is the one that the
 * upstream gets (docs/rules/routes.md#paths).
 *
 * @module-tag check
 */
import { describe, expect, it } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { rawRequest } from "../harness/raw-request.ts";
import { mintAt, useRouteUpstream } from "../harness/upstream-routes.ts";

const fixture = useGateway();
const upstream = useRouteUpstream();

interface Answer {
  readonly status: number;
  readonly requestId: string;
  readonly body: unknown;
}

async function post(
  minted: Minted,
  path: string,
  body: string | Buffer,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const common = { authorization: `Bearer ${minted.secret}`, "content-type": "application/json" };
  const request = { method: "POST", path, body, headers: { ...common, ...headers } };
  const { status, requestId, text } = await rawRequest(fixture.gateway.proxyUrl, request);
  return { status, requestId, body: JSON.parse(text) };
}

describe("a path", () => {
  it("with an encoded letter is not a route, and reaches no upstream", async () => {
    const minted = await mintAt(fixture.gateway, upstream, { cost_per_image: 0.04 });
    const body = JSON.stringify({ model: minted.model.model_name, prompt: "p", n: 2 });
    const answer = await post(minted, "/v1/images/generation%73", body);
    expect({ status: answer.status, upstreamCalls: upstream.seen(minted.mark) }).toEqual({
      status: 404,
      upstreamCalls: [],
    });
  });

  it.each(["/v1/a\\..\\..\\images/generations", "/v1/models\\..\\files", "/mcp/x\\..\\y"])(
    "that leaves its folder by a backslash is refused: %s",
    async (path) => {
      const minted = await mintAt(fixture.gateway, upstream);
      const answer = await post(minted, path, JSON.stringify({ model: minted.model.model_name }));
      expect({ status: answer.status, body: answer.body }).toMatchObject({
        status: 400,
        body: { error: { code: "invalid_path" } },
      });
      expect(upstream.seen(minted.mark)).toEqual([]);
    },
  );
});

describe("a method", () => {
  it.each([
    ["HEAD", "/health", 200],
    ["HEAD", "/livez", 200],
    ["HEAD", "/readyz", 200],
    ["HEAD", "/v1/models", 200],
    ["HEAD", "/v1/limits", 200],
    ["HEAD", "/v1/models/absent", 404],
    ["HEAD", "/v1/chat/completions", 404],
    ["OPTIONS", "/v1/chat/completions", 404],
    ["GET", "/v1/chat/completions", 404],
    ["POST", "/health", 404],
    ["POST", "/ready", 404],
    ["DELETE", "/v1/models/absent", 404],
    ["POST", "/v1/models/", 404],
  ])("%s %s is %i, after the key", async (method, path, status) => {
    const minted = await mintAt(fixture.gateway, upstream);
    const url = `${fixture.gateway.proxyUrl}${path}`;
    const open = status === 200 && !path.startsWith("/v1/");
    for (const [headers, expected] of [
      [{ authorization: `Bearer ${minted.secret}` }, status],
      [{}, open ? 200 : 401],
    ] as const) {
      const response = await fetch(url, { method, headers });
      const text = await response.text();
      expect({ status: response.status, hasHeadBody: method === "HEAD" && text !== "" }).toEqual({
        status: expected,
        hasHeadBody: false,
      });
      expect(response.headers.get("x-gateway-request-id")).toEqual(expect.any(String));
    }
  });
});

describe("a host", () => {
  it.each(["a b", "[::", "x:y"])("that is invalid is the client's error: %s", async (host) => {
    const minted = await mintAt(fixture.gateway, upstream);
    const answer = await post(minted, "/v1/chat/completions", "{}", { host });
    expect({ status: answer.status, body: answer.body }).toMatchObject({
      status: 400,
      body: { error: { code: "invalid_path" } },
    });
  });

  it("that holds the end of the path is routed by what is forwarded", async () => {
    const minted = await mintAt(fixture.gateway, upstream);
    const answer = await post(minted, "/v1/images/generations", "{}", { host: "a?b" });
    expect({ status: answer.status, body: answer.body }).toMatchObject({
      status: 404,
      body: { error: { code: "unknown_endpoint" } },
    });
  });
});

it.each([100, 300_000])("a byte order mark is refused before anything is admitted (text of %i)", async (length) => {
  const minted = await mintAt(fixture.gateway, upstream);
  const content = "z".repeat(length);
  const text = JSON.stringify({ model: minted.model.model_name, messages: [{ role: "user", content }] });
  const answer = await post(minted, "/v1/chat/completions", Buffer.from(`\ufeff${text}`));
  expect({ status: answer.status, body: answer.body }).toMatchObject({
    status: 400,
    body: { error: { code: "invalid_json" } },
  });
  expect(await fixture.gateway.row(minted.tenant.id, answer.requestId)).toMatchObject({
    admission: "rejected",
    model: "",
  });
});
