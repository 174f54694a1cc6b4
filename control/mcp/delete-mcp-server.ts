/**
 * Removes an MCP server; the next call to it is 404. Models that name the server keep its name
 * (docs/rules/mcp.md#registry).
 */
import { eq } from "drizzle-orm";
import { mcpServers } from "../db/schema/mcp-servers.ts";
import type { VerbContext, Written } from "../kernel/context.ts";
import { parseId } from "../kernel/parse.ts";
import { write } from "../kernel/write.ts";
import { lockMcpServer, mcpServerRecord } from "./mcp-server-record.ts";

/** Throws 404. */
export async function deleteMcpServer(ctx: VerbContext, id: string): Promise<Written<null>> {
  const serverId = parseId(id);
  return await write(ctx, async (tx, journal) => {
    const before = await lockMcpServer(tx, serverId);
    ctx.checkRecord?.(mcpServerRecord(before));
    const { name } = before;
    await tx.delete(mcpServers).where(eq(mcpServers.id, serverId));
    journal.audit({ action: "delete_mcp_server", entityType: "mcp_server", entityId: serverId, detail: { name } });
    journal.mcpServerChanged(name);
    return null;
  });
}
