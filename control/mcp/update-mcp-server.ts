/**
 * Updates an MCP server; what is omitted keeps its value (docs/rules/mcp.md#registry). When the name changes, the copy
 * under the old name is removed.
 */
import { eq } from "drizzle-orm";
import { seal } from "../../shared/crypto/seal.ts";
import { GatewayError } from "../../shared/errors.ts";
import { originOf } from "../../shared/network/origin.ts";
import {
  type McpServer,
  patchMcpServerSchema,
  type UpdateMcpServer,
  updateMcpServerSchema,
} from "../../shared/schema/mcp-server.ts";
import { type McpServerRow, mcpServers } from "../db/schema/mcp-servers.ts";
import { changedFields } from "../kernel/changed-fields.ts";
import type { VerbContext, Written } from "../kernel/context.ts";
import { isUniqueViolation } from "../kernel/database-errors.ts";
import { isKept, keptSecretWarnings } from "../kernel/kept-secrets.ts";
import { parse, parseId } from "../kernel/parse.ts";
import { checkUpstreamAddress } from "../kernel/upstream-address.ts";
import { auditedWarnings, withWarnings } from "../kernel/warnings.ts";
import { write } from "../kernel/write.ts";
import { lockMcpServer, mcpServerRecord, nameTaken } from "./mcp-server-record.ts";

/** The server. A null credential keeps the stored one. Throws 400, 404, 409. */
export async function updateMcpServer(ctx: VerbContext, id: string, input: unknown): Promise<Written<McpServer>> {
  return await changeMcpServer(ctx, parseId(id), parse(updateMcpServerSchema, input));
}

/** The server. A null credential clears the stored one. Throws 400, 404, 409. */
export async function patchMcpServer(ctx: VerbContext, id: string, input: unknown): Promise<Written<McpServer>> {
  const serverId = parseId(id);
  const body = parse(patchMcpServerSchema, input);
  return await changeMcpServer(ctx, serverId, body.auth_header === null ? { ...body, auth_header: "" } : body);
}

async function changeMcpServer(ctx: VerbContext, serverId: string, body: UpdateMcpServer): Promise<Written<McpServer>> {
  await checkUpstreamAddress(ctx, "upstream_url", body.upstream_url ?? "");
  const credential = await credentialOf(ctx, body);
  return await write(ctx, async (tx, journal) => {
    const before = await lockMcpServer(tx, serverId);
    ctx.checkRecord?.(mcpServerRecord(before));
    const fields = {
      name: body.name ?? before.name,
      upstream_url: body.upstream_url ?? before.upstream_url,
      auth_header: credential === undefined ? before.auth_header : credential,
      enabled: body.enabled ?? before.enabled,
    } satisfies Partial<McpServerRow>;
    try {
      const [row] = await tx
        .update(mcpServers)
        .set({ ...fields, rev: journal.rev, updated_at: ctx.now() })
        .where(eq(mcpServers.id, serverId))
        .returning();
      if (row === undefined) throw new GatewayError("not_found");
      const warnings = keptSecretWarnings(
        { secret: "auth_header", address: "upstream_url", kept: isKept(body.auth_header, before.auth_header) },
        originOf(before.upstream_url),
        originOf(row.upstream_url),
      );
      journal.audit({
        action: "update_mcp_server",
        entityType: "mcp_server",
        entityId: serverId,
        detail: { ...changedFields(before, fields, ["auth_header"]), ...auditedWarnings(warnings) },
      });
      for (const name of new Set([before.name, row.name])) journal.mcpServerChanged(name);
      return withWarnings(mcpServerRecord(row), warnings);
    } catch (error) {
      if (isUniqueViolation(error)) throw nameTaken(fields.name);
      throw error;
    }
  });
}

/** The credential as it is to be stored; undefined keeps the stored one. */
async function credentialOf(ctx: VerbContext, { auth_header }: UpdateMcpServer): Promise<string | null | undefined> {
  if (auth_header === undefined || auth_header === null) return undefined;
  return auth_header === "" ? null : await seal(auth_header, ctx.sealKey);
}
