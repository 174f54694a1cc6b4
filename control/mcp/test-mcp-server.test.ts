/**
 * Trying a registered MCP server (docs/rules/mcp.md#test), against the official SDK and against servers that misbehave.
 *
 * @module-tag check
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { McpServer, McpServerTest } from "../../shared/schema/mcp-server.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import { type ReferenceServer, startReferenceServer } from "../../test/harness/mcp-reference/server.ts";
import { testMcpServer } from "./test-mcp-server.ts";

const SECRET = "Bearer upstream-credential";
let control: TestControl;
let reference: ReferenceServer;
let odd: Server;
let made = 0;

beforeAll(async () => {
  control = await startControl();
  reference = await startReferenceServer();
  odd = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => oddly(request, response, body));
  });
  await new Promise<void>((resolve) => odd.listen(0, "127.0.0.1", resolve));
});
afterAll(async () => {
  await control.close();
  await reference.close();
  odd.closeAllConnections();
  await new Promise((resolve) => odd.close(resolve));
});

const seen: { readonly url: string; readonly method: string; readonly headers: IncomingMessage["headers"] }[] = [];

/** Resolves when the ping of the stream is answered. */
const answered = Promise.withResolvers<void>();

/** What the odd server lists, by the path. */
const LISTS: Readonly<Record<string, unknown>> = {
  "/names": {
    tools: [{ name: "red\u001b[31m\nline\u202e" }, { name: "x".repeat(500) }, { name: "" }, { name: 7 }, null, "tool"],
  },
  "/pages": { tools: [{ name: "again" }], nextCursor: "same" },
  "/many": { tools: Array.from({ length: 400 }, (_, at) => ({ name: `t${at}` })) },
  "/nothing": { tools: "none" },
  "/pollute": JSON.parse('{"tools": [{"name": "fine", "__proto__": {"polluted": true}}]}'),
};

function oddly({ url = "", method = "", headers }: IncomingMessage, response: ServerResponse, body: string): void {
  seen.push({ url, method, headers });
  if (method === "DELETE") return void response.writeHead(405).end();
  const { id, method: asked, result } = JSON.parse(body) as { id?: unknown; method?: string; result?: unknown };
  if (id === "p" && result !== undefined) answered.resolve();
  if (id === undefined || asked === undefined) return void response.writeHead(202).end();
  const reply = (result: unknown): void => {
    response.writeHead(200, { "content-type": "application/json", "mcp-session-id": "s-1" });
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
  };
  if (url === "/http500") return void response.writeHead(500).end(SECRET);
  if (url === "/redirect") return void response.writeHead(307, { location: reference.url }).end();
  if (url === "/html") return void response.writeHead(200, { "content-type": "text/html" }).end("<html>");
  if (url === "/wrong-id")
    return void response.writeHead(200).end(JSON.stringify({ jsonrpc: "2.0", id: 99, result: {} }));
  if (asked === "initialize") {
    reply({ protocolVersion: "2025-03-26", capabilities: {} });
    return;
  }
  if (url === "/large") return void response.writeHead(200).end("x".repeat(3 * 1024 * 1024));
  if (url === "/deep") return void response.writeHead(200).end("[".repeat(500_000));
  if (url === "/stream") {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(`: hello\n\ndata: {"jsonrpc":"2.0","id":"p","method":"ping"}\n\n`);
    // The reply waits for the answer to the ping, and the stream stays open behind it.
    void answered.promise.then(() =>
      response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", id, result: { tools: [{ name: "streamed" }] } })}\n\n`),
    );
    return;
  }
  if (url === "/no-tools")
    return void response.writeHead(200).end(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32_601 } }));
  reply(LISTS[url]);
}

async function tried(url: string, auth_header?: string): Promise<McpServerTest> {
  made += 1;
  const body = { name: `s${made}`, upstream_url: url, ...(auth_header === undefined ? {} : { auth_header }) };
  const { id } = (await (await control.request("POST", "/api/v1/mcp-servers", body)).json()) as McpServer;
  const answer = await control.request("POST", `/api/v1/mcp-servers/${id}/test`);
  expect(answer.status).toBe(200);
  return (await answer.json()) as McpServerTest;
}

const oddUrl = (path: string): string => `http://127.0.0.1:${(odd.address() as AddressInfo).port}${path}`;

describe("trying an MCP server", () => {
  it("lists the tools of a server of the official SDK, and ends the session", async () => {
    const result = await tried(reference.url, SECRET);
    expect(result).toMatchObject({ ok: true, error: null });
    expect(result.tools.length).toBeGreaterThan(3);
    expect(reference.sessions.size).toBe(0);
    expect(JSON.stringify(result)).not.toContain("upstream-credential");
  });

  it("sends the stored credential and the session, and nothing of the administrator's", async () => {
    await tried(oddUrl("/many"), SECRET);
    const calls = seen.filter(({ url }) => url === "/many");
    expect(calls.map(({ method, headers }) => [method, headers.authorization, headers["mcp-session-id"]])).toEqual([
      ["POST", SECRET, undefined],
      ["POST", SECRET, "s-1"],
      ["POST", SECRET, "s-1"],
      ["DELETE", SECRET, "s-1"],
    ]);
  });

  it.each([
    ["/many", Array.from({ length: 256 }, (_, at) => `t${at}`)],
    ["/names", ["red [31m line ", "x".repeat(200)]],
    ["/pages", ["again", "again"]],
    ["/stream", ["streamed"]],
    ["/no-tools", []],
    ["/pollute", ["fine"]],
  ])("shows what is safe to show: %s", async (path, tools) => {
    expect(await tried(oddUrl(path))).toMatchObject({ ok: true, tools, error: null });
  });

  it.each([
    ["/http500", "http 500"],
    ["/redirect", "http 307"],
    ["/html", "no reply to the request"],
    ["/wrong-id", "no reply to the request"],
    ["/nothing", "no list of tools"],
    ["/large", "answer too large"],
    ["/deep", "answer too large"],
  ])("says what is wrong in its own words: %s", async (path, error) => {
    expect(await tried(oddUrl(path), SECRET)).toMatchObject({ ok: false, tools: [], error });
  });

  it("says that no server listens, and answers 404 for a server that is not registered", async () => {
    expect(await tried("http://127.0.0.1:9/mcp")).toMatchObject({ ok: false, error: "connect failed" });
    const unknown = "/api/v1/mcp-servers/7a1f4c1e-6d0b-4f57-9a53-2b8f0f1c9d3e/test";
    expect((await control.request("POST", unknown)).status).toBe(404);
  });

  it("calls no address that is blocked now, and says when the credential does not open", async () => {
    made += 1;
    const body = { name: `s${made}`, upstream_url: oddUrl("/never"), auth_header: SECRET };
    const { id } = (await (await control.request("POST", "/api/v1/mcp-servers", body)).json()) as McpServer;
    const { ctx } = control;
    const { signal } = new AbortController();
    const narrow = { ...ctx, ssrf: { blockPrivate: true, allowedCidrs: [] } };
    expect(await testMcpServer(narrow, id, signal)).toMatchObject({ ok: false, error: "address blocked" });
    expect(await testMcpServer({ ...ctx, sealKey: undefined }, id, signal)).toMatchObject({
      ok: false,
      error: "credential does not open",
    });
    expect(seen.filter(({ url }) => url === "/never")).toEqual([]);
  });
});
