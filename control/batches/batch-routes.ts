/** Routes of batches on the Management API (docs/rules/batches.md#management). Clients make them on the data plane. */
import { z } from "zod";
import { batchFilterSchema, batchSchema } from "../../shared/schema/batch.ts";
import { endpoint } from "../api/endpoint.ts";
import type { Api } from "../api/types.ts";
import { cancelBatch, getBatch, listBatches } from "./batch-verbs.ts";

const tag = "Batches";
const at = "/api/v1/batches";

/** List, one, cancel. */
export function batchRoutes(app: Api): void {
  endpoint(app, {
    kind: "page",
    method: "get",
    path: at,
    summary: "List batches, newest first",
    tag,
    access: { user: "tenant in query" },
    query: batchFilterSchema,
    answer: z.array(batchSchema),
    handler: async ({ ctx, query }) => await listBatches(ctx, query),
  });
  endpoint(app, {
    kind: "read",
    method: "get",
    path: `${at}/{id}`,
    summary: "Read a batch and its progress",
    tag,
    access: { user: "tenant in answer" },
    answer: batchSchema,
    handler: async ({ ctx, path }) => await getBatch(ctx, path.id),
  });
  endpoint(app, {
    kind: "write",
    method: "post",
    path: `${at}/{id}/cancel`,
    summary: "Cancel a batch: no further line starts, and results so far are kept",
    tag,
    answer: batchSchema,
    handler: async ({ ctx, path }) => await cancelBatch(ctx, path.id),
  });
}
