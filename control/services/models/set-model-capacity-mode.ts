/**
 * Says whether a model's capacity is a person's choice or a tuned value (decisions §5.2). The capacity itself stays.
 */
import { type Model, modelCapacityModeSchema } from "../../../shared/schema/model.ts";
import type { VerbContext, Written } from "../../kernel/context.ts";
import { parse, parseId } from "../../kernel/parse.ts";
import { changeModel } from "../../resources/change-model.ts";

/** The model. Throws 400, 404. */
export async function setModelCapacityMode(ctx: VerbContext, id: string, input: unknown): Promise<Written<Model>> {
  const modelId = parseId(id);
  return await changeModel(ctx, modelId, "set_model_capacity_mode", parse(modelCapacityModeSchema, input));
}
