/** An MCP server's row as the Management API shows it, without its credential; and the lock on the row for a write. */
import { eq } from "drizzle-orm";
import { GatewayError } from "../../shared/errors.ts";
import { type McpServer, mcpServerSchema } from "../../shared/schema/mcp-server.ts";
import type { Transaction } from "../db/connect.ts";
import { type McpServerRow, mcpServers } from "../db/schema/mcp-servers.ts";
import { withIsoTimes } from "../kernel/iso-times.ts";

/** The record of a row. */
export function mcpServerRecord(row: McpServerRow): McpServer {
  return mcpServerSchema.parse({ ...withIsoTimes(row), auth_header_set: row.auth_header !== null });
}

/** The row, locked until the transaction ends. Throws 404. */
export async function lockMcpServer(tx: Transaction, id: string): Promise<McpServerRow> {
  const [row] = await tx.select().from(mcpServers).where(eq(mcpServers.id, id)).for("update");
  if (row === undefined) throw new GatewayError("not_found");
  return row;
}

/** The 409 for a name that another server has. */
export function nameTaken(name: string): GatewayError {
  return new GatewayError("already_exists", { value: `mcp server '${name}'`, param: "name" });
}
