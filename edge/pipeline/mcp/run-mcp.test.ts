/** Calls to MCP servers from their arrival to their end (docs/rules/mcp.md#calls). */
import { beforeEach, expect, it, vi } from "vitest";
import { mcpServerOf, tenantOf } from "../../../test/harness/edge/pipeline/records.ts";
import { SECRET, TestPipeline } from "../../../test/harness/edge/pipeline/world.ts";
import { runMcp } from "./run-mcp.ts";

// The runtime's own; Node's differs in nothing that matters here.
beforeEach(() => void vi.stubGlobal("IdentityTransformStream", TransformStream));

it.each([
  [999, "answered 999, which is no status of an answer"],
  [101, "answered 101, which is no status of an answer"],
  [401, "answered 401: it refuses the credential of its registration"],
])("an answer of %i is 502, and its cause is in log, alert, row and metric", async (status, cause) => {
  const world = new TestPipeline();
  world.mcpServer = mcpServerOf();
  // An upstream may send any three digits; a Response of 999 cannot be made.
  world.upstream = async () => Object.defineProperty(new Response("{}"), "status", { value: status });
  const init = { method: "POST", headers: { authorization: `Bearer ${SECRET}` }, body: "{}" };
  const response = await runMcp(world.received(init, "/mcp/tools"), { server: "tools", rest: "" });
  const { error } = (await response.json()) as { error: { code: string } };
  await world.settled();
  expect({ status: response.status, code: error.code }).toEqual({ status: 502, code: "mcp_upstream_failed" });
  expect(world.recorded).toMatchObject([{ status_code: 502, tenant_id: tenantOf().id }]);
  expect(world.alerts).toMatchObject([{ issueKey: "mcp_upstream_request_failed:tools", detail: `tools: ${cause}` }]);
  expect(JSON.stringify(world.logged)).toContain(cause);
  expect(world.events).toContainEqual({ metric: "gateway_mcp_requests_total", labels: ["tools", "5xx"], times: 1 });
});
