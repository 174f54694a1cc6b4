/** Routes for operating a gateway: the resync, and the log of what admins have changed. */

import { z } from "zod";
import { aboutSchema } from "../../shared/schema/about.ts";
import { attentionItemSchema } from "../../shared/schema/attention.ts";
import { auditEntrySchema, auditFilterSchema } from "../../shared/schema/audit.ts";
import { resyncedSchema } from "../../shared/schema/resync.ts";
import { rotationSchema } from "../../shared/schema/rotation.ts";
import { getAttention } from "../alerts/attention/get-attention.ts";
import { endpoint } from "../api/endpoint.ts";
import { BODY_MAX_BYTES } from "../api/guard.ts";
import type { Api, ApiDeps } from "../api/types.ts";
import { resync } from "../publish/resync-verb.ts";
import { listAudit } from "./list-audit.ts";
import { readAbout } from "./read-about.ts";
import { readRotation } from "./read-rotation.ts";

/** Resync, audit log, what needs attention, and what runs. */
export function operationRoutes(app: Api, deps: ApiDeps): void {
  const directory = { cells: deps.cells, own: deps.cell };
  endpoint(app, {
    kind: "read",
    method: "get",
    path: "/api/v1/about",
    summary: "Read version, database schema, cells and protection",
    tag: "Operations",
    answer: aboutSchema,
    handler: async ({ ctx }) =>
      await readAbout(ctx, { directory, version: deps.version, bodyMaxBytes: BODY_MAX_BYTES }),
  });
  endpoint(app, {
    kind: "write",
    method: "post",
    path: "/api/v1/resync",
    summary: "Push every record to the cells again and check budgets against the stored usage",
    description:
      "Use it after the key-value store gained data that is not yours, or after a database restore; a store that was emptied is filled again automatically. Tenants, groups, keys, models, endpoints, MCP servers and settings get new revisions. Hot copies that differ from their records are also repaired whenever the control service starts, and every five minutes.",
    tag: "Operations",
    answer: resyncedSchema,
    handler: async ({ ctx }) => await resync(ctx, deps.resync, directory),
  });
  endpoint(app, {
    kind: "read",
    method: "get",
    path: "/api/v1/rotation",
    summary: "Read which old secrets are accepted, and what still needs them",
    tag: "Operations",
    answer: rotationSchema,
    handler: async ({ ctx }) => await readRotation(ctx, deps),
  });
  endpoint(app, {
    kind: "page",
    method: "get",
    path: "/api/v1/audit",
    summary: "List changes from the audit log, newest first",
    tag: "Audit",
    query: auditFilterSchema,
    answer: z.array(auditEntrySchema),
    handler: async ({ ctx, query }) => await listAudit(ctx, query),
  });
  endpoint(app, {
    kind: "read",
    method: "get",
    path: "/api/v1/overview/attention",
    summary: "List what needs attention now, most urgent first",
    tag: "Operations",
    access: { shared: true },
    answer: z.array(attentionItemSchema),
    handler: async ({ ctx }) => await getAttention(ctx, directory, deps.store),
  });
}
