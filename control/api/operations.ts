/** Routes for operating a gateway: the resync, and the log of what admins have changed. */

import { z } from "zod";
import { auditEntrySchema, auditFilterSchema } from "../../shared/schema/audit.ts";
import { resyncedSchema } from "../../shared/schema/resync.ts";
import { resync } from "../publish/resync-verb.ts";
import { auditPages, listAudit } from "../services/audit/list-audit.ts";
import { endpoint } from "./endpoint.ts";
import type { Api, ApiDeps } from "./types.ts";

/** Resync and audit log. */
export function operationRoutes(app: Api, deps: ApiDeps): void {
  const directory = { cells: deps.cells, own: deps.cell };
  endpoint(app, {
    kind: "write",
    method: "post",
    path: "/api/v1/resync",
    summary: "Push every record to the cells again and hold budgets against the ledger",
    description:
      "For a key-value store that lost or gained something. Every start of the control service does the same; every five minutes what differs is mended.",
    tag: "Operations",
    answer: resyncedSchema,
    handler: async ({ ctx }) => await resync(ctx, deps.resync, directory),
  });
  endpoint(app, {
    kind: "page",
    method: "get",
    path: "/api/v1/audit",
    summary: "List what admins have changed, newest first",
    tag: "Audit",
    query: auditFilterSchema,
    answer: z.array(auditEntrySchema),
    csv: { filename: "audit", pages: ({ ctx, query }) => auditPages(ctx, query) },
    handler: async ({ ctx, query }) => await listAudit(ctx, query),
  });
}
