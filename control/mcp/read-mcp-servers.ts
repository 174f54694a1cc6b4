/**
 * Reads one MCP server, and lists MCP servers, oldest first (docs/rules/management-api.md#lists).
 */
import { eq, getTableColumns } from "drizzle-orm";
import { GatewayError } from "../../shared/errors.ts";
import type { McpServer } from "../../shared/schema/mcp-server.ts";
import { type McpServerRow, mcpServers } from "../db/schema/mcp-servers.ts";
import type { Page, VerbContext } from "../kernel/context.ts";
import { withDatabaseErrors } from "../kernel/database-errors.ts";
import { afterCreated, byCreated, createdMicros, parsePage, readPage } from "../kernel/paging.ts";
import { parseId } from "../kernel/parse.ts";
import { mcpServerRecord } from "./mcp-server-record.ts";

/** Throws 404. */
export async function getMcpServer(ctx: VerbContext, id: string): Promise<McpServer> {
  return mcpServerRecord(await mcpServerRow(ctx, id));
}

/** The stored row, with its secret as it is stored. Throws 404. */
export async function mcpServerRow(ctx: VerbContext, id: string): Promise<McpServerRow> {
  const serverId = parseId(id);
  const [row] = await withDatabaseErrors(async () =>
    ctx.db.select().from(mcpServers).where(eq(mcpServers.id, serverId)),
  );
  if (row === undefined) throw new GatewayError("not_found");
  return row;
}

/** One page. Throws 400. */
export async function listMcpServers(ctx: VerbContext, query: unknown): Promise<Page<McpServer>> {
  const page = parsePage(query);
  return await readPage(
    page,
    (part) =>
      ctx.db
        .select({ ...getTableColumns(mcpServers), micros: createdMicros(mcpServers.created_at) })
        .from(mcpServers)
        .where(afterCreated(mcpServers, part))
        .orderBy(...byCreated(mcpServers))
        .limit(part.limit),
    (row) => [row.micros, row.id],
    mcpServerRecord,
  );
}
