/**
 * The registry listing and what no route serves.
 */
import type { Deps } from "../deps.ts";
import { listModels, unknownEndpoint } from "../pipeline/unrouted.ts";
import { received } from "./openai.ts";

/** `GET /v1/models` */
export async function models(deps: Deps, request: Request, context: ExecutionContext): Promise<Response> {
  return await listModels(received(deps, request, context));
}

/** Everything else. */
export async function unknown(deps: Deps, request: Request, context: ExecutionContext): Promise<Response> {
  return await unknownEndpoint(received(deps, request, context));
}
