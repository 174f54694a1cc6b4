/**
 * Registers an MCP server (docs/rules/mcp.md#registry).
 */

import { seal } from "../../shared/crypto/seal.ts";
import { GatewayError } from "../../shared/errors.ts";
import { createMcpServerSchema, type McpServer } from "../../shared/schema/mcp-server.ts";
import { mcpServers } from "../db/schema/mcp-servers.ts";
import type { VerbContext, Written } from "../kernel/context.ts";
import { isUniqueViolation } from "../kernel/database-errors.ts";
import { parse } from "../kernel/parse.ts";
import { checkUpstreamAddress } from "../kernel/upstream-address.ts";
import { write } from "../kernel/write.ts";
import { mcpServerRecord, nameTaken } from "./mcp-server-record.ts";

/** The server. Throws 400, 409. */
export async function createMcpServer(ctx: VerbContext, input: unknown): Promise<Written<McpServer>> {
  const { name, upstream_url, auth_header, enabled } = parse(createMcpServerSchema, input);
  await checkUpstreamAddress(ctx, "upstream_url", upstream_url);
  const sealed = auth_header === null || auth_header === "" ? null : await seal(auth_header, ctx.sealKey);
  return await write(ctx, async (tx, journal) => {
    try {
      const now = ctx.now();
      const [row] = await tx
        .insert(mcpServers)
        .values({
          name,
          upstream_url,
          auth_header: sealed,
          enabled,
          created_at: now,
          updated_at: now,
          rev: journal.rev,
        })
        .returning();
      if (row === undefined) throw new GatewayError("internal_error");
      journal.audit({ action: "create_mcp_server", entityType: "mcp_server", entityId: row.id, detail: { name } });
      journal.mcpServerChanged(name);
      return mcpServerRecord(row);
    } catch (error) {
      if (isUniqueViolation(error)) throw nameTaken(name);
      throw error;
    }
  });
}
