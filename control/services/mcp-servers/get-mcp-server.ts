/**
 * Reads one MCP server.
 */
import { eq } from "drizzle-orm";
import { GatewayError } from "../../../shared/errors.ts";
import type { McpServer } from "../../../shared/schema/mcp-server.ts";
import { mcpServers } from "../../db/schema/mcp-servers.ts";
import type { VerbContext } from "../../kernel/context.ts";
import { parseId } from "../../kernel/parse.ts";
import { withDatabaseErrors } from "../../kernel/write.ts";
import { mcpServerRecord } from "../../resources/mcp-server-record.ts";

/** Throws 404. */
export async function getMcpServer(ctx: VerbContext, id: string): Promise<McpServer> {
  const serverId = parseId(id);
  const [row] = await withDatabaseErrors(async () =>
    ctx.db.select().from(mcpServers).where(eq(mcpServers.id, serverId)),
  );
  if (row === undefined) throw new GatewayError("not_found");
  return mcpServerRecord(row);
}
