/**
 * The fields of an MCP server (docs/rules/mcp.md#registry).
 */
import * as z from "zod";
import { ID_FIELD, TIME_FIELDS } from "./common-fields.ts";
import type { FieldTable } from "./field-table.ts";

export const MCP_SERVER_FIELDS = {
  id: { ...ID_FIELD, hot: true },
  name: { column: "text", unique: true, value: z.string(), hot: true },
  upstream_url: { column: "text", value: z.string(), hot: true },
  /**
   * The complete Authorization value in its stored form: ciphertext when an encryption key is set. Null: no such header is
   * sent.
   */
  auth_header: {
    column: "text",
    value: z.string().nullable(),
    record: { auth_header_set: z.boolean() },
    hot: true,
  },
  enabled: { column: "boolean", value: z.boolean(), hot: true },
  ...TIME_FIELDS,
} as const satisfies FieldTable;
