/**
 * MCP server routes.
 */
import { z } from "zod";
import {
  createMcpServerSchema,
  mcpServerSchema,
  mcpServerTestSchema,
  patchMcpServerSchema,
  updateMcpServerSchema,
} from "../../shared/schema/mcp-server.ts";
import { endpoint } from "../api/endpoint.ts";
import type { Api } from "../api/types.ts";
import { createMcpServer } from "./create-mcp-server.ts";
import { deleteMcpServer } from "./delete-mcp-server.ts";
import { getMcpServer, listMcpServers } from "./read-mcp-servers.ts";
import { testMcpServer } from "./test-mcp-server.ts";
import { patchMcpServer, updateMcpServer } from "./update-mcp-server.ts";

const tag = "MCP servers";
const all = "/api/v1/mcp-servers";
const one = `${all}/{id}`;

export function mcpServerRoutes(app: Api): void {
  endpoint(app, {
    kind: "page",
    method: "get",
    path: all,
    summary: "List MCP servers",
    tag,
    answer: z.array(mcpServerSchema),
    handler: async ({ ctx, query }) => await listMcpServers(ctx, query),
  });
  endpoint(app, {
    kind: "create",
    method: "post",
    path: all,
    summary: "Register an MCP server",
    tag,
    body: createMcpServerSchema,
    answer: mcpServerSchema,
    handler: async ({ ctx, body }) => await createMcpServer(ctx, body),
  });
  endpoint(app, {
    kind: "read",
    method: "get",
    path: one,
    summary: "Read an MCP server",
    tag,
    answer: mcpServerSchema,
    handler: async ({ ctx, path }) => await getMcpServer(ctx, path.id),
  });
  endpoint(app, {
    kind: "write",
    method: "put",
    path: one,
    summary: "Update an MCP server",
    tag,
    body: updateMcpServerSchema,
    answer: mcpServerSchema,
    handler: async ({ ctx, path, body }) => await updateMcpServer(ctx, path.id, body),
  });
  endpoint(app, {
    kind: "write",
    method: "patch",
    path: one,
    summary: "Change fields of an MCP server; null clears a field",
    tag,
    body: patchMcpServerSchema,
    answer: mcpServerSchema,
    handler: async ({ ctx, path, body }) => await patchMcpServer(ctx, path.id, body),
  });
  endpoint(app, {
    kind: "write",
    method: "delete",
    path: one,
    summary: "Remove an MCP server",
    tag,
    handler: async ({ ctx, path }) => await deleteMcpServer(ctx, path.id),
  });
  endpoint(app, {
    kind: "read",
    method: "post",
    path: `${one}/test`,
    summary: "Connect to an MCP server and list its tools; changes nothing",
    description:
      "Opens a session, lists the tools and closes the session, within 10 seconds. Always 200 for a registered server; problems are in `error`.",
    tag,
    answer: mcpServerTestSchema,
    handler: async ({ ctx, path, signal }) => await testMcpServer(ctx, path.id, signal),
  });
}
