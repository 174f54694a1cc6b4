/**
 * Who asks, and for which MCP server, as the Cell knows both now: nothing else would notice that a copy in memory is out of
 * date, for a call to an MCP server is never admitted (decisions §32.4). Refusals in the order of decisions §17.3.
 */
import { GatewayError } from "../../../shared/errors.ts";
import type { RevItem } from "../../../shared/internal.ts";
import type { McpServerRecord } from "../../../shared/records.ts";
import type { Found } from "../../ports.ts";
import { authenticate } from "../access/authenticate.ts";
import { principalRevs, readUntilCurrent } from "../access/freshness.ts";
import { checkPath } from "../access/resolve-model.ts";
import type { Call, Principal } from "../call/context.ts";

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
  const again = async (): Promise<Looked> => await lookUp(call, name);
  let { found } = await readUntilCurrent(call, await again(), (looked) => revsOf(call, looked), again);
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

interface Looked {
  readonly principal: Principal;
  readonly found: Found<McpServerRecord> | null;
}

async function lookUp(call: Call, name: string): Promise<Looked> {
  const principal = await authenticate(call);
  return { principal, found: await call.ports.directory.mcpServer(name) };
}

function revsOf(call: Call, { principal, found }: Looked): readonly RevItem[] {
  const server: RevItem[] = found === null ? [] : [{ kind: "mcp", id: found.record.name, rev: found.record.rev }];
  return [...principalRevs(call, principal), ...server];
}
