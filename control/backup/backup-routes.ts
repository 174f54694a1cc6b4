/**
 * Backup routes.
 */
import { backupSchema, restoreQuerySchema, restoreReportSchema } from "../../shared/schema/backup.ts";
import { endpoint } from "../api/endpoint.ts";
import type { Api, ApiDeps } from "../api/types.ts";
import { exportBackup } from "./export-backup.ts";
import { restoreBackup } from "./restore-backup.ts";

const tag = "Backup";

export function backupRoutes(app: Api, deps: ApiDeps): void {
  endpoint(app, {
    kind: "file",
    method: "get",
    path: "/api/v1/backup/export",
    summary: "Download the whole configuration as one file",
    tag,
    access: { hasSecrets: true },
    answer: backupSchema,
    handler: async ({ ctx }) => await exportBackup(ctx, deps.version.version),
  });
  endpoint(app, {
    kind: "write",
    method: "post",
    path: "/api/v1/backup/restore",
    summary: "Merge a backup file into the configuration, all or nothing",
    description:
      "With `dry_run=true` nothing is changed: `differences` lists which objects would be added or changed, and in which fields. A file that a restore would refuse is refused too.",
    tag,
    query: restoreQuerySchema,
    body: backupSchema,
    isFile: true,
    answer: restoreReportSchema,
    handler: async ({ ctx, query, body }) => await restoreBackup(ctx, body, query, deps.version.version),
  });
}
