/**
 * Backup routes.
 */
import { backupSchema, restoreQuerySchema, restoreReportSchema } from "../../shared/schema/backup.ts";
import { exportBackup } from "../backup/export-backup.ts";
import { restoreBackup } from "../backup/restore-backup.ts";
import { endpoint } from "./endpoint.ts";
import type { Api, ApiDeps } from "./types.ts";

const tag = "Backup";

export function backupRoutes(app: Api, deps: ApiDeps): void {
  endpoint(app, {
    kind: "file",
    method: "get",
    path: "/api/v1/backup/export",
    summary: "Download the whole configuration as one file",
    tag,
    answer: backupSchema,
    handler: async ({ ctx }) => await exportBackup(ctx, deps.version.version),
  });
  endpoint(app, {
    kind: "write",
    method: "post",
    path: "/api/v1/backup/restore",
    summary: "Merge a backup file into the configuration, whole or not at all",
    description:
      "With `dry_run=true` nothing is changed: `differences` says of each object whether it would be added or changed, and in which fields. A file that would be refused is refused in the same way.",
    tag,
    query: restoreQuerySchema,
    body: backupSchema,
    isFile: true,
    answer: restoreReportSchema,
    handler: async ({ ctx, query, body }) => await restoreBackup(ctx, body, query),
  });
}
