/**
 * The routes that a model answers: HTTP in, pipeline, HTTP out.
 */

import { GatewayError } from "../../shared/errors.ts";
import type { Deps } from "../deps.ts";
import { type RequestTarget, requestTargetOf } from "../domain/routing/request-target.ts";
import type { PipelineInput } from "../pipeline/call/start-call.ts";
import { run, runOther } from "../pipeline/run.ts";

/** What the pipeline starts from; `place` is the request's, where it has been read already. Throws 400 `invalid_path`. */
export function pipelineInputOf(
  deps: Deps,
  request: Request,
  context: ExecutionContext,
  place: RequestTarget | null = requestTargetOf(request.url),
): PipelineInput {
  const { env } = deps;
  if (place === null) throw new GatewayError("invalid_path");
  return {
    ports: deps.ports,
    memory: deps.memory,
    config: {
      apiKeyPepper: env.apiKeyPepper,
      maxBodyBytes: env.maxBodyBytes,
      upstreamBaseUrl: env.upstreamBaseUrl,
      upstreamTimeoutMs: env.upstreamTimeoutMs,
      stalledReaderMs: env.stalledReaderMs,
      sessionIdDerivation: env.sessionIdDerivation,
      passthroughPaths: env.passthroughPaths,
      ssrf: env.ssrf,
    },
    request,
    place,
    waitUntil: (work) => context.waitUntil(work),
  };
}

/** A path of MODEL_ROUTES (domain/route-class.ts). */
export async function modelRoute(
  deps: Deps,
  request: Request,
  context: ExecutionContext,
  place: RequestTarget,
): Promise<Response> {
  return await run(pipelineInputOf(deps, request, context, place));
}

/** Any other path: served when its body names a registered model. */
export async function otherRoute(deps: Deps, request: Request, context: ExecutionContext): Promise<Response> {
  return await runOther(pipelineInputOf(deps, request, context));
}
