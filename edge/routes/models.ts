/**
 * The registry of models, and what an upstream says of one.
 */
import type { Deps } from "../deps.ts";
import { describeModel, listModels } from "../pipeline/unrouted.ts";
import { received } from "./openai.ts";

/** `GET /v1/models` */
export async function models(deps: Deps, request: Request, context: ExecutionContext): Promise<Response> {
  return await listModels(received(deps, request, context));
}

/** `GET /v1/models/{id}` */
export async function modelDetail(deps: Deps, request: Request, context: ExecutionContext): Promise<Response> {
  return await describeModel(received(deps, request, context));
}
