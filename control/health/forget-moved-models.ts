/**
 * For changes that may give many models another upstream at once: resets the health of the models whose upstream has
 * changed, and of new models (docs/rules/health.md#states).
 */
import { inArray } from "drizzle-orm";
import type { Transaction } from "../db/connect.ts";
import { models } from "../db/schema/models.ts";
import { resetHealth } from "./configuration-change.ts";

const BATCH = 500;

/** Runs a change of the models with these ids. */
export async function resetHealthOfMoved<T>(
  tx: Transaction,
  ids: readonly string[],
  now: Date,
  change: () => Promise<T>,
): Promise<T> {
  const before = await upstreamsOf(tx, ids);
  const changed = await change();
  for (const [id, upstream] of await upstreamsOf(tx, ids))
    if (before.get(id) !== upstream) await resetHealth(tx, id, now);
  return changed;
}

async function upstreamsOf(tx: Transaction, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const upstreams = new Map<string, string>();
  for (let at = 0; at < ids.length; at += BATCH) {
    const rows = await tx
      .select({
        id: models.id,
        base: models.api_base,
        name: models.upstream_model,
        type: models.model_type,
        dialect: models.api_dialect,
      })
      .from(models)
      .where(inArray(models.id, ids.slice(at, at + BATCH)));
    for (const { id, ...upstream } of rows) upstreams.set(id, JSON.stringify(upstream));
  }
  return upstreams;
}
