/**
 * Reads one model.
 */
import { eq } from "drizzle-orm";
import { GatewayError } from "../../../shared/errors.ts";
import type { Model } from "../../../shared/schema/model.ts";
import { modelHealth, models } from "../../db/schema/models.ts";
import type { VerbContext } from "../../kernel/context.ts";
import { parseId } from "../../kernel/parse.ts";
import { withDatabaseErrors } from "../../kernel/write.ts";
import { modelRecord, modelWithHealth } from "../../resources/model-record.ts";

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
