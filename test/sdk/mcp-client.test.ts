/**
 * An application on the official MCP client, through the gateway: only its address and its credential are different.
 *
 * @module-tag check
 */
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  LoggingMessageNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it } from "vitest";
import type { McpServer } from "../../shared/schema/mcp-server.ts";
import { useGateway } from "../harness/fixture.ts";
import { startReferenceServer } from "../harness/mcp-reference/server.ts";
import { useStarted } from "../harness/use-started.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();
const reference = useStarted(startReferenceServer);

interface Connected {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly client: Client;
  readonly transport: StreamableHTTPClientTransport;
  readonly serverId: string;
}

async function connect(): Promise<Connected> {
  const { gateway, upstream } = fixture;
  const minted = await gateway.mint(upstream.url);
  const body = { name: minted.mark, upstream_url: reference().url };
  const { id: serverId } = await gateway.must<McpServer>("POST", "/mcp-servers", body);
  const url = `${gateway.proxyUrl}/mcp/${minted.mark}`;
  const headers = { authorization: `Bearer ${minted.secret}` };
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  const client = new Client({ name: "app", version: "1" }, { capabilities: { sampling: {}, elicitation: {} } });
  await client.connect(transport as Transport);
  return { url, headers, client, transport, serverId };
}

const said = (text: string) => ({ content: [{ type: "text", text }] });

describe("the MCP client", () => {
  it("lists and calls tools, reads resources and prompts, and ends its session", async () => {
    const { client, transport } = await connect();
    const { tools } = await client.listTools();
    expect(tools.map((tool) => tool.name)).toContain("test_simple_text");
    expect(await client.callTool({ name: "test_simple_text" })).toEqual(
      said("This is a simple text response for testing."),
    );
    expect(await client.readResource({ uri: "test://static-text" })).toMatchObject({
      contents: [{ text: "This is the content of the static text resource." }],
    });
    expect((await client.getPrompt({ name: "test_simple_prompt" })).messages).toHaveLength(1);
    const session = transport.sessionId ?? "";
    expect(reference().sessions.has(session)).toBe(true);
    await transport.terminateSession();
    expect(reference().sessions.has(session)).toBe(false);
    await client.close();
  });

  it("gets progress and logs while a tool runs, and requests for samples and input", async () => {
    const { client } = await connect();
    const heard: unknown[] = [];
    client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void heard.push(params.data));
    client.setRequestHandler(CreateMessageRequestSchema, () => ({
      model: "none",
      role: "assistant",
      content: { type: "text", text: "sampled" },
    }));
    client.setRequestHandler(ElicitRequestSchema, () => ({ action: "accept", content: { username: "u", email: "e" } }));
    await client.callTool({ name: "test_tool_with_logging" });
    expect(heard).toEqual(["Tool execution started", "Tool processing data", "Tool execution completed"]);
    const progress: number[] = [];
    await client.callTool({ name: "test_tool_with_progress" }, undefined, {
      onprogress: (step) => void progress.push(step.progress),
    });
    expect(progress).toEqual([0, 50, 100]);
    expect(await client.callTool({ name: "test_sampling", arguments: { prompt: "p" } })).toEqual(
      said("LLM response: sampled"),
    );
    expect(await client.callTool({ name: "test_elicitation", arguments: { message: "m" } })).toEqual(
      said('User response: <action=accept, content={"username":"u","email":"e"}>'),
    );
    await client.close();
  });

  it("comes back with Last-Event-ID for a result whose stream has ended", async () => {
    const { client } = await connect();
    expect(await client.callTool({ name: "test_reconnection" })).toEqual(said("reconnected"));
    await client.close();
  });

  it("comes back at once for a result whose stream it has lost", async () => {
    const { url, headers, client, transport } = await connect();
    const session = { "mcp-session-id": transport.sessionId ?? "", "mcp-protocol-version": "2025-11-25" };
    // The same request that the transport sends, on a connection that is cut in the middle of the answer.
    const lost = new AbortController();
    const response = await fetch(url, {
      method: "POST",
      headers: {
        ...headers,
        ...session,
        accept: "application/json, text/event-stream",
        "content-type": "application/json",
      },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 77,
        method: "tools/call",
        params: { name: "test_tool_with_logging" },
      }),
      signal: lost.signal,
    });
    const first = await (response.body as ReadableStream<Uint8Array>).getReader().read();
    const lastId = /^id: ?(.+)$/m.exec(new TextDecoder().decode(first.value))?.[1] ?? "";
    lost.abort();
    const resumed = await waitFor(
      async () => {
        const again = await fetch(url, {
          headers: { ...headers, ...session, accept: "text/event-stream", "last-event-id": lastId },
        });
        if (again.status !== 200) await again.body?.cancel();
        return again;
      },
      ({ status }) => status === 200,
    );
    const reader = (resumed.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (!text.includes('"id":77')) {
      const { done, value } = await reader.read();
      if (done) break;
      text += value;
    }
    expect(text).toContain("logged");
    await reader.cancel();
    await client.close();
  });

  it("is refused as soon as its server is disabled", async () => {
    const { client, serverId } = await connect();
    await client.listTools();
    await fixture.gateway.must("PUT", `/mcp-servers/${serverId}`, { enabled: false });
    await expect(client.listTools()).rejects.toThrow(/mcp server is disabled/);
    await client.close();
  });
});
