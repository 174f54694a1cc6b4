/**
 * API key routes.
 */
import { z } from "zod";
import {
  allKeysFilterSchema,
  apiKeySchema,
  createdKeySchema,
  createKeySchema,
  listedKeySchema,
  rotateKeySchema,
} from "../../shared/schema/api-key.ts";
import type { Access } from "../api/access.ts";
import { endpoint } from "../api/endpoint.ts";
import type { Api } from "../api/types.ts";
import { makeConsoleKey } from "./console-key.ts";
import { createKey } from "./create-key.ts";
import { deleteKey } from "./delete-key.ts";
import { getKey } from "./get-key.ts";
import { keyChanges } from "./key-changes.ts";
import { listAllKeys } from "./list-all-keys.ts";
import { listKeys } from "./list-keys.ts";
import { rotateKey } from "./rotate-key.ts";

const tag = "API keys";

const ownKey = { user: "key in path" } as const satisfies Access;

/** The routes that each change some fields of a key, all made in the same way; `at` is the path below the key's own. */
const CHANGES = [
  {
    method: "patch",
    at: "",
    change: keyChanges.all,
    summary: "Change fields of a key; null resets a field to its default",
    access: undefined,
  },
  {
    method: "put",
    at: "",
    change: keyChanges.details,
    summary: "Update name, description, expiry, models and budget of a key",
    access: ownKey,
  },
  { method: "put", at: "/disabled", change: keyChanges.disabled, summary: "Disable or enable a key", access: ownKey },
  {
    method: "put",
    at: "/tracing",
    change: keyChanges.tracing,
    summary: "Turn tracing of a key on or off",
    access: undefined,
  },
] as const;

export function keyRoutes(app: Api): void {
  endpoint(app, {
    kind: "page",
    method: "get",
    path: "/api/v1/tenants/{id}/keys",
    summary: "List the keys of a tenant",
    tag,
    access: { user: "tenant in path" },
    answer: z.array(apiKeySchema),
    handler: async ({ ctx, path, query }) => await listKeys(ctx, path.id, query),
  });
  endpoint(app, {
    kind: "create",
    method: "post",
    path: "/api/v1/tenants/{id}/keys",
    summary: "Create a key; only this response contains the secret",
    tag,
    access: { user: "tenant in path", refused: ["tracing_enabled"] },
    body: createKeySchema,
    answer: createdKeySchema,
    handler: async ({ ctx, path, body }) => await createKey(ctx, path.id, body),
  });
  endpoint(app, {
    kind: "write",
    method: "post",
    path: "/api/v1/tenants/{id}/console-key",
    summary: "Create a key for the console's playground, valid for an hour",
    description:
      "For the console's server, which calls models as the tenant for the person in `x-gateway-audit-person`, and ends when that one may not do so any more. Removes expired keys of this kind.",
    tag,
    access: "token",
    answer: createdKeySchema,
    noStore: true,
    handler: async ({ ctx, path }) => await makeConsoleKey(ctx, path.id),
  });
  endpoint(app, {
    kind: "page",
    method: "get",
    path: "/api/v1/keys",
    summary: "List the keys of all tenants, newest first",
    tag,
    access: { user: "tenant in query" },
    query: allKeysFilterSchema,
    answer: z.array(listedKeySchema),
    handler: async ({ ctx, query }) => await listAllKeys(ctx, query),
  });
  endpoint(app, {
    kind: "read",
    method: "get",
    path: "/api/v1/keys/{id}",
    summary: "Read a key",
    tag,
    access: ownKey,
    answer: apiKeySchema,
    handler: async ({ ctx, path }) => await getKey(ctx, path.id),
  });
  endpoint(app, {
    kind: "create",
    method: "post",
    path: "/api/v1/keys/{id}/rotate",
    summary: "Rotate a key's secret; only this response contains it",
    description:
      "The key keeps its ID, budgets and everything else. The old secret stays valid for `grace_secs`; earlier ones stop working at once.",
    tag,
    access: ownKey,
    body: rotateKeySchema,
    answer: createdKeySchema,
    changesRecord: true,
    handler: async ({ ctx, path, body }) => await rotateKey(ctx, path.id, body),
  });
  for (const { method, at, change, summary, access } of CHANGES) {
    endpoint(app, {
      kind: "write",
      method,
      path: `/api/v1/keys/{id}${at}`,
      summary,
      tag,
      access,
      body: change.body,
      answer: apiKeySchema,
      handler: async ({ ctx, path, body }) => await change.apply(ctx, path.id, body),
    });
  }
  endpoint(app, {
    kind: "write",
    method: "delete",
    path: "/api/v1/keys/{id}",
    summary: "Delete a key",
    tag,
    access: ownKey,
    handler: async ({ ctx, path }) => await deleteKey(ctx, path.id),
  });
}
