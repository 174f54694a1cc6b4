/**
 * The table of contents of a call to an MCP server (decisions §29): who asks and which server, whose session, the
 * call, its answer. The full gate of key and tenant applies; there is no scheduler, no budget, no allow-list, and no usage
 * row but a refusal's.
 */
import { statusClass } from "../domain/cell/counters.ts";
import { type McpTarget, mcpTarget } from "../domain/mcp.ts";
import type { Call } from "./context.ts";
import { accessMcpServer } from "./mcp-access.ts";
import { callMcpServer } from "./mcp-call.ts";
import { relayMcp } from "./mcp-relay.ts";
import { checkMcpSession, noteMcpSession } from "./mcp-session.ts";
import { readLevel } from "./rate-limit.ts";
import { type Received, receive } from "./receive.ts";
import { answerFor } from "./refuse.ts";
import { runOther } from "./run.ts";
import { tellEnd } from "./tell-end.ts";
import { traced } from "./traced.ts";
import { rowOf } from "./usage-record.ts";

/** Answers a call to `/mcp/...`. Never throws. */
export async function runMcp(received: Received): Promise<Response> {
  const call = receive(received);
  const target = mcpTarget(call.path);
  if (target === null) return await runOther(received);
  call.facts.mcpServer = "unknown";
  const response = await answerFor(call, async () => await answer(call, target));
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
  const calling = traced(call, "mcp_request", async (span) => {
    span.set({ server: server.name });
    return await callMcpServer(call, server, target);
  });
  const [answered] = await Promise.all([calling, readLevel(call)]);
  await noteMcpSession(call, server, session, answered.response);
  const response = relayMcp(call, answered);
  tellEnd(call, rowOf(call, { statusCode: response.status, admission: "fast" }));
  return response;
}
