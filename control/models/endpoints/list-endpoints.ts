/**
 * Lists the endpoints of a model in the order in which failover tries them (docs/rules/management-api.md#lists).
 */
import { and, asc, eq, sql } from "drizzle-orm";
import type { ModelEndpoint } from "../../../shared/schema/model-endpoint.ts";
import { modelEndpoints } from "../../db/schema/endpoints.ts";
import type { Page, VerbContext } from "../../kernel/context.ts";
import { withDatabaseErrors } from "../../kernel/database-errors.ts";
import { badCursor, parsePage, toPage } from "../../kernel/paging.ts";
import { getModel } from "../read-models.ts";
import { endpointRecord } from "./endpoint-record.ts";

/** One page. Throws 400, 404. */
export async function listEndpoints(ctx: VerbContext, model: string, query: unknown): Promise<Page<ModelEndpoint>> {
  const page = parsePage(query);
  const { id } = await getModel(ctx, model);
  const [priority, name] = page.after ?? [];
  if (page.after !== null && (!/^\d{1,16}$/.test(priority ?? "") || name === undefined)) throw badCursor();
  const rows = await withDatabaseErrors(async () =>
    ctx.db
      .select()
      .from(modelEndpoints)
      .where(
        and(
          eq(modelEndpoints.model_id, id),
          page.after === null
            ? undefined
            : sql`(${modelEndpoints.priority}, ${modelEndpoints.name}) > (${priority}::bigint, ${name})`,
        ),
      )
      .orderBy(asc(modelEndpoints.priority), asc(modelEndpoints.name))
      .limit(page.limit + 1),
  );
  return toPage(rows, page, (row) => [String(row.priority), row.name], endpointRecord);
}
