/**
 * Model routes.
 */
import { z } from "zod";
import { MODEL_FIELDS_OF_USERS } from "../../shared/fields/model-fields.ts";
import {
  createModelSchema,
  type Model,
  modelFilterSchema,
  modelSchema,
  modelValidationSchema,
  validateModelSchema,
} from "../../shared/schema/model.ts";
import { priceFilterSchema, priceListSchema } from "../../shared/schema/price-list.ts";
import { endpoint } from "../api/endpoint.ts";
import type { Api, ApiDeps } from "../api/types.ts";
import type { TrafficHealth } from "../health/shown-health.ts";
import { createModel } from "./create-model.ts";
import { deleteModel } from "./delete-model.ts";
import { modelChanges } from "./model-changes.ts";
import { listPrices } from "./price-list.ts";
import { getModel, listModels, modelsOfTenant } from "./read-models.ts";
import { validateModel } from "./validate-model.ts";

const tag = "Models";
const one = "/api/v1/models/{id}";

interface ChangeRoute {
  /** Below the model's own path. */
  readonly at: string;
  readonly change: (typeof modelChanges)[keyof typeof modelChanges];
  readonly summary: string;
  readonly description?: string;
}

/** The routes that each change some fields of a model, all made in the same way. */
const CHANGES: readonly ChangeRoute[] = [
  { at: "capacity", change: modelChanges.capacity, summary: "Set or clear the capacity of a model" },
  { at: "capacity-mode", change: modelChanges.capacityMode, summary: "Set the capacity mode of a model" },
  { at: "weight", change: modelChanges.weight, summary: "Set the admission weight of a model" },
  { at: "cache", change: modelChanges.cache, summary: "Configure the response cache of a model" },
  {
    at: "reliability",
    change: modelChanges.reliability,
    summary: "Replace timeout, retries and endpoint selection of a model",
    description:
      "Omitted fields get their defaults. `failover` selects by priority, `load_balance` by weight; `session_hash` keeps a session on one endpoint.",
  },
];

interface ModelDeps extends Pick<ApiDeps, "prices"> {
  readonly trafficHealth: TrafficHealth;
}

export function modelRoutes(app: Api, { prices, trafficHealth }: ModelDeps): void {
  const ofTenant = modelsOfTenant();
  const shown = async (models: readonly Model[], now: Date): Promise<Model[]> => {
    const statusOf = await trafficHealth.statusOf(
      models.map(({ health_status }) => health_status),
      now.getTime(),
    );
    return models.map((model) => ({ ...model, health_status: statusOf(model.model_name, model.health_status) }));
  };
  endpoint(app, {
    kind: "page",
    method: "get",
    path: "/api/v1/models",
    summary: "List models",
    tag,
    access: {
      user: async (ctx, ...of) => await shown((await ofTenant(ctx, ...of)) as readonly Model[], ctx.now()),
      fields: MODEL_FIELDS_OF_USERS,
    },
    query: modelFilterSchema,
    answer: z.array(modelSchema),
    handler: async ({ ctx, query }) => {
      const found = await listModels(ctx, query);
      return { ...found, rows: await shown(found.rows, ctx.now()) };
    },
  });
  endpoint(app, {
    kind: "create",
    method: "post",
    path: "/api/v1/models",
    summary: "Register a model",
    tag,
    body: createModelSchema,
    answer: modelSchema,
    handler: async ({ ctx, body }) => await createModel(ctx, body),
  });
  endpoint(app, {
    kind: "read",
    method: "post",
    path: "/api/v1/models/validate",
    summary: "Ask an upstream whether it serves a model; changes nothing",
    description:
      "Calls GET {api_base}/models for at most 5 seconds. Always 200 for a valid request; problems are in `warnings`.",
    tag,
    body: validateModelSchema,
    answer: modelValidationSchema,
    handler: async ({ ctx, body }) => await validateModel(ctx, body),
  });
  endpoint(app, {
    kind: "read",
    method: "get",
    path: "/api/v1/prices",
    summary: "List public prices of known models, to be set when a model is registered",
    description: "Ships with the gateway: nothing is downloaded or applied automatically.",
    tag,
    query: priceFilterSchema,
    answer: priceListSchema,
    handler: async ({ query }) => listPrices(prices, query),
  });
  endpoint(app, {
    kind: "read",
    method: "get",
    path: one,
    summary: "Read a model",
    tag,
    answer: modelSchema,
    handler: async ({ ctx, path }) => {
      const model = await getModel(ctx, path.id);
      const [one = model] = await shown([model], ctx.now());
      return one;
    },
  });
  endpoint(app, {
    kind: "write",
    method: "put",
    path: one,
    summary: "Update a model; omitted fields keep their values",
    tag,
    body: modelChanges.update.body,
    answer: modelSchema,
    handler: async ({ ctx, path, body }) => await modelChanges.update.apply(ctx, path.id, body),
  });
  endpoint(app, {
    kind: "write",
    method: "patch",
    path: one,
    summary: "Change fields of a model; null resets a field to its default",
    description: "Omitted fields keep their values. Null clears `api_key`.",
    tag,
    body: modelChanges.all.body,
    answer: modelSchema,
    handler: async ({ ctx, path, body }) => await modelChanges.all.apply(ctx, path.id, body),
  });
  endpoint(app, {
    kind: "write",
    method: "delete",
    path: one,
    summary: "Remove a model",
    tag,
    handler: async ({ ctx, path }) => await deleteModel(ctx, path.id),
  });
  for (const { at, change, summary, description } of CHANGES) {
    endpoint(app, {
      kind: "write",
      method: "put",
      path: `${one}/${at}`,
      summary,
      description,
      tag,
      body: change.body,
      answer: modelSchema,
      handler: async ({ ctx, path, body }) => await change.apply(ctx, path.id, body),
    });
  }
}
