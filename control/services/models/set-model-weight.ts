/**
 * Sets what a request to a model weighs at admission, in percent (decisions §5.1, §20.1).
 */
import { type Model, modelWeightSchema } from "../../../shared/schema/model.ts";
import type { VerbContext, Written } from "../../kernel/context.ts";
import { parse, parseId } from "../../kernel/parse.ts";
import { changeModel } from "../../resources/change-model.ts";

/** The model. Throws 400, 404. */
export async function setModelWeight(ctx: VerbContext, id: string, input: unknown): Promise<Written<Model>> {
  const modelId = parseId(id);
  return await changeModel(ctx, modelId, "set_model_weight", parse(modelWeightSchema, input));
}
