/**
 * Turns a model's response cache on or off and says how long answers live (decisions §5.2). Stored answers expire.
 */
import { type Model, modelCacheSchema } from "../../../shared/schema/model.ts";
import type { VerbContext, Written } from "../../kernel/context.ts";
import { parse, parseId } from "../../kernel/parse.ts";
import { changeModel } from "../../resources/change-model.ts";

/** The model. Throws 400, 404. */
export async function setModelCache(ctx: VerbContext, id: string, input: unknown): Promise<Written<Model>> {
  const modelId = parseId(id);
  return await changeModel(ctx, modelId, "set_model_cache", parse(modelCacheSchema, input));
}
