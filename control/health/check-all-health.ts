/**
 * Checks every eligible model: enabled, with checks on, not in maintenance (docs/rules/health.md#records). A fixed
 * number of models is checked at the same time. The answer comes when all are done; when the caller leaves, no further
 * check begins.
 */
import { asc } from "drizzle-orm";
import { GatewayError } from "../../shared/errors.ts";
import type { ModelHealthBulk, ModelHealthDetail } from "../../shared/schema/model-health.ts";
import { models } from "../db/schema/models.ts";
import type { VerbContext, Written } from "../kernel/context.ts";
import { withDatabaseErrors } from "../kernel/database-errors.ts";
import { getHealth } from "./get-health.ts";
import type { Prober } from "./prober.ts";

const AT_ONCE = 8;

/** The health of each checked model, sorted by model name, and how many models were skipped. */
export async function checkAllHealth(
  ctx: VerbContext,
  prober: Pick<Prober, "check">,
  signal: AbortSignal,
): Promise<Written<ModelHealthBulk>> {
  const all = await withDatabaseErrors(async () => await ctx.db.select().from(models).orderBy(asc(models.model_name)));
  const now = ctx.now();
  const eligible = all.filter(
    (model) =>
      model.enabled &&
      model.health_checks_enabled &&
      (model.health_maintenance_until === null || model.health_maintenance_until <= now),
  );
  const found = new Map<string, ModelHealthDetail>();
  let pending = false;
  const left = eligible.values();
  const work = async (): Promise<void> => {
    for (const { id } of left) {
      if (signal.aborted) return;
      const sync = await checkOne(prober, id, signal);
      if (sync === null) continue; // removed in the meantime, or the caller has left
      pending ||= sync === "pending";
      const detail = await unlessGone(getHealth(ctx, id));
      if (detail !== null) found.set(id, detail);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  const checked = eligible.flatMap(({ id }) => found.get(id) ?? []);
  return { record: { checked, skipped: all.length - eligible.length }, sync: pending ? "pending" : "done" };
}

/** Null when the model no longer exists. */
async function unlessGone<T>(reading: Promise<T>): Promise<T | null> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof GatewayError && error.code === "not_found") return null;
    throw error;
  }
}

async function checkOne(
  prober: Pick<Prober, "check">,
  id: string,
  signal: AbortSignal,
): Promise<"done" | "pending" | null> {
  try {
    return await withDatabaseErrors(async () => await prober.check(id, "bulk", signal));
  } catch (error) {
    if (signal.aborted) return null;
    throw error;
  }
}
