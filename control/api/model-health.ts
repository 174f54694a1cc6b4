/**
 * Routes of the health of models. They stand before those of one model: `health` is no id.
 */
import { z } from "zod";
import {
  healthConfigSchema,
  modelHealthDetailSchema,
  modelHealthSummarySchema,
} from "../../shared/schema/model-health.ts";
import { getHealth } from "../services/health/get-health.ts";
import { listHealth } from "../services/health/list-health.ts";
import { setHealthConfig } from "../services/health/set-health-config.ts";
import { endpoint, jsonBody, written } from "./endpoint.ts";
import { pathId } from "./tenants.ts";
import type { Api } from "./types.ts";

const tag = "Model health";

export function modelHealthRoutes(app: Api): void {
  endpoint(app, {
    method: "get",
    path: "/api/v1/models/health",
    summary: "The latest health of every model",
    tag,
    answer: z.array(modelHealthSummarySchema),
    handler: async (c) => c.json(await listHealth(c.var.ctx)),
  });
  endpoint(app, {
    method: "get",
    path: "/api/v1/models/{id}/health",
    summary: "The latest health of a model, and its recent checks",
    tag,
    answer: modelHealthDetailSchema,
    handler: async (c) => c.json(await getHealth(c.var.ctx, pathId(c))),
  });
  endpoint(app, {
    method: "put",
    path: "/api/v1/models/{id}/health/config",
    summary: "Say how a model is checked; an omitted field keeps its value",
    description:
      "A check is due at once. Turning checks off forgets the failures so far; turning checks or alerts off, or maintenance, ends a firing alert silently.",
    tag,
    body: healthConfigSchema,
    answer: modelHealthSummarySchema,
    handler: async (c) => written(c, await setHealthConfig(c.var.ctx, pathId(c), await jsonBody(c))),
  });
}
