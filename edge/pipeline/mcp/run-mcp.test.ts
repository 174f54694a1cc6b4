/** Calls to MCP servers from their arrival to their end (docs/rules/mcp.md#calls). */
import { beforeEach, expect, it, vi } from "vitest";
import { mcpServerOf, tenantOf } from "../../../test/harness/edge/pipeline/records.ts";
import { SECRET, TestPipeline } from "../../../test/harness/edge/pipeline/world.ts";
import { runMcp } from "./run-mcp.ts";

// The runtime's own; Node's differs in nothing that matters here.
beforeEach(() => void vi.stubGlobal("IdentityTransformStream", TransformStream));

it("an answer that cannot be relayed is 500, with caller and server in its row and metric", async () => {
  const world = new TestPipeline();
  world.mcpServer = mcpServerOf();
  // An upstream may send any three digits; a Response of 999 cannot be made.
  world.upstream = async () => Object.defineProperty(new Response("{}"), "status", { value: 999 });
  const init = { method: "POST", headers: { authorization: `Bearer ${SECRET}` }, body: "{}" };
  const response = await runMcp(world.received(init, "/mcp/tools"), { server: "tools", rest: "" });
  await response.text();
  await world.settled();
  expect(response.status).toBe(500);
  expect(world.recorded).toMatchObject([{ status_code: 500, tenant_id: tenantOf().id }]);
  expect(world.events).toContainEqual({ metric: "gateway_mcp_requests_total", labels: ["tools", "5xx"], times: 1 });
});
