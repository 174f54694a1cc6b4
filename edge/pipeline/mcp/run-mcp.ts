/**
 * The steps of a call to an MCP server (docs/rules/mcp.md#calls): caller and server, the session's tenant, the call,
 * its answer. All gates of key and tenant apply; there is no scheduler, no budget and no allow-list, and its row costs
 * nothing.
 */
import { statusClass } from "../../domain/cell/request-counters.ts";
import type { McpTarget } from "../../domain/tools/mcp.ts";
import { watchCaller } from "../authenticate/watch-caller.ts";
import type { Call } from "../call/context.ts";
import { type CallAnswer, type Known, NOTHING_KNOWN, StageFailure, withKnown } from "../call/known.ts";
import { reportEnd } from "../call/report/report-end.ts";
import { withSpan } from "../call/report/spans.ts";
import { usageRowOf } from "../call/report/usage-row.ts";
import { answer } from "../receive/answer-call.ts";
import type { PipelineInput } from "../receive/start-call.ts";
import { readLevel } from "../reply/rate-limit.ts";
import { accessMcpServer } from "./mcp-access.ts";
import { callMcpServer } from "./mcp-call.ts";
import { withGatewayEndpoint } from "./mcp-endpoint.ts";
import { relayMcp } from "./mcp-relay.ts";
import { checkMcpSession, noteMcpSession } from "./mcp-session.ts";

/** The facts known before the server of a call has been found. */
const SERVER_UNKNOWN = { ...NOTHING_KNOWN, mcpServer: "unknown" };

/** Answers a call to `/mcp/...`; `target` is where its path leads. Never throws. */
export async function runMcp(received: PipelineInput, target: McpTarget): Promise<Response> {
  const toServer = async (call: Call, known: Known): Promise<CallAnswer> => await steps(call, known, target);
  const { response, known } = await answer(received, toServer, SERVER_UNKNOWN);
  received.ports.events.count({
    metric: "gateway_mcp_requests_total",
    labels: [known.mcpServer ?? "unknown", statusClass(response.status)],
  });
  return response;
}

async function steps(call: Call, known: Known, target: McpTarget): Promise<CallAnswer> {
  const access = await accessMcpServer(call, known, target.server);
  watchCaller(call, access, true);
  const session = await withKnown(access, checkMcpSession(call, access));
  const calling = withSpan(call, "mcp_request", async (span) => {
    span.set({ server: access.server.name });
    return await callMcpServer(call, access, target);
  });
  const reading = readLevel(call, access);
  const answered = await calling.catch(async (error: unknown) => {
    const failure = StageFailure.of(error, access);
    throw new StageFailure(failure.cause, { ...failure.known, level: await reading });
  });
  const served = { ...access, level: await reading, upstream: answered.upstream };
  try {
    await noteMcpSession(call, access.server, session, answered.response);
    const response = relayMcp(call, served, withGatewayEndpoint(call, access, target, answered));
    const row = usageRowOf(call, served, { statusCode: response.status, admission: "fast" });
    reportEnd(call, served, row);
    call.waitUntil(call.ports.admission.record(row));
    return { response, known: served };
  } catch (error) {
    answered.stop.abort();
    throw StageFailure.of(error, served);
  }
}
