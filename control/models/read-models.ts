/**
 * Reads one model, and lists models by name, with a part of a name
 * (docs/rules/management-api.md#lists, docs/rules/management-api.md#searches).
 */
import { and, asc, eq } from "drizzle-orm";
import { isModelPermitted } from "../../shared/access/access-window.ts";
import { GatewayError } from "../../shared/errors.ts";
import { type Model, modelFilterSchema } from "../../shared/schema/model.ts";
import { modelHealth, models } from "../db/schema/models.ts";
import { tenants } from "../db/schema/tenancy.ts";
import type { Page, UserList, VerbContext } from "../kernel/context.ts";
import { withDatabaseErrors } from "../kernel/database-errors.ts";
import { afterName, parseFiltered, readPage } from "../kernel/paging.ts";
import { parseId } from "../kernel/parse.ts";
import { containing } from "../kernel/search.ts";
import { SharedReads } from "../kernel/shared-reads.ts";
import { tenantRecord } from "../tenants/tenant-record.ts";
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

const byName = (ctx: VerbContext) =>
  ctx.db
    .select(modelWithHealth)
    .from(models)
    .leftJoin(modelHealth, eq(modelHealth.model_id, models.id))
    .orderBy(asc(models.model_name));

/** One page. Throws 400. */
export async function listModels(ctx: VerbContext, query: unknown): Promise<Page<Model>> {
  const { page, filter } = parseFiltered(modelFilterSchema, query);
  return await readPage(
    page,
    (part) =>
      byName(ctx)
        .where(
          and(afterName(models.model_name, part), containing(filter.q, [models.model_name, models.upstream_model])),
        )
        .limit(part.limit),
    (row) => [row.model_name],
    (row) => modelRecord({ row, healthStatus: row.health_status }),
  );
}

/**
 * The models that a tenant may use, by `q` (a part of the name) and `limit`. The pages and the search of all models would tell
 * of models that the tenant may not know, and of what the upstream calls them. Readers of one second share one read of them.
 */
export function modelsOfTenant(): UserList {
  const shared = new SharedReads<readonly Model[]>();
  return async (ctx, tenantId, { q = "", limit = "" }) => {
    const [row] = await withDatabaseErrors(async () => ctx.db.select().from(tenants).where(eq(tenants.id, tenantId)));
    if (row === undefined) return [];
    const tenant = tenantRecord(row);
    const all = await shared.get("", ctx.now().getTime(), async () => {
      const rows = await withDatabaseErrors(async () => byName(ctx));
      return rows.map((row) => modelRecord({ row, healthStatus: row.health_status }));
    });
    return all
      .filter(({ model_name: name }) => isModelPermitted(tenant, name) && name.toLowerCase().includes(q.toLowerCase()))
      .slice(0, /^[1-9]\d{0,5}$/.test(limit) ? Number(limit) : undefined);
  };
}
