/**
 * Hot copies of MCP servers (decisions §32.3); the credential is copied as it is stored.
 */
import { inArray } from "drizzle-orm";
import { type McpServerRecord, mcpServerRecordSchema } from "../../shared/records.ts";
import type { Database, Transaction } from "../db/connect.ts";
import { mcpServers } from "../db/schema/mcp-servers.ts";

/** Copies by names; names without a row are absent. */
export async function buildMcpServers(
  db: Database | Transaction,
  names: readonly string[],
): Promise<ReadonlyMap<string, McpServerRecord>> {
  if (names.length === 0) return new Map();
  const rows = await db
    .select()
    .from(mcpServers)
    .where(inArray(mcpServers.name, [...names]));
  return new Map(rows.map((row) => [row.name, mcpServerRecordSchema.parse({ ...row, v: 1 })]));
}
