/**
 * MCP servers (docs/rules/storage-layouts.md#relational-tables).
 */
import { pgTable } from "drizzle-orm/pg-core";
import { MCP_SERVER_FIELDS } from "../../../shared/fields/mcp-server-fields.ts";
import { fieldColumns, idColumn, revColumn, timeColumns } from "./columns.ts";

export const mcpServers = pgTable("mcp_servers", {
  ...fieldColumns(MCP_SERVER_FIELDS),
  ...idColumn,
  ...timeColumns,
  ...revColumn,
});

export type McpServerRow = typeof mcpServers.$inferSelect;
