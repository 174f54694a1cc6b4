/** Reads the spec of a managed model, and lists all specs (docs/rules/managed-models.md#spec-fields). */
import { eq } from "drizzle-orm";
import type { ManagedModel } from "../../../shared/schema/managed-model.ts";
import { managedModels } from "../../db/schema/managed-models.ts";
import { models } from "../../db/schema/models.ts";
import type { Page, VerbContext } from "../../kernel/context.ts";
import { withDatabaseErrors } from "../../kernel/database-errors.ts";
import { afterCreated, byCreated, createdMicros, parsePage, readPage } from "../../kernel/paging.ts";
import { parseId } from "../../kernel/parse.ts";
import { managedModelColumns, managedModelRecord, readManagedModel, replicaCounts } from "./managed-model-record.ts";

/** The spec. Throws 404, also for a model without one. */
export async function getManagedModel({ db }: VerbContext, model: string): Promise<ManagedModel> {
  const modelId = parseId(model);
  return await withDatabaseErrors(async () => await readManagedModel(db, modelId));
}

const order = { created_at: managedModels.created_at, id: managedModels.model_id };

/** One page, the oldest first. Throws 400. */
export async function listManagedModels({ db }: VerbContext, query: unknown): Promise<Page<ManagedModel>> {
  const page = parsePage(query);
  return await readPage(
    page,
    async (part) => {
      const rows = await db
        .select({ ...managedModelColumns, micros: createdMicros(managedModels.created_at) })
        .from(managedModels)
        .innerJoin(models, eq(models.id, managedModels.model_id))
        .where(afterCreated(order, part))
        .orderBy(...byCreated(order))
        .limit(part.limit);
      const counts = await replicaCounts(
        db,
        rows.map(({ model_id }) => model_id),
      );
      return rows.map((row) => ({ row, counts: counts(row.model_id) }));
    },
    ({ row }) => [row.micros, row.model_id],
    ({ row, counts }) => managedModelRecord(row, counts),
  );
}
