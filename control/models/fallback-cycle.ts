/** Fallbacks of models never lead back to a model that was tried before (docs/rules/models.md#fallback-models). */
import { sql } from "drizzle-orm";
import type { Transaction } from "../db/connect.ts";
import { models } from "../db/schema/models.ts";
import { fieldError } from "../kernel/parse.ts";

/** Writes run one at a time, so the lists stay as they are read here. Throws 400. */
export async function refuseFallbackCycle(
  tx: Transaction,
  modelName: string,
  fallbacks: readonly string[] = [],
): Promise<void> {
  if (fallbacks.length === 0) return;
  const rows = await tx
    .select({ name: models.model_name, fallbacks: models.fallback_models })
    .from(models)
    .where(sql`${models.fallback_models} <> '[]'::jsonb`);
  const listed = new Map(rows.map((row) => [row.name, row.fallbacks]));
  /** By the name of each model that is reached, the one that lists it. What is added meanwhile is visited too. */
  const reached = new Map(fallbacks.map((name) => [name, modelName]));
  for (const [name, from] of reached) {
    if (name === modelName)
      throw fieldError(
        "fallback_models",
        from === name ? "must not contain the model itself" : `leads back to the model: '${from}' falls back to it`,
      );
    for (const next of listed.get(name) ?? []) if (!reached.has(next)) reached.set(next, name);
  }
}
