/**
 * The OpenAI-style routes: HTTP in, pipeline, HTTP out.
 */

import type { Deps } from "../deps.ts";
import type { Received } from "../pipeline/receive.ts";
import { run } from "../pipeline/run.ts";

/** What the pipeline starts from. */
export function received(deps: Deps, request: Request, context: ExecutionContext): Received {
  const { env } = deps;
  return {
    ports: deps.ports,
    memory: deps.memory,
    config: {
      apiKeyPepper: env.apiKeyPepper,
      maxBodyBytes: env.maxBodyBytes,
      upstreamBaseUrl: env.upstreamBaseUrl,
      upstreamTimeoutMs: env.upstreamTimeoutMs,
      sessionIdDerivation: env.sessionIdDerivation,
      ssrf: env.ssrf,
    },
    request,
    waitUntil: (work) => context.waitUntil(work),
  };
}

/** `POST /v1/chat/completions` */
export async function chatCompletions(deps: Deps, request: Request, context: ExecutionContext): Promise<Response> {
  return await run(received(deps, request, context));
}
