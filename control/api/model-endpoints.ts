/**
 * Routes of a model's endpoints.
 */
import { z } from "zod";
import {
  createModelEndpointSchema,
  modelEndpointSchema,
  updateModelEndpointSchema,
} from "../../shared/schema/model-endpoint.ts";
import { createEndpoint } from "../services/endpoints/create-endpoint.ts";
import { deleteEndpoint } from "../services/endpoints/delete-endpoint.ts";
import { listEndpoints } from "../services/endpoints/list-endpoints.ts";
import { updateEndpoint } from "../services/endpoints/update-endpoint.ts";
import { create, endpoint, jsonBody, paged, type RouteContext, written } from "./endpoint.ts";
import { pageQuerySchema } from "./page-query.ts";
import { pathId } from "./tenants.ts";
import type { Api } from "./types.ts";

const tag = "Model endpoints";
const all = "/api/v1/models/{id}/endpoints";
const one = `${all}/{endpoint_id}`;

const endpointId = (c: RouteContext): string => c.req.param("endpoint_id") ?? "";

export function modelEndpointRoutes(app: Api): void {
  endpoint(app, {
    method: "get",
    path: all,
    summary: "List the endpoints of a model, in the order of failover",
    tag,
    query: pageQuerySchema,
    answer: z.array(modelEndpointSchema),
    handler: async (c) => paged(c, await listEndpoints(c.var.ctx, pathId(c), c.req.query())),
  });
  endpoint(app, {
    method: "post",
    path: all,
    summary: "Add an endpoint to a model",
    description:
      "It takes traffic at once. Without `api_key` it has the model's. The address is held to the address policy.",
    tag,
    body: createModelEndpointSchema,
    answer: modelEndpointSchema,
    creates: true,
    handler: async (c) => await create(c, async (input) => await createEndpoint(c.var.ctx, pathId(c), input)),
  });
  endpoint(app, {
    method: "put",
    path: one,
    summary: "Update an endpoint; an omitted field keeps its value",
    description:
      "An `api_key` that is omitted or null is kept, a blank one is removed: then the model's is sent. Another `api_base` begins its health anew.",
    tag,
    body: updateModelEndpointSchema,
    answer: modelEndpointSchema,
    handler: async (c) => written(c, await updateEndpoint(c.var.ctx, pathId(c), endpointId(c), await jsonBody(c))),
  });
  endpoint(app, {
    method: "delete",
    path: one,
    summary: "Remove an endpoint",
    tag,
    handler: async (c) => written(c, await deleteEndpoint(c.var.ctx, pathId(c), endpointId(c))),
  });
}
