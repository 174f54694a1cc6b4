/**
 * The audit log's route.
 */
import { z } from "zod";
import { auditEntrySchema, auditFilterSchema } from "../../shared/schema/audit.ts";
import { listAudit } from "../services/audit/list-audit.ts";
import { endpoint, paged } from "./endpoint.ts";
import { pageQuerySchema } from "./page-query.ts";
import type { Api } from "./types.ts";

export function auditRoutes(app: Api): void {
  endpoint(app, {
    method: "get",
    path: "/api/v1/audit",
    summary: "List what admins have changed, newest first",
    tag: "Audit",
    query: pageQuerySchema.extend(auditFilterSchema.shape),
    answer: z.array(auditEntrySchema),
    handler: async (c) => paged(c, await listAudit(c.var.ctx, c.req.query())),
  });
}
