/**
 * Lists MCP servers, oldest first (decisions §2.4).
 */
import { getTableColumns } from "drizzle-orm";
import type { McpServer } from "../../../shared/schema/mcp-server.ts";
import { mcpServers } from "../../db/schema/mcp-servers.ts";
import type { Page, VerbContext } from "../../kernel/context.ts";
import { afterCreated, byCreated, createdMicros, parsePage, toPage } from "../../kernel/paging.ts";
import { withDatabaseErrors } from "../../kernel/write.ts";
import { mcpServerRecord } from "../../resources/mcp-server-record.ts";

/** One page. Throws 400. */
export async function listMcpServers(ctx: VerbContext, query: unknown): Promise<Page<McpServer>> {
  const page = parsePage(query);
  const rows = await withDatabaseErrors(async () =>
    ctx.db
      .select({ ...getTableColumns(mcpServers), micros: createdMicros(mcpServers.created_at) })
      .from(mcpServers)
      .where(afterCreated(mcpServers, page))
      .orderBy(...byCreated(mcpServers))
      .limit(page.limit + 1),
  );
  return toPage(rows, page, (row) => [row.micros, row.id], mcpServerRecord);
}
