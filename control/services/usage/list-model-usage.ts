/**
 * Usage per model.
 */
import { type ModelUsage, usageModelsQuerySchema } from "../../../shared/schema/usage.ts";
import type { AnalyticsStore } from "../../analytics/store.ts";
import { readModelUsage } from "../../analytics/usage-models.ts";
import type { VerbContext } from "../context.ts";
import { parse } from "../parse.ts";

/** Throws 400, 503. */
export async function listModelUsage(
  ctx: VerbContext,
  analytics: AnalyticsStore,
  input: unknown,
): Promise<readonly ModelUsage[]> {
  return await readModelUsage(analytics, parse(usageModelsQuerySchema, input), ctx.now().getTime());
}
