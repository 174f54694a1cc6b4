/** The forms of MCP servers, by the table of their fields, and the reads that show a server. */
import { MCP_SERVER_FIELDS } from "../../../shared/fields/mcp-server-fields.ts";
import { fieldSpecs, secretSpec } from "../../forms/record/field-specs.ts";

/** Name, address and credential. */
export const SERVER_SPECS = [
  ...fieldSpecs(["name", "upstream_url"], MCP_SERVER_FIELDS),
  secretSpec("auth_header", "auth_header_set"),
];

export const SERVER_READS = ["/api/v1/mcp-servers", "/api/v1/mcp-servers/{id}", "/api/v1/audit"] as const;
