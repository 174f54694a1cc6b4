/** Fallbacks of models never lead back to a model that was tried before (docs/rules/models.md#fallback-models). */
import { sql } from "drizzle-orm";
import type { Transaction } from "../db/connect.ts";
import { models } from "../db/schema/models.ts";
import { fieldError } from "../kernel/parse.ts";

/** Fallbacks that a write gives a model. */
interface GivenFallbacks {
  readonly model_name: string;
  readonly fallback_models?: readonly string[] | undefined;
  /** Where they stand in the body. */
  readonly path?: string;
}

/** Writes run one at a time, so the lists stay as they are read here. Throws 400. */
export async function refuseFallbackCycle(tx: Transaction, given: readonly GivenFallbacks[]): Promise<void> {
  if (given.every(({ fallback_models = [] }) => fallback_models.length === 0)) return;
  const rows = await tx
    .select({ name: models.model_name, fallbacks: models.fallback_models })
    .from(models)
    .where(sql`${models.fallback_models} <> '[]'::jsonb`);
  const listed = new Map(rows.map((row) => [row.name, row.fallbacks]));
  for (const one of given) refuseCycle(listed, one);
}

function refuseCycle(
  listed: ReadonlyMap<string, readonly string[]>,
  { model_name: modelName, fallback_models = [], path = "fallback_models" }: GivenFallbacks,
): void {
  /** By the name of each model that is reached, the one that lists it. What is added meanwhile is visited too. */
  const reached = new Map(fallback_models.map((name) => [name, modelName]));
  for (const [name, from] of reached) {
    if (name === modelName)
      throw fieldError(
        path,
        from === name ? "must not contain the model itself" : `leads back to the model: '${from}' falls back to it`,
      );
    for (const next of listed.get(name) ?? []) if (!reached.has(next)) reached.set(next, name);
  }
}
