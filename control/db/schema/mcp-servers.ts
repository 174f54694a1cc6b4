/**
 * MCP servers (decisions §33).
 */
import { boolean, pgTable, text } from "drizzle-orm/pg-core";
import { idColumn, revColumn, timeColumns } from "./columns.ts";

export const mcpServers = pgTable("mcp_servers", {
  ...idColumn,
  name: text("name").notNull().unique(),
  upstream_url: text("upstream_url").notNull(),
  /** Sealed when an encryption key is set; null: none. */
  auth_header: text("auth_header"),
  enabled: boolean("enabled").notNull(),
  ...timeColumns,
  ...revColumn,
});

export type McpServerRow = typeof mcpServers.$inferSelect;
