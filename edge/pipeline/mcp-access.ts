/**
 * Who asks, and for which MCP server, as the Cell knows both now: nothing else would notice that a copy in memory is out of
 * date, for a call to an MCP server is never admitted (decisions §32.4). Refusals in the order of decisions §17.3.
 */
import { GatewayError } from "../../shared/errors.ts";
import type { RevItem } from "../../shared/internal.ts";
import type { McpServerRecord } from "../../shared/records.ts";
import type { Found } from "../ports.ts";
import { authenticate } from "./authenticate.ts";
import { principalRevs } from "./authenticate-now.ts";
import type { Call } from "./context.ts";
import { checkPath } from "./resolve-model.ts";

/** Largest body of a call (specification "Limits"). */
export const MCP_BODY_MAX_BYTES = 16 * 1024 * 1024;

/** Text of a server's name in an error, in characters. */
const NAME_TEXT_MAX = 100;

/** The enabled server; `onKnown` is told the name of one that is registered. Throws 400, 401, 403, 404, 413, or 503. */
export async function accessMcpServer(
  call: Call,
  name: string,
  onKnown: (name: string) => void,
): Promise<McpServerRecord> {
  let found = await lookUp(call, name);
  let stale = await staleOf(call, found);
  if (stale.length > 0) {
    call.ports.directory.forget(stale);
    found = await lookUp(call, name);
    stale = await staleOf(call, found);
  }
  if (stale.length > 0) throw new GatewayError("key_store_unavailable");
  checkPath(call);
  const declared = Number(call.request.headers.get("content-length") ?? Number.NaN);
  if (declared > MCP_BODY_MAX_BYTES) throw new GatewayError("request_too_large");
  if (found?.source === "memory" && !found.record.enabled)
    found = await call.ports.directory.mcpServer(name, { fresh: true });
  if (found === null) throw new GatewayError("mcp_server_not_found", { value: name.slice(0, NAME_TEXT_MAX) });
  onKnown(found.record.name);
  if (!found.record.enabled) throw new GatewayError("mcp_server_disabled");
  return found.record;
}

async function lookUp(call: Call, name: string): Promise<Found<McpServerRecord> | null> {
  await authenticate(call);
  return await call.ports.directory.mcpServer(name);
}

async function staleOf(call: Call, found: Found<McpServerRecord> | null): Promise<readonly RevItem[]> {
  const { principal } = call.facts;
  if (principal === null) return [];
  const server: RevItem[] = found === null ? [] : [{ kind: "mcp", id: found.record.name, rev: found.record.rev }];
  return await call.ports.admission.staleAmong([...principalRevs(call, principal), ...server]);
}
