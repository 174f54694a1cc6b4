/**
 * The table of contents of a call to an MCP server (decisions §29): who asks and which server, whose session, the
 * call, its answer. The full gate of key and tenant applies; there is no scheduler, no budget, no allow-list, and no usage
 * row but a refusal's.
 */
import { statusClass } from "../domain/cell/request-counters.ts";
import { type McpTarget, mcpTarget } from "../domain/mcp/mcp.ts";
import type { Call } from "./call/context.ts";
import { type PipelineInput, startCall } from "./call/start-call.ts";
import { accessMcpServer } from "./mcp/mcp-access.ts";
import { callMcpServer } from "./mcp/mcp-call.ts";
import { relayMcp } from "./mcp/mcp-relay.ts";
import { checkMcpSession, noteMcpSession } from "./mcp/mcp-session.ts";
import { answerCall } from "./reply/answer-call.ts";
import { readLevel } from "./reply/rate-limit.ts";
import { reportEnd } from "./report/report-end.ts";
import { withSpan } from "./report/spans.ts";
import { usageRowOf } from "./report/usage-row.ts";
import { runOther } from "./run.ts";

/** Answers a call to `/mcp/...`. Never throws. */
export async function runMcp(received: PipelineInput): Promise<Response> {
  const call = startCall(received);
  const target = mcpTarget(call.path);
  if (target === null) return await runOther(received);
  call.facts.mcpServer = "unknown";
  const response = await answerCall(call, async () => await answer(call, target));
  call.ports.tallies.count({
    metric: "gateway_mcp_requests_total",
    labels: [call.facts.mcpServer, statusClass(response.status)],
  });
  return response;
}

async function answer(call: Call, target: McpTarget): Promise<Response> {
  const server = await accessMcpServer(call, target.server, (name) => {
    call.facts.mcpServer = name;
  });
  const session = await checkMcpSession(call, server);
  const calling = withSpan(call, "mcp_request", async (span) => {
    span.set({ server: server.name });
    return await callMcpServer(call, server, target);
  });
  const [answered] = await Promise.all([calling, readLevel(call)]);
  await noteMcpSession(call, server, session, answered.response);
  const response = relayMcp(call, answered);
  reportEnd(call, usageRowOf(call, { statusCode: response.status, admission: "fast" }));
  return response;
}
