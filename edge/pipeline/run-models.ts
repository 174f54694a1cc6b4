/**
 * Requests that need no slot: the registry's answers about models, and the detail probes that go to an upstream
 * (docs/rules/routes.md#model-listing). They pass the tenant's gates but no scheduler and no budget, and depend on current
 * records like an admission (docs/rules/freshness.md#every-use-compares). An answer of the registry writes no row; a probe
 * writes one that costs nothing.
 */
import { mayUseModel } from "../../shared/access/caller-access.ts";
import { GatewayError } from "../../shared/errors.ts";
import type { ModelRecord } from "../../shared/records.ts";
import { listedModel } from "../domain/request/listed-model.ts";
import { queryFault } from "../domain/request/steering-fields.ts";
import { type Billed, type BilledAnswer, NOTHING_BILLED, totalTokens } from "../domain/usage/billing.ts";
import { authenticate } from "./authenticate/authenticate.ts";
import { beforeAdmission } from "./authenticate/authenticate-now.ts";
import { modelRev, principalRevs, readUntilCurrent, subjectRevs } from "./authenticate/freshness.ts";
import { watchCaller } from "./authenticate/watch-caller.ts";
import type { AnswerStage } from "./call/boon/answer-stage.ts";
import { ClientGone } from "./call/client-gone.ts";
import { type Call, OnceLatch } from "./call/context.ts";
import {
  AlreadySettled,
  type Authenticated,
  type CallAnswer,
  type Known,
  type Parsed,
  type Resolved,
  StageFailure,
  withKnown,
} from "./call/known.ts";
import { logEnd, reportEnd } from "./call/report/report-end.ts";
import { usageRowOf } from "./call/report/usage-row.ts";
import { DEFAULT_UPSTREAM } from "./forward/default-upstream.ts";
import { forward } from "./forward/forward.ts";
import { UpstreamProgress } from "./forward/upstream-progress.ts";
import { answer } from "./receive/answer-call.ts";
import type { PipelineInput } from "./receive/start-call.ts";
import { relay } from "./relay/relay.ts";
import { isRequestCounted, readLevel } from "./reply/rate-limit.ts";
import { gatewayHeaders } from "./reply/response-headers.ts";
import { fieldError } from "./resolve-model/field-error.ts";
import { parseDetail, parseProbe } from "./resolve-model/parse-call.ts";
import { checkHead, resolveModel } from "./resolve-model/resolve-model.ts";
import type { RequestEnd } from "./settle/settle.ts";

/** The start of a model's detail path; the model's name follows it. */
const DETAIL = "/v1/models/";

/**
 * `GET /v1/models`: the models that the caller may use, by id; with a body that names a model, the request goes to that
 * model's upstream.
 */
export async function listModels(received: PipelineInput): Promise<Response> {
  const { response } = await answer(received, async (call, known) => {
    const caller = await authenticate(call, known);
    const probe = await beforeAdmission(call, caller, async () => {
      checkHead(call);
      return await parseProbe(call, caller);
    });
    if (probe === null) return await listing(call, caller);
    checkQuery(call, probe);
    return await forwardProbe(call, await resolveCurrent(call, probe, resolveProbe), PROBE);
  });
  return response;
}

/** The query of a probe goes upstream with it. Throws the failure of 400. */
function checkQuery(call: Call, probe: Parsed): void {
  const fault = queryFault(call.search, call.config.passthroughFields, { hasBody: false });
  if (fault !== null) throw new StageFailure(fieldError(fault), probe);
}

/** `GET /v1/models/{id}`: the registry's entry of the model. The id may have slashes, plain or as `%2F`. */
export async function describeModel(received: PipelineInput): Promise<Response> {
  const { response } = await answer(received, async (call, known) => {
    const caller = await authenticate(call, known);
    const asked = await beforeAdmission(call, caller, async () => {
      checkHead(call, DETAIL);
      return parseDetail(call, caller, DETAIL);
    });
    const resolved = await resolveCurrent(call, asked, resolveModel);
    return await registryAnswer(call, resolved, listedModel(resolved.model));
  });
  return response;
}

interface Registry extends Authenticated {
  readonly models: readonly ModelRecord[];
}

async function listing(call: Call, caller: Authenticated): Promise<CallAnswer> {
  const read = async (reader: Authenticated): Promise<Registry> => ({
    ...reader,
    models: await withKnown(reader, call.ports.directory.models()),
  });
  const revsOf = ({ principal, models }: Registry) => [...principalRevs(call, principal), ...models.map(modelRev)];
  const again = async (before: Known): Promise<Registry> => await read(await authenticate(call, before));
  const registry = await readUntilCurrent(call, await read(caller), revsOf, again);
  const { principal, models } = registry;
  const isListed = (model: ModelRecord): boolean =>
    call.config.listsAllModels || (model.enabled && mayUseModel(principal, model.model_name));
  return await registryAnswer(call, registry, { object: "list", data: models.filter(isListed).map(listedModel) });
}

async function registryAnswer(call: Call, caller: Authenticated, body: object): Promise<CallAnswer> {
  const known = { ...caller, level: await readLevel(call, caller) };
  logEnd(call, known, usageRowOf(call, known, { statusCode: 200, admission: "fast" }));
  return { response: Response.json(body, { headers: gatewayHeaders(call, known) }), known };
}

/** The model of a name, after its gates; a name that is not registered gets the default upstream. */
async function resolveProbe(call: Call, probe: Parsed): Promise<Resolved> {
  try {
    return await resolveModel(call, probe);
  } catch (error) {
    const { cause } = StageFailure.of(error, probe);
    if (!(cause instanceof GatewayError) || cause.code !== "model_not_found") throw error;
    return { ...probe, model: DEFAULT_UPSTREAM, energy: null, boons: null };
  }
}

/** What differs among requests that are forwarded without a slot. */
interface ForwardedProbe {
  readonly stagesOf: (call: Call, request: Resolved) => readonly AnswerStage[];
  readonly bill: (call: Call, request: Resolved, answered: BilledAnswer) => Billed;
  /** Whether it is one of the requests of a minute (docs/rules/budgets.md#per-minute-buckets). */
  readonly counts: boolean;
  /** Takes a row that owes or counts something. */
  readonly charge: (call: Call, request: Resolved & { readonly upstream: UpstreamProgress }, end: RequestEnd) => void;
}

/** A request that costs nothing. */
export const PROBE: ForwardedProbe = {
  stagesOf: () => [],
  counts: false,
  bill: () => NOTHING_BILLED,
  charge: () => undefined,
};

/** The model that answers, by `resolve`, for a caller and by records that are current. */
export async function resolveCurrent(
  call: Call,
  asked: Parsed,
  resolve: (call: Call, asked: Parsed) => Promise<Resolved>,
): Promise<Resolved> {
  const read = async (caller: Parsed): Promise<Resolved> =>
    await beforeAdmission(call, caller, async () => await resolve(call, caller));
  const revsOf = (found: Resolved) =>
    found.model === DEFAULT_UPSTREAM ? principalRevs(call, found.principal) : subjectRevs(call, found);
  const again = async (before: Parsed): Promise<Resolved> => await read(await authenticate(call, before));
  return await readUntilCurrent(call, await read(asked), revsOf, again);
}

/** The answer of the upstream to a request that needs no slot. It has passed every gate, and its row is written when it ends. */
export async function forwardProbe(call: Call, resolved: Resolved, how: ForwardedProbe): Promise<CallAnswer> {
  watchCaller(call, resolved);
  const request = { ...resolved, level: await readLevel(call, resolved), upstream: new UpstreamProgress() };
  const isCounted = how.counts && isRequestCounted(call, request);
  const ended = new OnceLatch();
  const end = (ending: RequestEnd): void => {
    if (!ended.take()) return;
    const { billed = NOTHING_BILLED } = ending;
    if (isCounted || (ending.refunded !== true && totalTokens(billed) + billed.costUsd > 0)) {
      how.charge(call, request, ending);
      return;
    }
    const { statusCode, ttftMs = 0, ...details } = ending;
    const row = usageRowOf(call, request, { statusCode, ttftMs, admission: "fast", failure: details.failure });
    reportEnd(call, request, row, details);
    call.waitUntil(call.ports.admission.record(row));
  };
  try {
    request.parsed.dropValues?.();
    const forwarded = await forward(call, request, request.upstream).finally(() => request.parsed.outgoing.release());
    const settler = { end, abandon: () => end({ statusCode: 500 }) };
    const response = await relay(call, {
      request,
      forwarded,
      bill: (answered) => how.bill(call, request, answered),
      settler,
      miss: null,
      stages: how.stagesOf(call, request),
    });
    return { response, known: request };
  } catch (error) {
    if (error instanceof ClientGone) end({ statusCode: 499, failure: error });
    else end({ statusCode: error instanceof GatewayError ? error.status : 500, failure: error });
    throw new AlreadySettled(error, request);
  }
}
