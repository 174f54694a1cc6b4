/**
 * Backup routes.
 */
import { backupSchema, restoreReportSchema } from "../../shared/schema/backup.ts";
import { exportBackup } from "../backup/export-backup.ts";
import { restoreBackup } from "../backup/restore-backup.ts";
import { endpoint, jsonBody, written } from "./endpoint.ts";
import type { Api, ApiDeps } from "./types.ts";

const tag = "Backup";

export function backupRoutes(app: Api, deps: ApiDeps): void {
  endpoint(app, {
    method: "get",
    path: "/api/v1/backup/export",
    summary: "Download the whole configuration as one file",
    tag,
    answer: backupSchema,
    handler: async (c) => {
      const { filename, pieces } = await exportBackup(c.var.ctx, deps.version.version);
      c.header("content-type", "application/json");
      c.header("content-disposition", `attachment; filename="${filename}"`);
      return c.body(await new Blob([...pieces]).arrayBuffer());
    },
  });
  endpoint(app, {
    method: "post",
    path: "/api/v1/backup/restore",
    summary: "Merge a backup file into the configuration, whole or not at all",
    tag,
    body: backupSchema,
    answer: restoreReportSchema,
    handler: async (c) => written(c, await restoreBackup(c.var.ctx, await jsonBody(c))),
  });
}
