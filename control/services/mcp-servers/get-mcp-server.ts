/**
 * Reads one MCP server.
 */
import { eq } from "drizzle-orm";
import { GatewayError } from "../../../shared/errors.ts";
import type { McpServer } from "../../../shared/schema/mcp-server.ts";
import { mcpServers } from "../../db/schema/mcp-servers.ts";
import type { VerbContext } from "../context.ts";
import { parseId } from "../parse.ts";
import { inDatabase } from "../write.ts";
import { mcpServerRecord } from "./mcp-server-record.ts";

/** Throws 404. */
export async function getMcpServer(ctx: VerbContext, id: string): Promise<McpServer> {
  const serverId = parseId(id);
  const [row] = await inDatabase(async () => ctx.db.select().from(mcpServers).where(eq(mcpServers.id, serverId)));
  if (row === undefined) throw new GatewayError("not_found");
  return mcpServerRecord(row);
}
