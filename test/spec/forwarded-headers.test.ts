/** Which headers of a client reach an upstream or an MCP server (docs/rules/headers.md#request-headers). */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { useMcp } from "../harness/mcp-fixture.ts";
import { type RawAnswer, rawRequest } from "../harness/raw-request.ts";
import { mintAt, useRouteUpstream } from "../harness/upstream-routes.ts";

const fixture = useGateway();
const upstream = useRouteUpstream();
const mcp = useMcp(fixture);

/** The upstream must get none of these with the client's value. */
const DROPPED = [
  "accept-encoding",
  "cookie",
  "forwarded",
  "x-forwarded",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-prefix",
  "x-real-ip",
  "true-client-ip",
  "cf-connecting-ip",
  "x-envoy-external-address",
  "x-envoy-upstream-rq-timeout-ms",
  "x-original-url",
  "x-rewrite-url",
  "x-http-method",
  "x-http-method-override",
  "x-method-override",
  "openai-organization",
  "openai-project",
  "x-goog-user-project",
  "x-request-id",
  "azureml-model-deployment",
  "x-amzn-sagemaker-target-model",
  "x-prefiller-host-port",
  "x-data-parallel-rank",
  "x-slo-ttft-ms",
  "x-litellm-api-key",
  "x-portkey-custom-host",
  "helicone-target-url",
  "x-goog-api-key",
  "ocp-apim-subscription-key",
  "x-bf-vk",
  "anthropic-workspace-id",
  "x-client-ip",
  "x-auth-request-email",
  "x-friendli-team",
  "opc-compartment-id",
  "x-grafana-url",
  "idempotency-key",
  "x-gateway-boons",
  "x-gateway-session-id",
  "x-gateway-anything",
  "x-api-key",
  "keep-alive",
  "te",
  "proxy-authorization",
  "proxy-connection",
  "x-named-by-connection",
];
const KEPT = ["accept", "user-agent", "openai-beta", "x-session-id", "x-stainless-lang", "x-custom"];
/** Of the protocol and HTTP: an MCP server gets no others. */
const KEPT_FOR_TOOLS = ["accept", "user-agent", "last-event-id", "mcp-protocol-version"];
const CLIENT = {
  ...Object.fromEntries([...DROPPED, ...KEPT, ...KEPT_FOR_TOOLS].map((name) => [name, `client-${name}`])),
  connection: "keep-alive, X-Named-By-Connection, authorization, content-type",
};

function expectForwarded(seen: Readonly<Record<string, unknown>>, kept: readonly string[]): void {
  const ofClient = Object.entries(seen).filter(([, value]) => String(value).startsWith("client-"));
  expect(Object.fromEntries(ofClient)).toEqual(Object.fromEntries(kept.map((name) => [name, `client-${name}`])));
}

async function chat(minted: Minted, headers: Record<string, string>, more: object = {}): Promise<RawAnswer> {
  return await rawRequest(fixture.gateway.proxyUrl, {
    method: "POST",
    path: "/v1/chat/completions",
    headers: { authorization: `Bearer ${minted.secret}`, ...headers },
    body: JSON.stringify({ model: minted.model.model_name, ...more }),
  });
}

describe("headers of a client", () => {
  it("reach an upstream, except those that the gateway, the connection or the operator sets", async () => {
    const minted = await mintAt(fixture.gateway, upstream, { api_key: "the-operators-credential" });
    const answer = await chat(minted, CLIENT);
    expect(answer.status).toBe(200);
    const [call] = upstream.seen(minted.mark);
    expectForwarded(call?.headers ?? {}, [...new Set([...KEPT, ...KEPT_FOR_TOOLS])]);
    expect({ authorization: call?.headers.authorization, "content-type": call?.headers["content-type"] }).toEqual({
      authorization: "Bearer the-operators-credential",
      "content-type": "application/json",
    });
  });

  it("reach an MCP server if they are of HTTP or the protocol", async () => {
    const minted = await mcp.mint("", { auth_header: "Bearer of-the-server" });
    const answer = await rawRequest(fixture.gateway.proxyUrl, {
      method: "POST",
      path: `/mcp/${minted.server.name}/${minted.mark}`,
      headers: { ...CLIENT, authorization: `Bearer ${minted.secret}` },
      body: '{"jsonrpc":"2.0"}',
    });
    expect(answer.status).toBe(200);
    const seen = await mcp.seenOnce(`/${minted.mark}`);
    expectForwarded(seen.headers, KEPT_FOR_TOOLS);
    expect(seen.headers.authorization).toBe("Bearer of-the-server");
  });
});

describe("a body that was read as JSON", () => {
  it.each([
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=b",
    "text/plain",
    "application/json; charset=utf-7",
    "application/json; charset=utf-16",
  ])("is sent to the upstream as JSON, not as %s, which could contain another model", async (type) => {
    const minted = await mintAt(fixture.gateway, upstream);
    const answer = await chat(minted, { "content-type": type }, { a: "&model=forbidden&" });
    expect(answer.status).toBe(200);
    const [call] = upstream.seen(minted.mark);
    expect({
      "content-type": call?.headers["content-type"],
      json: call?.json,
    }).toEqual({
      "content-type": "application/json",
      json: { model: "upstream-name", a: "&model=forbidden&" },
    });
  });
});

describe("bytes that are not text", () => {
  it("in a session's header are read as Latin-1, and none is lost", { tags: ["check"] }, async () => {
    const minted = await mintAt(fixture.gateway, upstream);
    for (const header of ["caf\u00e9", "\u00ff\u00fe", "caf\u00c3\u00a9"]) {
      const answer = await chat(minted, { "content-type": "application/json", "x-session-id": header });
      const row = await fixture.gateway.row(minted.tenant.id, answer.requestId);
      expect({ session_id: row.session_id, session_id_source: row.session_id_source }).toEqual({
        session_id: header,
        session_id_source: "client",
      });
    }
  });

  it("in a JSON body are refused, wherever they are", async () => {
    const minted = await mintAt(fixture.gateway, upstream);
    const name = minted.model.model_name;
    for (const [before, after] of [
      [`{"model":"${name}","user":"`, '"}'],
      [`{"model":"${name}","`, '":1}'],
      [`{"model":"${name}`, '"}'],
      [`{"x":"${"y".repeat(300_000)}`, `","model":"${name}"}`],
    ] as const) {
      for (const bytes of [[0xff], [0xc3], [0xed, 0xa0, 0x80], [0xc0, 0xaf], [0xf5, 0x80, 0x80, 0x80]]) {
        const answer = await rawRequest(fixture.gateway.proxyUrl, {
          method: "POST",
          path: "/v1/chat/completions",
          headers: { authorization: `Bearer ${minted.secret}` },
          body: Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(after)]),
        });
        expect({ status: answer.status, body: JSON.parse(answer.text) }).toMatchObject({
          status: 400,
          body: { error: { code: "invalid_json" } },
        });
      }
    }
    expect(upstream.seen(minted.mark)).toEqual([]);
  });

  it("in a form are refused in the model, ignored in the session and forwarded in other fields", {
    tags: ["check"],
  }, async () => {
    const received: Buffer[] = [];
    const server = createServer((request, response) => {
      request.on("data", (chunk: Buffer) => received.push(chunk));
      request.on("end", () => response.writeHead(200, { "content-type": "application/json" }).end("{}"));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      server.close();
      server.closeAllConnections();
    });
    const minted = await fixture.gateway.mint(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, "up");
    const field = (name: string, value: Uint8Array): Buffer =>
      Buffer.concat([
        Buffer.from(`--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n`),
        value,
        Buffer.from("\r\n"),
      ]);
    const bad = Buffer.from([0x61, 0xff, 0x62]);
    const model = Buffer.from(minted.model.model_name);
    const send = async (...fields: readonly Buffer[]): Promise<RawAnswer> =>
      await rawRequest(fixture.gateway.proxyUrl, {
        method: "POST",
        path: "/v1/audio/transcriptions",
        headers: { authorization: `Bearer ${minted.secret}`, "content-type": "multipart/form-data; boundary=b" },
        body: Buffer.concat([...fields, Buffer.from("--b--\r\n")]),
      });
    const refused = await send(field("model", Buffer.concat([model, bad])));
    expect({ status: refused.status, body: JSON.parse(refused.text) }).toMatchObject({
      status: 400,
      body: { error: { code: "invalid_multipart" } },
    });
    expect(received).toEqual([]);
    const served = await send(field("model", model), field("user", bad), field("prompt", bad));
    expect(served.status).toBe(200);
    expect(await fixture.gateway.row(minted.tenant.id, served.requestId)).toMatchObject({
      session_id: "",
      session_id_source: "none",
    });
    const sent = [
      field("model", Buffer.from("up")),
      field("user", bad),
      field("prompt", bad),
      Buffer.from("--b--\r\n"),
    ];
    expect(Buffer.concat(received).equals(Buffer.concat(sent))).toBe(true);
  });
});
