/**
 * Sets a model's capacity to what auto-tune recommended, and says that it was tuned (specification "States").
 */
import { applyAutotuneSchema, type Model } from "../../shared/schema/model.ts";
import type { VerbContext, Written } from "../kernel/context.ts";
import { parse, parseId } from "../kernel/parse.ts";
import { changeModel } from "../resources/change-model.ts";

/** The model. Throws 400, 404. */
export async function applyAutotune(ctx: VerbContext, id: string, input: unknown): Promise<Written<Model>> {
  const modelId = parseId(id);
  const { max_in_flight } = parse(applyAutotuneSchema, input);
  const tuned = { max_in_flight, capacity_mode: "tuned", capacity_tuned_at: ctx.now() };
  return await changeModel(ctx, modelId, "apply_autotune_capacity", tuned);
}
