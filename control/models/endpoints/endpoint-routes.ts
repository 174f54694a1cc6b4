/**
 * Routes of a model's endpoints.
 */
import { z } from "zod";
import {
  createModelEndpointSchema,
  modelEndpointSchema,
  updateModelEndpointSchema,
} from "../../../shared/schema/model-endpoint.ts";
import { endpoint } from "../../api/endpoint.ts";
import type { Api } from "../../api/types.ts";
import { createEndpoint } from "./create-endpoint.ts";
import { deleteEndpoint } from "./delete-endpoint.ts";
import { listEndpoints } from "./list-endpoints.ts";
import { updateEndpoint } from "./update-endpoint.ts";

const tag = "Model endpoints";
const all = "/api/v1/models/{id}/endpoints";
const one = `${all}/{endpoint_id}`;

export function modelEndpointRoutes(app: Api): void {
  endpoint(app, {
    kind: "page",
    method: "get",
    path: all,
    summary: "List the endpoints of a model in failover order",
    tag,
    answer: z.array(modelEndpointSchema),
    handler: async ({ ctx, path, query }) => await listEndpoints(ctx, path.id, query),
  });
  endpoint(app, {
    kind: "create",
    method: "post",
    path: all,
    summary: "Add an endpoint to a model",
    description:
      "The endpoint gets traffic at once. While an enabled endpoint is healthy, the model's own `api_base` gets none. Without `api_key`, the model's is used. The address must pass the address policy.",
    tag,
    body: createModelEndpointSchema,
    answer: modelEndpointSchema,
    handler: async ({ ctx, path, body }) => await createEndpoint(ctx, path.id, body),
  });
  endpoint(app, {
    kind: "write",
    method: "put",
    path: one,
    summary: "Update an endpoint; omitted fields keep their values",
    description:
      "An omitted or null `api_key` keeps the stored one; a blank one removes it, and the model's is sent instead. A new `api_base` resets the endpoint's health.",
    tag,
    body: updateModelEndpointSchema,
    answer: modelEndpointSchema,
    handler: async ({ ctx, path, body }) => await updateEndpoint(ctx, path.id, path.endpoint_id, body),
  });
  endpoint(app, {
    kind: "write",
    method: "delete",
    path: one,
    summary: "Remove an endpoint",
    tag,
    handler: async ({ ctx, path }) => await deleteEndpoint(ctx, path.id, path.endpoint_id),
  });
}
