/**
 * Sets how many requests a model may have in flight in each cell, null for no cap; its capacity mode stays (decisions §5.2).
 */
import { type Model, modelCapacitySchema } from "../../../shared/schema/model.ts";
import type { VerbContext, Written } from "../../kernel/context.ts";
import { parse, parseId } from "../../kernel/parse.ts";
import { changeModel } from "../../resources/change-model.ts";

/** The model. Throws 400, 404. */
export async function setModelCapacity(ctx: VerbContext, id: string, input: unknown): Promise<Written<Model>> {
  const modelId = parseId(id);
  return await changeModel(ctx, modelId, "set_model_capacity", parse(modelCapacitySchema, input));
}
