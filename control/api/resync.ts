/**
 * The resync route.
 */
import { resyncedSchema } from "../../shared/schema/resync.ts";
import { resync } from "../publish/resync-verb.ts";
import { endpoint, written } from "./endpoint.ts";
import type { Api, ApiDeps } from "./types.ts";

export function resyncRoutes(app: Api, deps: ApiDeps): void {
  const directory = { cells: deps.cells, own: deps.cell };
  endpoint(app, {
    method: "post",
    path: "/api/v1/resync",
    summary: "Push every record to the cells again and hold budgets against the ledger",
    description:
      "For a key-value store that lost or gained something. Every start of the control service does the same; every five minutes what differs is mended.",
    tag: "Operations",
    answer: resyncedSchema,
    handler: async (c) => written(c, await resync(c.var.ctx, deps.resync, directory)),
  });
}
