/** The MCP reverse proxy (specification "Data plane routes" 11, decisions §29). */
import { createHash, randomBytes } from "node:crypto";
import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import type { McpServer } from "../../shared/schema/mcp-server.ts";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { type McpUpstream, type SeenCall, startMcpUpstream } from "../harness/mcp-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();
let mcp: McpUpstream;
beforeAll(async () => {
  mcp = await startMcpUpstream();
});
afterAll(async () => {
  await mcp.close();
});

interface McpMinted extends Minted {
  readonly server: McpServer;
}

/** A tenant, and an MCP server of its own whose base answers as `behaviour` says. */
async function mint(behaviour = "", more: Readonly<Record<string, unknown>> = {}): Promise<McpMinted> {
  const minted = await fixture.gateway.mint(fixture.upstream.url);
  const server = await fixture.gateway.must<McpServer>("POST", "/mcp-servers", {
    name: minted.mark,
    upstream_url: `${mcp.url}${behaviour === "" ? "" : `/${behaviour}`}`,
    ...more,
  });
  return { ...minted, server };
}

async function call(minted: McpMinted, rest = "", init: RequestInit = {}): Promise<Response> {
  return await fetch(`${fixture.gateway.proxyUrl}/mcp/${minted.server.name}${rest}`, {
    method: "POST",
    body: init.method === "GET" || init.method === "DELETE" ? null : '{"jsonrpc":"2.0"}',
    ...init,
    headers: { authorization: `Bearer ${minted.secret}`, ...init.headers },
  });
}

async function errorOf(response: Response): Promise<unknown> {
  const { error } = (await response.json()) as { error: { code: string; message: string } };
  return [response.status, error.code, error.message];
}

/** The only call that reached the server under this text. */
async function seenOnce(text: string): Promise<SeenCall> {
  const [seen, ...more] = await waitFor(
    () => mcp.seen(text),
    (calls) => calls.length > 0,
  );
  expect(more).toEqual([]);
  return seen as SeenCall;
}

describe("a call", () => {
  it("arrives unchanged but for its credentials, and so does its answer but for its headers", async () => {
    const minted = await mint("", { auth_header: "Basic of-the-server" });
    const body = randomBytes(300_000);
    const response = await call(minted, `/x/${minted.mark}/?a=1&b=%20`, {
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
    expect([response.status, await response.text()]).toEqual([200, '{"jsonrpc":"2.0","id":1,"result":{}}']);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(response.headers.get("mcp-session-id")).toBe("session-1");
    expect(response.headers.get("mcp-protocol-version")).toBe("2025-06-18");
    expect(response.headers.get("set-cookie")).toBeNull();
    expect(response.headers.get("x-of-the-server")).toBeNull();
    expect(response.headers.get("x-gateway-upstream-status")).toBe("200");
    expect(response.headers.get("x-gateway-request-id")).toMatch(/^[0-9a-f-]{36}$/);
    const seen = await seenOnce(minted.mark);
    expect([seen.method, seen.url]).toEqual(["PUT", `/mcp/x/${minted.mark}/?a=1&b=%20`]);
    expect([seen.bodyBytes, seen.bodySha256]).toEqual([300_000, createHash("sha256").update(body).digest("hex")]);
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
    const minted = await mint();
    for (const method of ["GET", "DELETE", "POST", "PATCH"]) {
      const mark = `${minted.mark}-${method}`;
      expect((await call(minted, `/${mark}`, { method })).status).toBe(200);
      const seen = await seenOnce(mark);
      expect([seen.method, seen.headers["authorization"]]).toEqual([method, undefined]);
    }
  });

  it("of undeclared length arrives whole", async () => {
    const minted = await mint();
    const chunks = Array.from({ length: 20 }, () => randomBytes(10_000));
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const chunk of chunks) controller.enqueue(chunk);
        controller.close();
      },
    });
    const response = await call(minted, `/${minted.mark}`, { body, duplex: "half" } as RequestInit);
    expect(response.status).toBe(200);
    expect((await seenOnce(minted.mark)).bodySha256).toBe(
      createHash("sha256").update(Buffer.concat(chunks)).digest("hex"),
    );
  });

  it.each([204, 400, 401, 404, 405, 429, 500, 503])(
    "gets the server's %i as it is, and leaves no row",
    async (status) => {
      const minted = await mint(`status=${status}`);
      const response = await call(minted);
      expect([response.status, await response.text()]).toEqual([status, status === 204 ? "" : `status ${status}`]);
      expect(response.headers.get("mcp-session-id")).toBe("s");
      expect(response.headers.get("x-gateway-upstream-status")).toBe(String(status));
      const refused = await fixture.gateway.chat(minted, { body: { model: "no-such-model" } });
      await fixture.gateway.row(minted.tenant.id, refused.headers.get("x-gateway-request-id"));
      expect(await fixture.gateway.rows(minted.tenant.id)).toHaveLength(1);
    },
  );

  it("is never taken elsewhere", async () => {
    const minted = await mint("redirect");
    const response = await call(minted, "", { redirect: "manual" });
    expect([response.status, await response.text(), response.headers.get("location")]).toEqual([
      307,
      "elsewhere",
      null,
    ]);
    expect(mcp.seen("redirected")).toEqual([]);
  });
});

describe("a call is refused", () => {
  it("without a known caller, and for a server that is not there", async () => {
    const minted = await mint();
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
      request_type: "other",
      model: "",
    });
    for (const path of ["/mcp", "/mcp/"]) {
      const nowhere = await fetch(`${fixture.gateway.proxyUrl}${path}`, { headers: known });
      expect(await errorOf(nowhere)).toEqual([404, "unknown_endpoint", "unknown endpoint"]);
    }
  });

  it("at once after each change of server, key and tenant, and served at once again", async () => {
    const minted = await mint();
    const status = async (): Promise<unknown> => {
      const response = await call(minted);
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
      ["PATCH", `${tenant}/schedule`, {}, 200],
      ["PATCH", `${tenant}/allowlist`, { allowed_models: ["none"] }, 200],
      ["PUT", server, { name: `${minted.mark}-renamed` }, "mcp_server_not_found"],
      ["PUT", server, { name: minted.mark, upstream_url: `${mcp.url}/status=418` }, 418],
      ["DELETE", server, undefined, "mcp_server_not_found"],
    ] as const;
    expect(await status()).toBe(200);
    for (const [method, path, body, expected] of steps) {
      await admin.must(method, path, body);
      if (expected === 418) expect((await call(minted)).status).toBe(418);
      else expect([path, body, await status()]).toEqual([path, body, expected]);
    }
  });

  it("with an unsafe path before its size, above 16 MiB declared or not", async () => {
    const minted = await mint();
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
    const response = await call(minted, `/${minted.mark}`, { body, duplex: "half" } as RequestInit);
    expect(await errorOf(response)).toEqual([413, "request_too_large", "request body too large"]);
    expect(mcp.seen(minted.mark)).toEqual([]);
    const largest = await call(minted, `/${minted.mark}`, { body: new Uint8Array(16_777_216) });
    expect([largest.status, (await seenOnce(minted.mark)).bodyBytes]).toEqual([200, 16_777_216]);
  });

  it("with 502 when its server cannot be reached; the row says so", async () => {
    const minted = await mint("", { upstream_url: "http://127.0.0.1:9/mcp" });
    const response = await call(minted);
    const requestId = response.headers.get("x-gateway-request-id");
    expect(await errorOf(response)).toEqual([502, "mcp_upstream_failed", "mcp upstream request failed"]);
    expect(await fixture.gateway.row(minted.tenant.id, requestId)).toMatchObject({ status_code: 502, cost_usd: 0 });
  });
});

describe("an event stream", () => {
  it("arrives event by event, and ends when its server ends it", async () => {
    const minted = await mint("events");
    const response = await call(minted, `/${minted.mark}`, { method: "GET" });
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    expect(response.headers.get("x-accel-buffering")).toBe("no");
    const seen = await seenOnce(minted.mark);
    const reader = (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
    for (let at = 0; at < 5; at += 1) {
      seen.say(`id: ${at}\ndata: ${at}\n\n`);
      expect((await reader.read()).value).toBe(`id: ${at}\ndata: ${at}\n\n`);
    }
    seen.say(null);
    expect((await reader.read()).done).toBe(true);
    await reader.closed;
  });

  it("that its server cuts is cut for the client, too", async () => {
    const minted = await mint("cut");
    const response = await call(minted);
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow();
  });
});

describe("a client that leaves", () => {
  /** Opens a stream, reads what is said first, leaves, and lets the server go on. */
  async function leave(minted: McpMinted, method: string, first: string | null): Promise<SeenCall> {
    const client = new AbortController();
    const answered = call(minted, `/${minted.mark}`, { method, signal: client.signal });
    const seen = await seenOnce(minted.mark);
    if (first !== null) {
      const reader = ((await answered).body as ReadableStream<Uint8Array>).getReader();
      seen.say(first);
      await reader.read();
      client.abort();
      await reader.closed.catch(() => undefined);
    } else {
      client.abort();
      await answered.catch(() => undefined);
    }
    return seen;
  }

  it.each([
    ["in the middle of an answer", "events", "data: 1\n\n"],
    ["before an answer has begun", "silent", null],
  ])("%s does not cancel its call", async (_when, behaviour, first) => {
    const minted = await mint(behaviour);
    const seen = await leave(minted, "POST", first);
    // One that leaves later is noticed: so was this one.
    const later = await leave(await mint("events"), "GET", "data: 1\n\n");
    await waitFor(
      () => later,
      ({ cutOff }) => cutOff,
    );
    expect(seen.cutOff).toBe(false);
    seen.say("data: 2\n\n");
    seen.say(null);
    await waitFor(
      () => seen,
      ({ answered, cutOff }) => answered || cutOff,
    );
    expect([seen.answered, seen.cutOff]).toEqual([true, false]);
  });

  it.each([
    ["a stream that it listened to", "GET", "data: 1\n\n"],
    ["an answer that can be resumed", "POST", "id: 1\ndata: 1\n\n"],
  ])("lets go of %s at once", async (_what, method, first) => {
    const seen = await leave(await mint("events"), method, first);
    await waitFor(
      () => seen,
      ({ cutOff }) => cutOff,
    );
  });
});

it("calls are counted by server and status class", async () => {
  const minted = await mint();
  const failing = await mint("status=503");
  await (await call(minted)).text();
  await (await call(minted)).text();
  await (await call(failing)).text();
  const samples = async (): Promise<readonly string[]> => {
    const text = await (await fetch(`${inject("metricsUrl")}/metrics`)).text();
    return text.split("\n").filter((line) => line.startsWith("gateway_mcp_requests_total{"));
  };
  const shown = await waitFor(samples, (lines) => lines.some((line) => line.includes(failing.mark)));
  expect(shown.filter((line) => line.includes(minted.mark) || line.includes(failing.mark)).sort()).toEqual(
    [
      `gateway_mcp_requests_total{server="${minted.mark}",status="2xx",cell="local"} 2`,
      `gateway_mcp_requests_total{server="${failing.mark}",status="5xx",cell="local"} 1`,
    ].sort(),
  );
});
