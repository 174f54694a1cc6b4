/**
 * A session of an MCP server is its tenant's alone (docs/rules/mcp.md#sessions): the server gives it an id, and
 * everybody whom the gateway lets reach the server speaks to it as the same caller, so that the id by itself would open
 * it to every tenant. Ids travel unchanged; whose they are is remembered when the server gives them, and as long as
 * they are used.
 */
import { GatewayError } from "../../../shared/errors.ts";
import type { McpServerRecord } from "../../../shared/records.ts";
import { sessionIdsOf } from "../../domain/mcp/mcp-session.ts";
import type { Call } from "../call/context.ts";
import type { McpAccess } from "./mcp-access.ts";

/** The sessions that a call names, and whose call it is. */
interface McpSession {
  readonly tenantId: string;
  readonly ids: readonly string[];
}

/**
 * What the call names, when none of it is another tenant's; ids without a known tenant pass. Throws 404
 * `mcp_session_not_found`, at which clients begin a session of their own.
 */
export async function checkMcpSession(call: Call, { server, principal }: McpAccess): Promise<McpSession> {
  const tenantId = principal.tenant.id;
  const ids = sessionIdsOf(call.request.headers);
  if (ids === null) throw new GatewayError("mcp_session_not_found");
  if (ids.length === 0) return { tenantId, ids };
  const { mcpSessions } = call.ports;
  const owners = await mcpSessions.owners(server.name, ids);
  if (owners.some((owner) => owner !== tenantId)) throw new GatewayError("mcp_session_not_found");
  if (owners.length > 0 && call.request.method !== "DELETE") call.waitUntil(mcpSessions.renew(server.name, ids));
  return { tenantId, ids };
}

/**
 * What the server's answer says of sessions: an id that it gives is the tenant's from then on, before the tenant gets to see
 * it; what it ended (a DELETE that it answered with a 2xx) belongs to no tenant any more. Never throws.
 */
export async function noteMcpSession(
  call: Call,
  server: McpServerRecord,
  session: McpSession,
  answer: Response,
): Promise<void> {
  if (!answer.ok) return;
  const { mcpSessions } = call.ports;
  if (call.request.method === "DELETE") {
    if (session.ids.length > 0) await mcpSessions.forget(server.name, session.ids);
    return;
  }
  const given = sessionIdsOf(answer.headers) ?? [];
  if (given.length > 0) await mcpSessions.remember(server.name, given, session.tenantId);
}
