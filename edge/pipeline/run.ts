/**
 * The steps of a request, which docs/architecture.md#one-request describes, in order. Each step takes the facts so far and
 * returns them with its own findings. The order can be read here and nowhere else.
 */
import { GatewayError } from "../../shared/errors.ts";
import { checkResponsesRequest } from "../domain/dialect/responses/request.ts";
import { isPassedThrough } from "../domain/request/path-rules.ts";
import { MODEL_ROUTES } from "../domain/request/route-class.ts";
import { admit } from "./admit/admit.ts";
import { authenticate, checkTime } from "./authenticate/authenticate.ts";
import { beforeAdmission } from "./authenticate/authenticate-now.ts";
import { watchCaller } from "./authenticate/watch-caller.ts";
import { atPricesOf } from "./batch-line/batch-prices.ts";
import { keepAnswer } from "./batch-line/keep-answer.ts";
import { BOONS } from "./boons/boon-list.ts";
import { isAutoRequest, resolveAuto } from "./boons/resolve-auto.ts";
import type { Call, CalledLine } from "./call/context.ts";
import { isExaminedLate } from "./call/guards.ts";
import {
  type Authenticated,
  type CallAnswer,
  type Known,
  type Parsed,
  type Prepared,
  type Resolved,
  StageFailure,
} from "./call/known.ts";
import { isSpoken, translatesResponses } from "./forward/translated-call.ts";
import { guardInput } from "./guardrails/guard-input.ts";
import { outputGuards } from "./guardrails/guard-output.ts";
import { prepare } from "./prepare/prepare.ts";
import { answer } from "./receive/answer-call.ts";
import { limitSilence } from "./receive/keep-alive.ts";
import type { PipelineInput } from "./receive/start-call.ts";
import { serveAdmitted } from "./relay/serve-admitted.ts";
import { checkFields, parseCall, parseOther } from "./resolve-model/parse-call.ts";
import { checkModelHead, resolveModel } from "./resolve-model/resolve-model.ts";
import { lookupResponse } from "./response-cache/response-cache.ts";

/** How one kind of path finds the model that must answer. */
interface ModelRoute {
  /** The parsed body, and the model that it names. */
  find(call: Call, caller: Authenticated): Promise<Resolved>;
  /** The model, read again by the same rules. */
  resolve<K extends Parsed>(call: Call, request: K): Promise<K & Resolved>;
}

/** A documented path: its body must name a model. */
const DOCUMENTED: ModelRoute = {
  find: async (call, caller) => await resolveNamed(call, await parseCall(call, caller)),
  resolve: resolveNamed,
};

/** Any other path: without a registered model the answer is `unknown endpoint`. */
const OTHER: ModelRoute = {
  find: async (call, caller) => {
    const isUpgrade = call.request.headers.get("upgrade")?.toLowerCase() === "websocket";
    if (isUpgrade && MODEL_ROUTES.some((path) => path === call.path)) throw new GatewayError("websocket_unsupported");
    const passes = call.request.method === "POST" && isPassedThrough(call.path, call.config.passthroughPaths);
    const unchecked = passes ? await parseOther(call, caller) : null;
    if (unchecked === null) throw new GatewayError("unknown_endpoint");
    return checkFields(call, await resolveRegistered(call, unchecked.request), unchecked);
  },
  resolve: resolveRegistered,
};

/** Answers a request on a model-resolved route. Never throws. */
export async function run(received: PipelineInput): Promise<Response> {
  const { response } = await answer(received, async (call, known) => await steps(call, known, DOCUMENTED));
  return response;
}

/** The same for a line of a batch, with its known facts. */
export async function runLine(received: PipelineInput & { readonly line: CalledLine }): Promise<CallAnswer> {
  return await answer(received, async (call, known) => await steps(call, known, DOCUMENTED));
}

/**
 * Answers a request on any other path: 404 `unknown endpoint` unless it is a POST to a path that is forwarded, and its
 * body names a registered model (docs/rules/routes.md#unknown-paths). Never throws.
 */
export async function runOther(received: PipelineInput): Promise<Response> {
  const { response } = await answer(received, async (call, known) => await steps(call, known, OTHER));
  return response;
}

async function steps(call: Call, known: Known, route: ModelRoute): Promise<CallAnswer> {
  const caller = await authenticate(call, known);
  watchCaller(call, caller);
  const resolved = await beforeAdmission(call, caller, async () => {
    checkModelHead(call);
    return await route.find(call, caller);
  });
  limitSilence(call, resolved);
  let examined: Prepared | null = null;
  const guard = async (request: Prepared, isEarly = false): Promise<Prepared> => {
    examined = await guardInput(call, request, isEarly);
    await checkTime(call, examined);
    return examined;
  };
  const guardEarly = async (request: Prepared): Promise<Prepared> =>
    isExaminedLate(request) ? request : await guard(request, true);
  const reload = async (request: Prepared): Promise<Prepared> =>
    await guardEarly(await route.resolve(call, await authenticate(call, request)));
  try {
    const early = await guardEarly(await prepare(call, resolved));
    // a model is chosen again by the messages
    if (early.auto === null) early.parsed.dropValues?.();
    const cached = await lookupResponse(call, early, reload);
    if (cached.kind === "hit") return cached.answer;
    const admitted = await admitKnown(call, cached.request, reload);
    return await serveAdmitted(call, admitted, cached.key, {
      guard,
      reload,
      boons: BOONS,
      lastStages: (served, request) => [...outputGuards(served, request), ...keepAnswer(served)],
    });
  } catch (error) {
    // Findings of a policy that only logs are also logged for a refused request (docs/rules/guardrails.md#actions).
    besideOf(examined)?.("refused");
    throw StageFailure.of(error, resolved);
  }
}

/**
 * Admission. It is remembered for callers of `auto`: the classifier is not called for a caller whose requests are refused
 * (docs/rules/auto-router.md#classifier).
 */
async function admitKnown(...[call, request, reload]: Parameters<typeof admit>): ReturnType<typeof admit> {
  if (request.auto === null) return await admit(call, request, reload);
  const { refusedCallers } = call.memory.autoRouter;
  const { key_id: id } = request.principal.key;
  try {
    const admitted = await admit(call, request, reload);
    refusedCallers.answered(id);
    return admitted;
  } catch (error) {
    refusedCallers.failed(id, call.ports.clock());
    throw error;
  }
}

const besideOf = (examined: Prepared | null): NonNullable<Prepared["guarded"]>["beside"] =>
  examined?.guarded?.beside ?? null;

/** The model that the body names, or the one that the gateway chooses for it. */
async function resolveNamed<K extends Parsed>(call: Call, request: K): Promise<K & Resolved> {
  const isAuto = isAutoRequest(call, request);
  return atPricesOf(call, isAuto ? await resolveAuto(call, request) : await resolveSpoken(call, request));
}

/**
 * The model, whose API has this path or a translation of it. Throws the failure of 400 `untranslatable_route`, and of 400
 * `untranslatable_field` for fields that need a store of answers.
 */
async function resolveSpoken<K extends Parsed>(call: Call, request: K): Promise<K & Resolved> {
  const resolved = await resolveModel(call, request);
  const { model, parsed } = resolved;
  if (!isSpoken(call.path, model))
    throw new StageFailure(new GatewayError("untranslatable_route", { value: model.model_name }), resolved);
  try {
    if (translatesResponses(call.path, model)) checkResponsesRequest(parsed.document.root);
  } catch (error) {
    throw StageFailure.of(error, resolved);
  }
  return resolved;
}

/** The model of a path that is forwarded. Throws the failure of 404 `unknown_endpoint` when it is not registered. */
async function resolveRegistered<K extends Parsed>(call: Call, request: K): Promise<K & Resolved> {
  try {
    return await resolveSpoken(call, request);
  } catch (error) {
    const { cause, known } = StageFailure.of(error, request);
    const absent = cause instanceof GatewayError && cause.code === "model_not_found";
    throw absent ? new StageFailure(new GatewayError("unknown_endpoint"), known) : error;
  }
}
