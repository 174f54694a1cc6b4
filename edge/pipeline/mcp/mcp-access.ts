/**
 * The caller and the MCP server of a call, as the Cell knows both now: a call to an MCP server is never admitted, so no
 * later step would notice that a copy in memory is outdated (docs/rules/freshness.md#revisions). Refusals in the order
 * of docs/rules/errors.md#refusal-order.
 */
import { GatewayError } from "../../../shared/errors.ts";
import type { McpServerRecord } from "../../../shared/records.ts";
import type { RevItem } from "../../../shared/wire/internal.ts";
import type { Found } from "../../ports.ts";
import { authenticate } from "../authenticate/authenticate.ts";
import { principalRevs, readUntilCurrent } from "../authenticate/freshness.ts";
import type { Call } from "../call/context.ts";
import { type Authenticated, type Known, StageFailure, withKnown } from "../call/known.ts";
import { checkHead } from "../resolve-model/resolve-model.ts";

/** Largest body of a call (docs/rules/mcp.md#calls). */
export const MCP_BODY_MAX_BYTES = 16 * 1024 * 1024;

/** Longest text of a server's name in an error, in characters. */
const NAME_TEXT_MAX = 100;

/** A caller, and the enabled server that it calls. */
export interface McpAccess extends Authenticated {
  readonly server: McpServerRecord;
}

/** The input, with caller and server. Throws the failure of 400, 401, 403, 404, 413, or 503. */
export async function accessMcpServer(call: Call, known: Known, name: string): Promise<McpAccess> {
  const again = async (before: Known): Promise<Looked> => await lookUp(call, before, name);
  const looked = await readUntilCurrent(call, await again(known), (read) => revsOf(call, read), again);
  return await withKnown(looked, enabledServer(call, looked, name));
}

interface Looked extends Authenticated {
  readonly found: Found<McpServerRecord> | null;
}

async function lookUp(call: Call, known: Known, name: string): Promise<Looked> {
  const caller = await authenticate(call, known);
  return { ...caller, found: await withKnown(caller, call.ports.directory.mcpServer(name)) };
}

async function enabledServer(call: Call, looked: Looked, name: string): Promise<McpAccess> {
  checkHead(call);
  const declared = Number(call.request.headers.get("content-length") ?? Number.NaN);
  if (declared > MCP_BODY_MAX_BYTES) throw new GatewayError("request_too_large");
  let { found } = looked;
  if (found?.source === "memory" && !found.record.enabled)
    found = await call.ports.directory.mcpServer(name, { fresh: true });
  if (found === null) throw new GatewayError("mcp_server_not_found", { value: name.slice(0, NAME_TEXT_MAX) });
  const server = found.record;
  const access = { ...looked, mcpServer: server.name, server };
  if (!server.enabled) throw new StageFailure(new GatewayError("mcp_server_disabled"), access);
  return access;
}

function revsOf(call: Call, { principal, found }: Looked): readonly RevItem[] {
  const server: RevItem[] = found === null ? [] : [{ kind: "mcp", id: found.record.name, rev: found.record.rev }];
  return [...principalRevs(call, principal), ...server];
}
