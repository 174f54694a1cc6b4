/**
 * Replaces how a model's upstream calls are timed, repeated and spread over its endpoints (decisions §5.2).
 */
import { type Model, modelReliabilitySchema } from "../../../shared/schema/model.ts";
import type { VerbContext, Written } from "../../kernel/context.ts";
import { parse, parseId } from "../../kernel/parse.ts";
import { changeModel } from "../../resources/change-model.ts";

/** The model. Throws 400, 404. */
export async function setModelReliability(ctx: VerbContext, id: string, input: unknown): Promise<Written<Model>> {
  const modelId = parseId(id);
  return await changeModel(ctx, modelId, "set_model_reliability", parse(modelReliabilitySchema, input));
}
