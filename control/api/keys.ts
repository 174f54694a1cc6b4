/**
 * API key routes.
 */
import { z } from "zod";
import {
  allKeysFilterSchema,
  apiKeySchema,
  createdKeySchema,
  createKeySchema,
  keyDisabledSchema,
  listedKeySchema,
  updateKeySchema,
} from "../../shared/schema/api-key.ts";
import { tracingSchema } from "../../shared/schema/tenant-policy.ts";
import { createKey } from "../services/keys/create-key.ts";
import { deleteKey } from "../services/keys/delete-key.ts";
import { listAllKeys } from "../services/keys/list-all-keys.ts";
import { listKeys } from "../services/keys/list-keys.ts";
import { setKeyDisabled } from "../services/keys/set-key-disabled.ts";
import { setKeyTracing } from "../services/keys/set-key-tracing.ts";
import { updateKey } from "../services/keys/update-key.ts";
import { create, endpoint, jsonBody, paged, written } from "./endpoint.ts";
import { pageQuerySchema } from "./page-query.ts";
import { pathId } from "./tenants.ts";
import type { Api } from "./types.ts";

const tag = "API keys";

export function keyRoutes(app: Api): void {
  endpoint(app, {
    method: "get",
    path: "/api/v1/tenants/{id}/keys",
    summary: "List the keys of a tenant",
    tag,
    query: pageQuerySchema,
    answer: z.array(apiKeySchema),
    handler: async (c) => paged(c, await listKeys(c.var.ctx, pathId(c), c.req.query())),
  });
  endpoint(app, {
    method: "post",
    path: "/api/v1/tenants/{id}/keys",
    summary: "Create a key; the secret is in this answer only",
    tag,
    body: createKeySchema,
    answer: createdKeySchema,
    creates: true,
    handler: async (c) => await create(c, async (input) => await createKey(c.var.ctx, pathId(c), input)),
  });
  endpoint(app, {
    method: "get",
    path: "/api/v1/keys",
    summary: "List the keys of all tenants, newest first",
    tag,
    query: pageQuerySchema.extend(allKeysFilterSchema.shape),
    answer: z.array(listedKeySchema),
    handler: async (c) => paged(c, await listAllKeys(c.var.ctx, c.req.query())),
  });
  endpoint(app, {
    method: "put",
    path: "/api/v1/keys/{id}",
    summary: "Update name, description and budget of a key",
    tag,
    body: updateKeySchema,
    answer: apiKeySchema,
    handler: async (c) => written(c, await updateKey(c.var.ctx, pathId(c), await jsonBody(c))),
  });
  endpoint(app, {
    method: "put",
    path: "/api/v1/keys/{id}/disabled",
    summary: "Disable or enable a key",
    tag,
    body: keyDisabledSchema,
    answer: apiKeySchema,
    handler: async (c) => written(c, await setKeyDisabled(c.var.ctx, pathId(c), await jsonBody(c))),
  });
  endpoint(app, {
    method: "put",
    path: "/api/v1/keys/{id}/tracing",
    summary: "Turn span tracing of a key on or off",
    tag,
    body: tracingSchema,
    answer: apiKeySchema,
    handler: async (c) => written(c, await setKeyTracing(c.var.ctx, pathId(c), await jsonBody(c))),
  });
  endpoint(app, {
    method: "delete",
    path: "/api/v1/keys/{id}",
    summary: "Delete a key",
    tag,
    handler: async (c) => written(c, await deleteKey(c.var.ctx, pathId(c))),
  });
}
