/**
 * Lists models by name (decisions §2.4).
 */
import { asc, eq, gt } from "drizzle-orm";
import type { Model } from "../../../shared/schema/model.ts";
import { modelHealth, models } from "../../db/schema/models.ts";
import type { Page, VerbContext } from "../../kernel/context.ts";
import { badCursor, parsePage, toPage } from "../../kernel/paging.ts";
import { withDatabaseErrors } from "../../kernel/write.ts";
import { modelRecord, modelWithHealth } from "../../resources/model-record.ts";

/** One page. Throws 400. */
export async function listModels(ctx: VerbContext, query: unknown): Promise<Page<Model>> {
  const page = parsePage(query);
  const after = page.after?.[0];
  if (page.after !== null && after === undefined) throw badCursor();
  const rows = await withDatabaseErrors(async () =>
    ctx.db
      .select(modelWithHealth)
      .from(models)
      .leftJoin(modelHealth, eq(modelHealth.model_id, models.id))
      .where(after === undefined ? undefined : gt(models.model_name, after))
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
