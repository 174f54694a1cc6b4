/**
 * Lists the endpoints of a model in the order in which failover tries them (docs/rules/management-api.md#lists).
 */
import { and, asc, eq, type SQL, sql } from "drizzle-orm";
import type { ModelEndpoint } from "../../../shared/schema/model-endpoint.ts";
import { modelEndpoints } from "../../db/schema/endpoints.ts";
import type { Page, VerbContext } from "../../kernel/context.ts";
import { badCursor, parsePage, readPage } from "../../kernel/paging.ts";
import { getModel } from "../read-models.ts";
import { endpointRecord } from "./endpoint-record.ts";

/** One page. Throws 400, 404. */
export async function listEndpoints(ctx: VerbContext, model: string, query: unknown): Promise<Page<ModelEndpoint>> {
  const page = parsePage(query);
  const { id } = await getModel(ctx, model);
  return await readPage(
    page,
    (part) =>
      ctx.db
        .select()
        .from(modelEndpoints)
        .where(and(eq(modelEndpoints.model_id, id), behind(part.after)))
        .orderBy(asc(modelEndpoints.priority), asc(modelEndpoints.name))
        .limit(part.limit),
    (row) => [String(row.priority), row.name],
    endpointRecord,
  );
}

function behind(after: readonly string[] | null): SQL | undefined {
  if (after === null) return undefined;
  const [priority = "", name] = after;
  if (!/^\d{1,16}$/.test(priority) || name === undefined) throw badCursor();
  return sql`(${modelEndpoints.priority}, ${modelEndpoints.name}) > (${priority}::bigint, ${name})`;
}
