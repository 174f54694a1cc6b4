/**
 * The audit log's route.
 */
import { z } from "zod";
import { auditEntrySchema, auditFilterSchema } from "../../shared/schema/audit.ts";
import { listAudit } from "../services/audit/list-audit.ts";
import { endpoint } from "./endpoint.ts";
import type { Api } from "./types.ts";

export function auditRoutes(app: Api): void {
  endpoint(app, {
    kind: "page",
    method: "get",
    path: "/api/v1/audit",
    summary: "List what admins have changed, newest first",
    tag: "Audit",
    query: auditFilterSchema,
    answer: z.array(auditEntrySchema),
    handler: async ({ ctx, query }) => await listAudit(ctx, query),
  });
}
