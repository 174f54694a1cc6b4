/**
 * Connects to a registered MCP server, as a help for who registers it: nothing is stored, and nothing that fails is an error
 * of the request (docs/rules/mcp.md#test).
 */

import { unseal } from "../../shared/crypto/seal.ts";
import { GatewayError } from "../../shared/errors.ts";
import type { McpServerTest } from "../../shared/schema/mcp-server.ts";
import type { VerbContext } from "../kernel/context.ts";
import { OutboundError } from "../kernel/outbound/bounded-fetch.ts";
import { listMcpTools } from "../kernel/outbound/mcp-tools.ts";
import { checkUpstreamAddress } from "../kernel/upstream-address.ts";
import { mcpServerRow } from "./read-mcp-servers.ts";

const TIMEOUT_MS = 10_000;

/** What the server answers. `signal`: the caller has left. Throws 404. */
export async function testMcpServer(ctx: VerbContext, id: string, signal: AbortSignal): Promise<McpServerTest> {
  const row = await mcpServerRow(ctx, id);
  const beganMs = performance.now();
  const finished = (result: Pick<McpServerTest, "ok" | "tools" | "error">): McpServerTest => ({
    ...result,
    latency_ms: Math.round(performance.now() - beganMs),
  });
  const failed = (error: string): McpServerTest => finished({ ok: false, tools: [], error });
  let authorization: string | null;
  try {
    authorization = row.auth_header === null ? null : await unseal(row.auth_header, ctx.sealKey);
  } catch {
    return failed("credential does not open");
  }
  try {
    await checkUpstreamAddress(ctx, "upstream_url", row.upstream_url);
    const server = { url: row.upstream_url, authorization, policy: ctx.ssrf, timeoutMs: TIMEOUT_MS, signal };
    return finished({ ok: true, tools: [...(await listMcpTools(server))], error: null });
  } catch (error) {
    if (error instanceof OutboundError) return failed(error.message);
    // A stored address that the policy of today would not accept.
    if (error instanceof GatewayError && error.status === 400) return failed("address blocked");
    throw error;
  }
}
