/** The MCP reverse proxy: calls, answers and refusals (docs/rules/mcp.md#calls). */
import { createHash, randomBytes } from "node:crypto";
import { request } from "node:http";
import { describe, expect, it } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import { mainRows } from "../harness/main-rows.ts";
import { useMcp } from "../harness/mcp-fixture.ts";

const fixture = useGateway();
const mcp = useMcp(fixture);

async function errorOf(response: Response): Promise<readonly unknown[]> {
  const { error } = (await response.json()) as { error: { code: string; message: string } };
  return [response.status, error.code, error.message];
}

describe("a call", () => {
  it("arrives unchanged except for its credentials, and its answer except for its headers", async () => {
    const minted = await mcp.mint("", { auth_header: "Basic of-the-server" });
    const body = randomBytes(300_000);
    const response = await mcp.call(minted, `/x/${minted.mark}/?a=1&b=%20`, {
      method: "PUT",
      body,
      headers: {
        "x-api-key": minted.secret,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-session-id": "of-the-client",
        "mcp-protocol-version": "2025-11-25",
        "last-event-id": "7",
      },
    });
    expect({ status: response.status, body: await response.text() }).toEqual({
      status: 200,
      body: '{"jsonrpc":"2.0","id":1,"result":{}}',
    });
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(response.headers.get("mcp-session-id")).toBe("session-1");
    expect(response.headers.get("mcp-protocol-version")).toBe("2025-06-18");
    expect(response.headers.get("set-cookie")).toBeNull();
    expect(response.headers.get("x-of-the-server")).toBeNull();
    expect(response.headers.get("x-gateway-upstream-status")).toBe("200");
    expect(response.headers.get("x-gateway-request-id")).toMatch(/^[0-9a-f-]{36}$/);
    const seen = await mcp.seenOnce(minted.mark);
    expect({ method: seen.method, url: seen.url }).toEqual({ method: "PUT", url: `/mcp/x/${minted.mark}/?a=1&b=%20` });
    expect({ bodyBytes: seen.bodyBytes, bodySha256: seen.bodySha256 }).toEqual({
      bodyBytes: 300_000,
      bodySha256: createHash("sha256").update(body).digest("hex"),
    });
    expect(seen.headers).toMatchObject({
      authorization: "Basic of-the-server",
      "content-length": "300000",
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-session-id": "of-the-client",
      "mcp-protocol-version": "2025-11-25",
      "last-event-id": "7",
    });
    expect(seen.headers["x-api-key"]).toBeUndefined();
  });

  it("carries no Authorization to a server without one, and any method", async () => {
    const minted = await mcp.mint();
    for (const method of ["GET", "DELETE", "POST", "PATCH"]) {
      const mark = `${minted.mark}-${method}`;
      expect((await mcp.call(minted, `/${mark}`, { method })).status).toBe(200);
      const seen = await mcp.seenOnce(mark);
      expect({ method: seen.method, authorization: seen.headers["authorization"] }).toEqual({
        method,
        authorization: undefined,
      });
    }
  });

  it("has a query of any names: no field of a model's body is read from it", async () => {
    const minted = await mcp.mint();
    const path = `/${minted.mark}?api_key=a&model=b&stream=c&extra_body=d`;
    const response = await mcp.call(minted, path, { method: "POST", body: "{}" });
    expect({ status: response.status, url: (await mcp.seenOnce(minted.mark)).url }).toEqual({
      status: 200,
      url: `/mcp${path}`,
    });
  });

  it("carries the body of a GET, too", async () => {
    const minted = await mcp.mint();
    const path = `/mcp/${minted.server.name}/${minted.mark}`;
    const headers = { authorization: `Bearer ${minted.secret}`, "content-length": "5" };
    const status = await new Promise((resolve, reject) => {
      const outgoing = request(fixture.gateway.proxyUrl, { method: "GET", path, headers }, (incoming) => {
        incoming.resume();
        resolve(incoming.statusCode);
      });
      outgoing.on("error", reject);
      outgoing.end("hello");
    });
    const seen = await mcp.seenOnce(minted.mark);
    expect({ status, method: seen.method, bodyBytes: seen.bodyBytes }).toEqual({
      status: 200,
      method: "GET",
      bodyBytes: 5,
    });
  });

  it("of undeclared length arrives whole", async () => {
    const minted = await mcp.mint();
    const chunks = Array.from({ length: 20 }, () => randomBytes(10_000));
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const chunk of chunks) controller.enqueue(chunk);
        controller.close();
      },
    });
    const response = await mcp.call(minted, `/${minted.mark}`, { body });
    expect(response.status).toBe(200);
    expect((await mcp.seenOnce(minted.mark)).bodySha256).toBe(
      createHash("sha256").update(Buffer.concat(chunks)).digest("hex"),
    );
  });

  it("gets 502 in place of the server's 401, which refuses the operator's credential", async () => {
    const minted = await mcp.mint("status=401");
    const response = await mcp.call(minted);
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 502,
      body: { error: { code: "mcp_upstream_failed" } },
    });
    const row = await fixture.gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"));
    expect(row).toMatchObject({ status_code: 502, upstream_status: 401, error_code: "mcp_upstream_failed" });
  });

  mainRows(2)([204, 500, 400, 404, 405, 429, 503])(
    "gets the server's %i as it is, and leaves a row that costs nothing",
    async (status) => {
      const minted = await mcp.mint(`status=${status}`);
      const response = await mcp.call(minted);
      expect({ status: response.status, body: await response.text() }).toEqual({
        status,
        body: status === 204 ? "" : `status ${status}`,
      });
      expect(response.headers.get("mcp-session-id")).toBe("s");
      expect(response.headers.get("x-gateway-upstream-status")).toBe(String(status));
      const row = await fixture.gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"));
      expect(row).toMatchObject({
        request_type: "mcp",
        key_id: minted.key.id,
        status_code: status,
        upstream_status: status,
        error_code: "",
        admission: "fast",
        model: "",
        total_tokens: 0,
        cost_usd: 0,
      });
    },
  );

  it("never follows a redirect", async () => {
    const minted = await mcp.mint("redirect");
    const response = await mcp.call(minted);
    expect({
      status: response.status,
      body: await response.text(),
      location: response.headers.get("location"),
    }).toEqual({ status: 307, body: "elsewhere", location: null });
    expect(mcp.upstream.seen("redirected")).toEqual([]);
  });
});

describe("a call is refused", () => {
  it("without a known caller, and for a server that is not there", async () => {
    const minted = await mcp.mint();
    const url = `${fixture.gateway.proxyUrl}/mcp/${minted.mark}`;
    expect(await errorOf(await fetch(url, { method: "POST" }))).toEqual([
      401,
      "missing_api_key",
      "missing bearer token",
    ]);
    const wrong = { authorization: `Bearer sk_${"0".repeat(48)}` };
    expect(await errorOf(await fetch(url, { headers: wrong }))).toEqual([401, "invalid_api_key", "invalid api key"]);
    const known = { authorization: `Bearer ${minted.secret}` };
    const absent = await fetch(`${fixture.gateway.proxyUrl}/mcp/nobody/x`, { headers: known });
    const requestId = absent.headers.get("x-gateway-request-id");
    expect(await errorOf(absent)).toEqual([404, "mcp_server_not_found", "mcp server 'nobody' is not registered"]);
    expect(await fixture.gateway.row(minted.tenant.id, requestId)).toMatchObject({
      admission: "rejected",
      status_code: 404,
      request_type: "mcp",
      model: "",
    });
    for (const path of ["/mcp", "/mcp/"]) {
      const nowhere = await fetch(`${fixture.gateway.proxyUrl}${path}`, { headers: known });
      expect(await errorOf(nowhere)).toEqual([404, "unknown_endpoint", "unknown endpoint"]);
    }
  });

  it("at once after each change of server, key and tenant, and served at once again", async () => {
    const minted = await mcp.mint();
    const status = async (): Promise<unknown> => {
      const response = await mcp.call(minted);
      return response.status === 200
        ? await response.text().then(() => 200)
        : ((await errorOf(response)) as unknown[])[1];
    };
    const admin = fixture.gateway;
    const server = `/mcp-servers/${minted.server.id}`;
    const tenant = `/tenants/${minted.tenant.id}`;
    const steps = [
      ["PUT", server, { enabled: false }, "mcp_server_disabled"],
      ["PUT", server, { enabled: true }, 200],
      ["PUT", `/keys/${minted.key.id}/disabled`, { disabled: true }, "api_key_disabled"],
      ["PUT", `/keys/${minted.key.id}/disabled`, { disabled: false }, 200],
      ["PATCH", `${tenant}/status`, { status: "suspended" }, "tenant_not_active"],
      ["PATCH", `${tenant}/status`, { status: "active" }, 200],
      ["PATCH", `${tenant}/schedule`, { active_until: "2020-01-01T00:00:00Z" }, "tenant_expired"],
      ["PATCH", `${tenant}/schedule`, { active_until: null }, 200],
      ["PATCH", `${tenant}/allowlist`, { allowed_models: ["none"] }, 200],
      ["PUT", server, { name: `${minted.mark}-renamed` }, "mcp_server_not_found"],
      ["PUT", server, { name: minted.mark, upstream_url: `${mcp.upstream.url}/status=418` }, 418],
      ["DELETE", server, undefined, "mcp_server_not_found"],
    ] as const;
    expect(await status()).toBe(200);
    for (const [method, path, body, expected] of steps) {
      await admin.must(method, path, body);
      if (expected === 418) expect((await mcp.call(minted)).status).toBe(418);
      else expect({ path, body, status: await status() }).toEqual({ path, body, status: expected });
    }
  });

  it("with an unsafe path before its size, above 16 MiB declared or not", { tags: ["check"] }, async () => {
    const minted = await mcp.mint();
    const headersOnly = async (path: string, length: number): Promise<unknown> =>
      await new Promise((resolve, reject) => {
        const headers = { authorization: `Bearer ${minted.secret}`, "content-length": String(length) };
        const outgoing = request(fixture.gateway.proxyUrl, { method: "POST", path, headers }, (incoming) => {
          incoming.resume().on("end", () => outgoing.destroy());
          resolve(incoming.statusCode);
        });
        outgoing.on("error", reject);
        outgoing.flushHeaders();
      });
    expect(await headersOnly(`/mcp/${minted.mark}/%2e%2e`, 16_777_217)).toBe(400);
    expect(await headersOnly(`/mcp/${minted.mark}/${minted.mark}`, 16_777_217)).toBe(413);
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (let at = 0; at < 17; at += 1) controller.enqueue(new Uint8Array(1_048_576));
        controller.close();
      },
    });
    const response = await mcp.call(minted, `/${minted.mark}`, { body });
    expect(await errorOf(response)).toEqual([413, "request_too_large", "request body too large"]);
    expect(mcp.upstream.seen(minted.mark)).toEqual([]);
    const largest = await mcp.call(minted, `/${minted.mark}`, { body: new Uint8Array(16_777_216) });
    expect({ status: largest.status, bodyBytes: (await mcp.seenOnce(minted.mark)).bodyBytes }).toEqual({
      status: 200,
      bodyBytes: 16_777_216,
    });
  });

  it("with 502 when its server cannot be reached; the row says so", async () => {
    const minted = await mcp.mint("", { upstream_url: "http://127.0.0.1:9/mcp" });
    const response = await mcp.call(minted);
    const requestId = response.headers.get("x-gateway-request-id");
    expect(await errorOf(response)).toEqual([502, "mcp_upstream_failed", "mcp upstream request failed"]);
    expect(await fixture.gateway.row(minted.tenant.id, requestId)).toMatchObject({ status_code: 502, cost_usd: 0 });
  });
});

it.each([
  ["GET", "/.well-known/oauth-protected-resource/mcp/tools"],
  ["GET", "/.well-known/oauth-authorization-server"],
  ["GET", "/.well-known/openid-configuration"],
  ["POST", "/.well-known/x"],
])("%s %s is 404 without a key where no issuer is configured", async (method, path) => {
  const response = await fetch(`${fixture.gateway.proxyUrl}${path}`, { method });
  expect(await errorOf(response)).toEqual([404, "unknown_endpoint", "unknown endpoint"]);
});
