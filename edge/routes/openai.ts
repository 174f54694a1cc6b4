/**
 * The routes that a model answers: HTTP in, pipeline, HTTP out.
 */

import { GatewayError } from "../../shared/errors.ts";
import type { Deps } from "../deps.ts";
import { type Place, placeOf } from "../domain/place.ts";
import type { Received } from "../pipeline/receive.ts";
import { run, runOther } from "../pipeline/run.ts";

/** What the pipeline starts from; `place` is the request's, where it has been read already. Throws 400 `invalid_path`. */
export function received(
  deps: Deps,
  request: Request,
  context: ExecutionContext,
  place: Place | null = placeOf(request.url),
): Received {
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
  place: Place,
): Promise<Response> {
  return await run(received(deps, request, context, place));
}

/** Any other path: served when its body names a registered model. */
export async function otherRoute(deps: Deps, request: Request, context: ExecutionContext): Promise<Response> {
  return await runOther(received(deps, request, context));
}
