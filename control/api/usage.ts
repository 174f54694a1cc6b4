/**
 * Usage and load routes.
 */
import { z } from "zod";
import {
  modelUsageSchema,
  usageLogSchema,
  usageLogsQuerySchema,
  usageModelsQuerySchema,
} from "../../shared/schema/usage.ts";
import { getStats, statsSchema } from "../services/stats/get-stats.ts";
import { listLogs } from "../services/usage/list-logs.ts";
import { listModelUsage } from "../services/usage/list-model-usage.ts";
import { endpoint } from "./endpoint.ts";
import type { Api, ApiDeps } from "./types.ts";

export function usageRoutes(app: Api, deps: ApiDeps): void {
  endpoint(app, {
    method: "get",
    path: "/api/v1/usage/logs",
    summary: "List requests, newest first",
    tag: "Usage",
    query: usageLogsQuerySchema as unknown as z.ZodObject,
    answer: z.array(usageLogSchema),
    handler: async (c) => c.json((await listLogs(c.var.ctx, deps.analytics, c.req.query())) as object[]),
  });
  endpoint(app, {
    method: "get",
    path: "/api/v1/usage/models",
    summary: "Usage per model",
    tag: "Usage",
    query: usageModelsQuerySchema,
    answer: z.array(modelUsageSchema),
    handler: async (c) => c.json((await listModelUsage(c.var.ctx, deps.analytics, c.req.query())) as object[]),
  });
  endpoint(app, {
    method: "get",
    path: "/api/v1/stats",
    summary: "Live load of the cells",
    tag: "Load",
    query: z.object({ cell: z.string().optional() }),
    answer: statsSchema,
    handler: async (c) => c.json(await getStats(c.var.ctx, deps.cell, deps.cells, deps.store, c.req.query())),
  });
}
