/** Addresses for messages in the stream of an MCP server (docs/rules/mcp.md#older-transport). */
import { beforeEach, expect, it, vi } from "vitest";
import { mcpServerOf, tenantOf } from "../../../test/harness/edge/pipeline/records.ts";
import { SECRET, TestPipeline } from "../../../test/harness/edge/pipeline/world.ts";
import { runMcp } from "./run-mcp.ts";

// The runtime has its own class; Node's does not differ in anything that matters here.
beforeEach(() => void vi.stubGlobal("IdentityTransformStream", TransformStream));

const eventOf = (id: string, pathname: string): string =>
  `event: endpoint\ndata: ${pathname}/messages?sessionId=${id}\n\n`;

/** The client's stream with these sessions, one event for each, and the sessions that it owns then. */
async function listened(sessions: readonly string[], written = eventOf) {
  const world = new TestPipeline();
  world.mcpServer = mcpServerOf();
  const { pathname } = new URL(world.mcpServer.upstream_url);
  const events = sessions.map((id) => written(id, pathname)).join("");
  world.upstream = async () => new Response(events, { headers: { "content-type": "text/event-stream" } });
  const init = { method: "GET", headers: { authorization: `Bearer ${SECRET}` }, body: null };
  const response = await runMcp(world.received(init, "/mcp/tools"), { server: "tools", rest: "" });
  const text = await response.text().catch(() => "broken off");
  const own = [...world.mcpSessions.known].flatMap(([id, tenant]) => (tenant === tenantOf().id ? [id] : []));
  return { text, own };
}

it("a stream may name a few addresses, each as often as it wants", async () => {
  const ids = ["a", "b", "a", "c", "a", "d", "a"];
  const { text, own } = await listened(ids);
  expect(text.match(/sessionId=\w/g)).toEqual(ids.map((id) => `sessionId=${id}`));
  expect(own).toEqual(expect.arrayContaining(["a", "b", "c", "d"]));
});

const many = (count: number): string[] => Array.from({ length: count }, (_, at) => `s${at}`);

it.each([
  ["many addresses", many(20_000)],
  ["an address with many sessions", [many(400).join("&sessionId=")]],
  ["an address of more than 8 KiB", [`a&${"a=b&".repeat(2_048)}`]],
])("a stream that names %s ends, and makes no sessions of them", async (_, sessions) => {
  const { text, own } = await listened(sessions);
  expect({ text, own: own.length }).toEqual({ text: "broken off", own: 0 });
});

it.each(["\v", "\f", "\x1c", "\x85", "\u2028"])(
  "a stream with an address that only some clients read ends: %j",
  async (end) => {
    const hidden = (id: string, path: string): string =>
      `data: x${end}event: endpoint${end}data: ${path}/m?sessionId=${id}\n\n`;
    expect(await listened(["a"], hidden)).toEqual({ text: "broken off", own: [] });
  },
);
