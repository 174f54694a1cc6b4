/**
 * The older transport of MCP through the gateway, with the official client and server: the address for messages is the
 * gateway's, and its session is the tenant's (docs/rules/mcp.md#older-transport).
 */
import { createServer } from "node:http";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { describe, expect, it } from "vitest";
import { listen } from "../../infra/local/http/listen.ts";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { jsonAnswer, type SinkAnswer, startHttpSink } from "../harness/http-sink.ts";
import { useMcp } from "../harness/mcp-fixture.ts";
import { useStarted } from "../harness/use-started.ts";

const fixture = useGateway();
const mcp = useMcp(fixture);
const server = useStarted(startOlderServer);
const sink = useStarted(startHttpSink);

/** A server of the official SDK: it listens at /sse and takes messages at /messages. */
async function startOlderServer() {
  const transports = new Map<string, SSEServerTransport>();
  const queries: string[] = [];
  const http = createServer((request, response) => {
    const url = new URL(request.url ?? "", "http://server");
    queries.push(url.search);
    if (url.pathname === "/sse") {
      const mcp = new McpServer({ name: "older", version: "1" });
      mcp.registerTool("ping", {}, () => ({ content: [{ type: "text", text: "pong" }] }));
      const transport = new SSEServerTransport("/messages", response);
      transports.set(transport.sessionId, transport);
      void mcp.connect(transport);
      return;
    }
    const transport = transports.get(url.searchParams.get("sessionId") ?? "");
    if (url.pathname === "/messages" && transport !== undefined) void transport.handlePostMessage(request, response);
    else response.writeHead(404).end();
  });
  const listening = await listen(http, "127.0.0.1", 0);
  return {
    url: listening.url,
    queries,
    sessions: () => [...transports.keys()],
    close: async () => {
      http.closeAllConnections();
      await listening.close();
    },
  };
}

async function connect({ secret }: Minted, path: string): Promise<Client> {
  const client = new Client({ name: "test", version: "1" });
  const headers = { authorization: `Bearer ${secret}` };
  await client.connect(
    new SSEClientTransport(new URL(`${fixture.gateway.proxyUrl}${path}`), { requestInit: { headers } }),
  );
  return client;
}

async function statusOf({ secret }: Minted, path: string): Promise<number> {
  const init = { method: "POST", body: "{}", headers: { authorization: `Bearer ${secret}` } };
  const response = await fetch(`${fixture.gateway.proxyUrl}${path}`, init);
  await response.text();
  return response.status;
}

describe("a server of the older transport", () => {
  it.each([
    ["its page", "/sse", ""],
    ["its base", "", "/sse"],
  ])("serves the official client when it is registered by %s", async (_, own, rest) => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    await fixture.gateway.must("POST", "/mcp-servers", { name: minted.mark, upstream_url: `${server().url}${own}` });
    const client = await connect(minted, `/mcp/${minted.mark}${rest}`);
    expect(await client.callTool({ name: "ping" })).toMatchObject({ content: [{ text: "pong" }] });
    await client.close();
  });

  it("takes no message of another tenant for its session", async () => {
    const [own, other] = await Promise.all([
      fixture.gateway.mint(fixture.upstream.url),
      fixture.gateway.mint(fixture.upstream.url),
    ]);
    await fixture.gateway.must("POST", "/mcp-servers", { name: own.mark, upstream_url: `${server().url}/sse` });
    const known = new Set(server().sessions());
    const client = await connect(own, `/mcp/${own.mark}`);
    const [session] = server()
      .sessions()
      .filter((id) => !known.has(id));
    const messages = `/mcp/${own.mark}/messages?sessionId=${session}`;
    expect({ other: await statusOf(other, messages), own: await statusOf(own, messages) }).toEqual({
      other: 404,
      own: 400,
    });
    await client.close();
  });

  it("has the operator's parameters, which a client does not change", { tags: ["check"] }, async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    await fixture.gateway.must("POST", "/mcp-servers", {
      name: minted.mark,
      upstream_url: `${server().url}/messages?readonly=true`,
    });
    for (const other of ["readOnly=false", "x=1;readonly=false", "%EF%BB%BFreadonly[0]=false"])
      expect({ other, status: await statusOf(minted, `/mcp/${minted.mark}?${other}`) }).toEqual({ other, status: 400 });
    expect(await statusOf(minted, `/mcp/${minted.mark}?x=${minted.mark}`)).toBe(404);
    expect(server().queries.filter((query) => /readonly(?!=true)/i.test(query) || query.includes(minted.mark))).toEqual(
      [`?readonly=true&x=${minted.mark}`],
    );
  });

  it("may take messages at its own address, and write the type of its stream in any way", {
    tags: ["check"],
  }, async () => {
    const answer: SinkAnswer = {
      status: 200,
      headers: { "content-type": "Text/Event-Stream" },
      body: "event: endpoint\ndata: /old?key=operators&sessionId=older-one\n\n",
    };
    sink().answer = ({ method }) => (method === "GET" ? answer : jsonAnswer({}, 202));
    const [own, other] = await Promise.all([
      fixture.gateway.mint(fixture.upstream.url),
      fixture.gateway.mint(fixture.upstream.url),
    ]);
    const upstream_url = `${new URL(sink().url).origin}/old?key=operators`;
    await fixture.gateway.must("POST", "/mcp-servers", { name: own.mark, upstream_url });
    const headers = { authorization: `Bearer ${own.secret}` };
    const listened = await fetch(`${fixture.gateway.proxyUrl}/mcp/${own.mark}`, { headers });
    const messages = `/mcp/${own.mark}?sessionId=older-one`;
    expect({ text: await listened.text(), buffering: listened.headers.get("x-accel-buffering") }).toEqual({
      text: `event: endpoint\ndata: ${messages}\n\n`,
      buffering: "no",
    });
    expect({ other: await statusOf(other, messages), own: await statusOf(own, messages) }).toEqual({
      other: 404,
      own: 202,
    });
  });

  it("has its stream ended at an address that is as long as an attack", { tags: ["check"] }, async () => {
    const minted = await mcp.mint("events");
    const response = await mcp.call(minted, `/${minted.mark}`, { method: "GET" });
    const seen = await mcp.seenOnce(minted.mark);
    seen.say(`event: endpoint\ndata: /mcp/events/messages?${"a=b&".repeat(200_000)}\n\n`);
    expect(await response.text().catch(() => "broken off")).toBe("broken off");
  });

  it("has every address replaced that it names, and its stream ends at one that is not its own", {
    tags: ["check"],
  }, async () => {
    const minted = await mcp.mint("events");
    const response = await mcp.call(minted, `/${minted.mark}`, { method: "GET" });
    const seen = await mcp.seenOnce(minted.mark);
    const own = "/mcp/events/messages?sessionId=one";
    seen.say(`data: first\n\nevent: endpoint\ndata: ${own}\n\nevent: endpoint\nda`);
    seen.say(`ta: ${own}\n\n`);
    const named = `event: endpoint\ndata: /mcp/${minted.server.name}/messages?sessionId=one\n\n`;
    const expected = `data: first\n\n${named}${named}`;
    let text = "";
    const ended = await (async () => {
      for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
        text += piece;
        if (text === expected) seen.say("event: x\ndata: http://elsewhere.test/messages\nevent: endpoint\n\n");
      }
    })().catch(() => "broken off");
    expect({ ended, text }).toEqual({ ended: "broken off", text: expected });
  });
});
