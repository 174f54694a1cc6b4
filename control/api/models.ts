/**
 * Model routes.
 */
import { z } from "zod";
import {
  createModelSchema,
  modelCacheSchema,
  modelCapacityModeSchema,
  modelCapacitySchema,
  modelReliabilitySchema,
  modelSchema,
  modelValidationSchema,
  modelWeightSchema,
  updateModelSchema,
  validateModelSchema,
} from "../../shared/schema/model.ts";
import { createModel } from "../services/models/create-model.ts";
import { deleteModel } from "../services/models/delete-model.ts";
import { getModel } from "../services/models/get-model.ts";
import { listModels } from "../services/models/list-models.ts";
import { setModelCache } from "../services/models/set-model-cache.ts";
import { setModelCapacity } from "../services/models/set-model-capacity.ts";
import { setModelCapacityMode } from "../services/models/set-model-capacity-mode.ts";
import { setModelReliability } from "../services/models/set-model-reliability.ts";
import { setModelWeight } from "../services/models/set-model-weight.ts";
import { updateModel } from "../services/models/update-model.ts";
import { validateModel } from "../services/models/validate-model.ts";
import { create, endpoint, jsonBody, paged, written } from "./endpoint.ts";
import { pageQuerySchema } from "./page-query.ts";
import { pathId } from "./tenants.ts";
import type { Api } from "./types.ts";

const tag = "Models";
const one = "/api/v1/models/{id}";

export function modelRoutes(app: Api): void {
  endpoint(app, {
    method: "get",
    path: "/api/v1/models",
    summary: "List models",
    tag,
    query: pageQuerySchema,
    answer: z.array(modelSchema),
    handler: async (c) => paged(c, await listModels(c.var.ctx, c.req.query())),
  });
  endpoint(app, {
    method: "post",
    path: "/api/v1/models",
    summary: "Register a model",
    tag,
    body: createModelSchema,
    answer: modelSchema,
    creates: true,
    handler: async (c) => await create(c, async (input) => await createModel(c.var.ctx, input)),
  });
  endpoint(app, {
    method: "post",
    path: "/api/v1/models/validate",
    summary: "Ask an upstream whether it serves a model; changes nothing",
    description:
      "Calls GET {api_base}/models for at most 5 seconds. Always 200 for a well-formed question; what is wrong is in `warnings`.",
    tag,
    body: validateModelSchema,
    answer: modelValidationSchema,
    handler: async (c) => c.json(await validateModel(c.var.ctx, await jsonBody(c))),
  });
  endpoint(app, {
    method: "get",
    path: one,
    summary: "Read a model",
    tag,
    answer: modelSchema,
    handler: async (c) => c.json(await getModel(c.var.ctx, pathId(c))),
  });
  endpoint(app, {
    method: "put",
    path: one,
    summary: "Update a model",
    tag,
    body: updateModelSchema,
    answer: modelSchema,
    handler: async (c) => written(c, await updateModel(c.var.ctx, pathId(c), await jsonBody(c))),
  });
  endpoint(app, {
    method: "delete",
    path: one,
    summary: "Remove a model",
    tag,
    handler: async (c) => written(c, await deleteModel(c.var.ctx, pathId(c))),
  });
  endpoint(app, {
    method: "put",
    path: `${one}/capacity`,
    summary: "Set or clear the capacity of a model",
    tag,
    body: modelCapacitySchema,
    answer: modelSchema,
    handler: async (c) => written(c, await setModelCapacity(c.var.ctx, pathId(c), await jsonBody(c))),
  });
  endpoint(app, {
    method: "put",
    path: `${one}/capacity-mode`,
    summary: "Set the capacity mode of a model",
    tag,
    body: modelCapacityModeSchema,
    answer: modelSchema,
    handler: async (c) => written(c, await setModelCapacityMode(c.var.ctx, pathId(c), await jsonBody(c))),
  });
  endpoint(app, {
    method: "put",
    path: `${one}/weight`,
    summary: "Set the admission weight of a model",
    tag,
    body: modelWeightSchema,
    answer: modelSchema,
    handler: async (c) => written(c, await setModelWeight(c.var.ctx, pathId(c), await jsonBody(c))),
  });
  endpoint(app, {
    method: "put",
    path: `${one}/cache`,
    summary: "Configure the response cache of a model",
    tag,
    body: modelCacheSchema,
    answer: modelSchema,
    handler: async (c) => written(c, await setModelCache(c.var.ctx, pathId(c), await jsonBody(c))),
  });
  endpoint(app, {
    method: "put",
    path: `${one}/reliability`,
    summary: "Replace timeout, retries and endpoint selection of a model",
    description:
      "What is omitted takes its default. `failover` goes by priority, `load_balance` by weight, `session_hash` keeps a session where it is.",
    tag,
    body: modelReliabilitySchema,
    answer: modelSchema,
    handler: async (c) => written(c, await setModelReliability(c.var.ctx, pathId(c), await jsonBody(c))),
  });
}
