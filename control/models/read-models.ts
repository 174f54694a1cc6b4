/**
 * Reads one model, and lists models by name, with a part of a name
 * (docs/rules/management-api.md#lists, docs/rules/management-api.md#searches).
 */
import { and, asc, eq, gt } from "drizzle-orm";
import { GatewayError } from "../../shared/errors.ts";
import { type Model, modelFilterSchema } from "../../shared/schema/model.ts";
import { modelHealth, models } from "../db/schema/models.ts";
import type { Page, VerbContext } from "../kernel/context.ts";
import { withDatabaseErrors } from "../kernel/database-errors.ts";
import { badCursor, parseFiltered, toPage } from "../kernel/paging.ts";
import { parseId } from "../kernel/parse.ts";
import { containing } from "../kernel/search.ts";
import { modelRecord, modelWithHealth } from "./model-record.ts";

/** The model. Throws 404. */
export async function getModel(ctx: VerbContext, id: string): Promise<Model> {
  const modelId = parseId(id);
  const [row] = await withDatabaseErrors(async () =>
    ctx.db
      .select(modelWithHealth)
      .from(models)
      .leftJoin(modelHealth, eq(modelHealth.model_id, models.id))
      .where(eq(models.id, modelId)),
  );
  if (row === undefined) throw new GatewayError("not_found");
  return modelRecord({ row, healthStatus: row.health_status });
}

/** One page. Throws 400. */
export async function listModels(ctx: VerbContext, query: unknown): Promise<Page<Model>> {
  const { page, filter } = parseFiltered(modelFilterSchema, query);
  const after = page.after?.[0];
  if (page.after !== null && after === undefined) throw badCursor();
  const rows = await withDatabaseErrors(async () =>
    ctx.db
      .select(modelWithHealth)
      .from(models)
      .leftJoin(modelHealth, eq(modelHealth.model_id, models.id))
      .where(
        and(
          after === undefined ? undefined : gt(models.model_name, after),
          containing(filter.q, [models.model_name, models.upstream_model]),
        ),
      )
      .orderBy(asc(models.model_name))
      .limit(page.limit + 1),
  );
  return toPage(
    rows,
    page,
    (row) => [row.model_name],
    (row) => modelRecord({ row, healthStatus: row.health_status }),
  );
}
