/** The routes of the data plane: from HTTP to the pipeline and back. */
import { GatewayError } from "../../shared/errors.ts";
import type { Deps } from "../deps.ts";
import { storedAnswerOf } from "../domain/request/path-rules.ts";
import { type RequestTarget, requestTargetOf } from "../domain/request/request-target.ts";
import { mcpTarget } from "../domain/tools/mcp.ts";
import type { CalledLine } from "../pipeline/call/context.ts";
import type { CallAnswer } from "../pipeline/call/known.ts";
import { runMcp } from "../pipeline/mcp/run-mcp.ts";
import { runRealtime } from "../pipeline/realtime/run-realtime.ts";
import type { PipelineInput } from "../pipeline/receive/start-call.ts";
import { run, runLine, runOther } from "../pipeline/run.ts";
import { countTokens } from "../pipeline/run-count.ts";
import { runFiles } from "../pipeline/run-files.ts";
import { describeLimits } from "../pipeline/run-limits.ts";
import { describeModel, listModels } from "../pipeline/run-models.ts";
import { runResponsesSocket } from "../pipeline/run-responses-socket.ts";
import { runStored } from "../pipeline/run-stored.ts";
import { withResourceMetadata } from "./resource-metadata.ts";

/**
 * The input of the pipeline; `target`: path and query of the request, when they have been read already. Throws 400
 * `invalid_path`.
 */
function pipelineInputOf(
  deps: Deps,
  request: Request,
  context: ExecutionContext,
  target: RequestTarget | null = requestTargetOf(request.url),
): PipelineInput {
  const { env, underWay } = deps;
  if (target === null) throw new GatewayError("invalid_path");
  return {
    ports: deps.ports,
    memory: deps.memory,
    config: env,
    request,
    place: target,
    waitUntil: (work) => context.waitUntil(underWay.during(work)),
  };
}

/** The input of a request whose connection becomes a session. */
function sessionInputOf(deps: Deps, request: Request, context: ExecutionContext): PipelineInput {
  const input = pipelineInputOf(deps, request, context);
  const working = new Set<Promise<unknown>>();
  return {
    ...input,
    waitUntil: (work) => {
      const ended = (): unknown => working.delete(work);
      working.add(work);
      work.then(ended, ended);
      input.waitUntil(work);
    },
    cutOff: (reason) => void Promise.allSettled(working).then(() => context.abort(reason)),
  };
}

/** A path of MODEL_ROUTES (domain/route-class.ts). */
export async function modelRoute(
  deps: Deps,
  request: Request,
  context: ExecutionContext,
  target: RequestTarget,
): Promise<Response> {
  return await run(pipelineInputOf(deps, request, context, target));
}

/** A line of a batch, on one of BATCH_ENDPOINTS. */
export async function lineRoute(
  deps: Deps,
  request: Request,
  context: ExecutionContext,
  line: CalledLine,
): Promise<CallAnswer> {
  const input = pipelineInputOf(deps, request, context);
  // its reader is the gateway, which lets it wait for memory
  return await runLine({ ...input, config: { ...input.config, stalledReaderMs: 0 }, line });
}

/** Files and batches. */
export async function files(deps: Deps, request: Request, context: ExecutionContext): Promise<Response> {
  return await runFiles(pipelineInputOf(deps, request, context), deps.control);
}

/** `POST /v1/messages/count_tokens` */
export async function countedTokens(deps: Deps, request: Request, context: ExecutionContext): Promise<Response> {
  return await countTokens(pipelineInputOf(deps, request, context));
}

/** Any other path: served when its body names a registered model. */
export async function otherRoute(deps: Deps, request: Request, context: ExecutionContext): Promise<Response> {
  return await runOther(pipelineInputOf(deps, request, context));
}

/** Below `/v1/responses/`: a stored answer; every other path there is treated like any other path. */
export async function storedAnswer(deps: Deps, request: Request, context: ExecutionContext): Promise<Response> {
  const input = pipelineInputOf(deps, request, context);
  const id = storedAnswerOf(request.method, input.place.path);
  return id === null ? await runOther(input) : await runStored(input, id);
}

/** `GET /v1/models` */
export async function models(deps: Deps, request: Request, context: ExecutionContext): Promise<Response> {
  return await listModels(pipelineInputOf(deps, request, context));
}

/** `GET /v1/models/{id}` */
export async function modelDetail(deps: Deps, request: Request, context: ExecutionContext): Promise<Response> {
  return await describeModel(pipelineInputOf(deps, request, context));
}

/** `GET /v1/realtime` */
export async function realtime(deps: Deps, request: Request, context: ExecutionContext): Promise<Response> {
  return await runRealtime(sessionInputOf(deps, request, context));
}

/** `GET /v1/responses`: its WebSocket mode. */
export async function responsesSocket(deps: Deps, request: Request, context: ExecutionContext): Promise<Response> {
  const input = sessionInputOf(deps, request, context);
  const isUpgrade = request.headers.get("upgrade")?.toLowerCase() === "websocket";
  return await (isUpgrade ? runResponsesSocket : runOther)(input);
}

/** `GET /v1/limits` */
export async function limits(deps: Deps, request: Request, context: ExecutionContext): Promise<Response> {
  return await describeLimits(pipelineInputOf(deps, request, context), deps.budgets);
}

/** Any method on `/mcp/{server}` and below; a path that names no server is treated like any other path. */
export async function mcp(deps: Deps, request: Request, context: ExecutionContext): Promise<Response> {
  const input = pipelineInputOf(deps, request, context);
  const target = mcpTarget(input.place.path);
  if (target === null) return await runOther(input);
  return withResourceMetadata(deps, request, input.place.path, await runMcp(input, target));
}
