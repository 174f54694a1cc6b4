/**
 * A session of an MCP server belongs to one tenant (docs/rules/mcp.md#sessions). The server gives it an id, and every
 * tenant that may reach the server reaches it as the same caller, so that the id alone would open the session to every
 * tenant. Ids are forwarded unchanged; the tenant of an id is remembered when the server gives it, and for as long as
 * it is used.
 */
import { GatewayError } from "../../../shared/errors.ts";
import type { McpServerRecord } from "../../../shared/records.ts";
import { givenIds, sessionIdsOf } from "../../domain/tools/mcp-session.ts";
import type { Call } from "../call/context.ts";
import type { McpAccess } from "./mcp-access.ts";

/** The sessions that a call names, and the tenant of the call. */
interface McpSession {
  readonly tenantId: string;
  readonly ids: readonly string[];
}

/**
 * The session ids that the call names, when none belongs to another tenant; ids without a known tenant pass. Throws 404
 * `mcp_session_not_found`, after which clients start a new session, and 503 while their owners cannot be read.
 */
export async function checkMcpSession(call: Call, { server, principal }: McpAccess): Promise<McpSession> {
  const tenantId = principal.tenant.id;
  const ids = sessionIdsOf(call.request.headers, call.search);
  if (ids === null) throw new GatewayError("mcp_session_not_found");
  if (ids.length === 0) return { tenantId, ids };
  const { mcpSessions } = call.ports;
  const owners = await ownersOf(call, server.name, ids);
  if (owners.some((owner) => owner !== tenantId)) throw new GatewayError("mcp_session_not_found");
  if (owners.length > 0 && call.request.method !== "DELETE")
    call.waitUntil(mcpSessions.renew(server.name, ids, tenantId));
  return { tenantId, ids };
}

/** Represents a page of a server among its sessions: such a page is known once the server has named it. */
export function pageId(rest: string): string {
  return `page ${rest}`;
}

/** The tenants that sessions are known to belong to. Throws 503 while they cannot be read. */
export async function ownersOf(call: Call, server: string, ids: readonly string[]): Promise<readonly string[]> {
  return await call.ports.mcpSessions.owners(server, ids).catch((cause: unknown) => {
    throw new GatewayError("key_store_unavailable", { cause, headers: { "retry-after": "1" } });
  });
}

/**
 * Records the effect of the server's answer on sessions: an id that it gives, with any status, belongs to the tenant, even
 * before the tenant gets it; a session that it ended (a DELETE that it answered with a 2xx) belongs to no tenant any more.
 * Never throws.
 */
export async function noteMcpSession(
  call: Call,
  server: McpServerRecord,
  session: McpSession,
  answer: Response,
): Promise<void> {
  const ended = answer.ok && call.request.method === "DELETE" ? session.ids : [];
  if (ended.length > 0) await call.ports.mcpSessions.forget(server.name, ended, session.tenantId);
  // an id that the client chose, and the server repeats, is not given by the server
  const given = givenIds(answer.headers).filter((id) => !ended.includes(id) && !session.ids.includes(id));
  await ownIfNobodys(call, server.name, given, session.tenantId);
}

/** Records ids for the tenant to whom a server gives them, unless one is another tenant's: the first owner keeps it. Never throws. */
export async function ownIfNobodys(
  call: Call,
  server: string,
  ids: readonly string[],
  tenantId: string,
): Promise<void> {
  if (ids.length === 0) return;
  const { mcpSessions } = call.ports;
  const owners = await mcpSessions.owners(server, ids).catch(() => []);
  if (owners.every((owner) => owner === tenantId)) await mcpSessions.remember(server, ids, tenantId);
}
