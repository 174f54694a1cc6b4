/**
 * MCP servers on the Management API: record and bodies (docs/rules/mcp.md#registry). No record shows the stored
 * Authorization value.
 */
import * as z from "zod";
import { recordShape, type StoredShape } from "../fields/field-table.ts";
import { MCP_SERVER_FIELDS } from "../fields/mcp-server-fields.ts";
import {
  flag,
  patchShape,
  requiredText,
  revField,
  storedId,
  storedSecret,
  storedTimes,
  warningsField,
} from "./common.ts";
import { refuseNoUrl } from "./upstream.ts";

export const mcpServerSchema = z
  .object({ ...recordShape(MCP_SERVER_FIELDS), rev: revField, warnings: warningsField })
  .meta({ id: "McpServer" });

export type McpServer = z.infer<typeof mcpServerSchema>;

/**
 * The name is a part of the path `/mcp/{name}`, so it has only characters that need no escape in a path. `.` and `..` are
 * excluded because they have a meaning in a path.
 */
const mcpServerName = z
  .string({ error: "must be a string" })
  .trim()
  .regex(/^[A-Za-z0-9._-]{1,100}$/, "must be 1 to 100 characters of A-Z a-z 0-9 . _ -")
  .refine((text) => text !== "." && text !== "..", "must not be . or ..");

/** The verb checks whether the address may be called. */
const storedUpstreamUrl = requiredText(2000).superRefine(refuseNoUrl);
const upstreamUrl = storedUpstreamUrl.refine((text) => !text.includes("#"), "must not contain #");

/** The complete Authorization value, scheme and token; it is sent in the header unchanged. */
const authHeader = z
  .string({ error: "must be a string" })
  .trim()
  .max(4000, "must be at most 4000 characters")
  .regex(/^[\x20-\x7e]*$/, "must be printable ASCII")
  .nullable();

/** The schema of each stored field, and its default where an older backup lacks it. */
export const storedMcpServer = {
  id: storedId,
  name: mcpServerName,
  upstream_url: storedUpstreamUrl,
  auth_header: storedSecret,
  enabled: flag.default(true),
  ...storedTimes,
} satisfies StoredShape<typeof MCP_SERVER_FIELDS>;

/** The fields of a server that an admin sets; the defaults are those of a new server. */
const settable = {
  name: mcpServerName,
  upstream_url: upstreamUrl,
  auth_header: authHeader.default(null),
  enabled: storedMcpServer.enabled,
};

/** POST /mcp-servers; the verb checks upstream_url against the address policy. */
export const createMcpServerSchema = z.object(settable).meta({ id: "CreateMcpServer" });

/** PATCH /mcp-servers/{id}: null clears auth_header. */
export const patchMcpServerSchema = z.object(patchShape(settable)).meta({ id: "PatchMcpServer" });

/** POST /mcp-servers/{id}/test: whether the server answers as one, and the names of its tools. */
export const mcpServerTestSchema = z
  .object({
    ok: z.boolean(),
    latency_ms: z.number().int(),
    tools: z.array(z.string()),
    error: z.string().nullable(),
  })
  .meta({ id: "McpServerTest" });
export type McpServerTest = z.infer<typeof mcpServerTestSchema>;

/** PUT /mcp-servers/{id}: omitted fields keep their value. A null auth_header keeps the stored value, an empty one clears it. */
export const updateMcpServerSchema = z
  .object({ name: mcpServerName, upstream_url: upstreamUrl, auth_header: authHeader, enabled: flag })
  .partial()
  .meta({ id: "UpdateMcpServer" });

export type UpdateMcpServer = z.infer<typeof updateMcpServerSchema>;
