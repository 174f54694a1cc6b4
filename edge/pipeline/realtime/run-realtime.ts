/**
 * `GET /v1/realtime?model=` (docs/rules/realtime.md): the steps of a request up to its upstream's 101, and then a session. What
 * refuses it before that is an ordinary answer. The session holds one slot for as long as it lasts, and has a row without tokens;
 * each response has its own.
 */
import { GatewayError } from "../../../shared/errors.ts";
import { endUserOf } from "../../domain/request/attribution.ts";
import { queryNames } from "../../domain/request/steering-fields.ts";
import { NOTHING_BILLED } from "../../domain/usage/billing.ts";
import { wholeDocument } from "../../domain/wire/json/document.ts";
import { type AdmittedRequest, admit, type Reload } from "../admit/admit.ts";
import { authenticate } from "../authenticate/authenticate.ts";
import { beforeAdmission } from "../authenticate/authenticate-now.ts";
import { watchCaller } from "../authenticate/watch-caller.ts";
import { ClientGone } from "../call/client-gone.ts";
import type { Call } from "../call/context.ts";
import {
  AlreadySettled,
  type CallAnswer,
  type Known,
  type Parsed,
  type Resolved,
  StageFailure,
} from "../call/known.ts";
import { cancelAnswer, type UpstreamAnswer } from "../forward/attempt.ts";
import { forward } from "../forward/forward.ts";
import { isSpoken } from "../forward/translated-call.ts";
import { UpstreamProgress } from "../forward/upstream-progress.ts";
import { prepare } from "../prepare/prepare.ts";
import { answer } from "../receive/answer-call.ts";
import type { PipelineInput } from "../receive/start-call.ts";
import { relay } from "../relay/relay.ts";
import { fieldError } from "../resolve-model/field-error.ts";
import { parseNamed } from "../resolve-model/parse-call.ts";
import { checkHead, resolveModel } from "../resolve-model/resolve-model.ts";
import { Settler } from "../settle/settle.ts";
import { RealtimeSession } from "./realtime-session.ts";
import { switched } from "./switched.ts";

/** The header in which OpenAI's clients name their end user. */
const END_USER_HEADER = "openai-safety-identifier";

/** Never throws. */
export async function runRealtime(received: PipelineInput): Promise<Response> {
  const { response } = await answer(received, steps);
  return response;
}

async function steps(call: Call, known: Known): Promise<CallAnswer> {
  const caller = await authenticate(call, known);
  watchCaller(call, caller, true);
  const resolved = await beforeAdmission(call, caller, async () => {
    checkHead(call);
    if (call.request.headers.get("upgrade")?.toLowerCase() !== "websocket")
      throw new GatewayError("realtime_upgrade_required", { headers: { upgrade: "websocket" } });
    const names = queryNames(call.search);
    const other = names.find((name, at) => name !== "model" || at > 0);
    if (other !== undefined)
      throw fieldError({ param: other, message: "the query of this path has only `model`, once" });
    const model = new URLSearchParams(call.search).get("model");
    if (model === null || model === "") throw new GatewayError("model_required");
    const endUser = endUserOf(wholeDocument({ safety_identifier: call.request.headers.get(END_USER_HEADER) }));
    return await resolve(call, { ...parseNamed(call, caller, model), endUser });
  });
  const reload: Reload = async (request) => await resolve(call, await authenticate(call, request));
  try {
    const session = call.config.sessionIdDerivation && resolved.session.id === "" ? ownSession(call) : resolved.session;
    return await open(call, await admit(call, await prepare(call, { ...resolved, session }), reload), reload);
  } catch (error) {
    throw StageFailure.of(error, resolved);
  }
}

/** The rows of a session belong together. */
const ownSession = ({ requestId }: Call) => ({ id: requestId, source: "derived" }) as const;

async function resolve<K extends Parsed>(call: Call, request: K): Promise<K & Resolved> {
  const resolved = await resolveModel(call, request);
  if (isSpoken(call.path, resolved.model)) return resolved;
  throw new StageFailure(new GatewayError("untranslatable_route", { value: resolved.model.model_name }), resolved);
}

/** The upstream's answer: a session if it switches protocols; otherwise its refusal of the upgrade, unchanged. */
async function open(call: Call, admitted: AdmittedRequest, reload: Reload): Promise<CallAnswer> {
  const upstream = new UpstreamProgress();
  const request = { ...admitted, upstream };
  const settler = new Settler(call, request);
  let forwarded: UpstreamAnswer | null = null;
  try {
    const search = `?${new URLSearchParams({ model: request.model.upstream_model }).toString()}`;
    forwarded = await forward({ ...call, search }, request, upstream);
    const { webSocket: socket, ok } = forwarded.response;
    if (socket === null) {
      if (ok) throw new GatewayError("upstream_failed", { cause: "the upstream did not switch to WebSocket" });
      const bill = () => NOTHING_BILLED;
      const response = await relay(call, { request, forwarded, stages: [], bill, settler, miss: null });
      return { response, known: request };
    }
    forwarded.cancellation.release();
    const { 0: theirs, 1: client } = new WebSocketPair();
    new RealtimeSession(call, request, { client, upstream: socket }, settler, reload).start();
    return { response: switched(call, request, theirs), known: request };
  } catch (error) {
    const failure = error instanceof ClientGone ? (call.interruption.failure ?? error) : error;
    const statusCode = failure instanceof GatewayError ? failure.status : failure instanceof ClientGone ? 499 : 500;
    settler.end({ statusCode, failure });
    if (forwarded !== null) cancelAnswer(forwarded);
    throw new AlreadySettled(failure, request);
  }
}
