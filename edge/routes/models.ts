/**
 * The registry of models, and what an upstream says of one.
 */
import type { Deps } from "../deps.ts";
import { describeModel, listModels } from "../pipeline/run-models.ts";
import { pipelineInputOf } from "./openai.ts";

/** `GET /v1/models` */
export async function models(deps: Deps, request: Request, context: ExecutionContext): Promise<Response> {
  return await listModels(pipelineInputOf(deps, request, context));
}

/** `GET /v1/models/{id}` */
export async function modelDetail(deps: Deps, request: Request, context: ExecutionContext): Promise<Response> {
  return await describeModel(pipelineInputOf(deps, request, context));
}
