/**
 * MCP server routes.
 */
import { z } from "zod";
import { createMcpServerSchema, mcpServerSchema, updateMcpServerSchema } from "../../shared/schema/mcp-server.ts";
import { createMcpServer } from "../services/mcp-servers/create-mcp-server.ts";
import { deleteMcpServer } from "../services/mcp-servers/delete-mcp-server.ts";
import { getMcpServer } from "../services/mcp-servers/get-mcp-server.ts";
import { listMcpServers } from "../services/mcp-servers/list-mcp-servers.ts";
import { updateMcpServer } from "../services/mcp-servers/update-mcp-server.ts";
import { create, endpoint, jsonBody, paged, written } from "./endpoint.ts";
import { pageQuerySchema } from "./page-query.ts";
import { pathId } from "./tenants.ts";
import type { Api } from "./types.ts";

const tag = "MCP servers";
const all = "/api/v1/mcp-servers";
const one = `${all}/{id}`;

export function mcpServerRoutes(app: Api): void {
  endpoint(app, {
    method: "get",
    path: all,
    summary: "List MCP servers",
    tag,
    query: pageQuerySchema,
    answer: z.array(mcpServerSchema),
    handler: async (c) => paged(c, await listMcpServers(c.var.ctx, c.req.query())),
  });
  endpoint(app, {
    method: "post",
    path: all,
    summary: "Register an MCP server",
    tag,
    body: createMcpServerSchema,
    answer: mcpServerSchema,
    creates: true,
    handler: async (c) => await create(c, async (input) => await createMcpServer(c.var.ctx, input)),
  });
  endpoint(app, {
    method: "get",
    path: one,
    summary: "Read an MCP server",
    tag,
    answer: mcpServerSchema,
    handler: async (c) => c.json(await getMcpServer(c.var.ctx, pathId(c))),
  });
  endpoint(app, {
    method: "put",
    path: one,
    summary: "Update an MCP server",
    tag,
    body: updateMcpServerSchema,
    answer: mcpServerSchema,
    handler: async (c) => written(c, await updateMcpServer(c.var.ctx, pathId(c), await jsonBody(c))),
  });
  endpoint(app, {
    method: "delete",
    path: one,
    summary: "Remove an MCP server",
    tag,
    handler: async (c) => written(c, await deleteMcpServer(c.var.ctx, pathId(c))),
  });
}
