/**
 * The table of contents of a request: the nine steps of design §3, in order. The order is readable here and nowhere else.
 */
import { GatewayError } from "../../shared/errors.ts";
import type { ModelRecord } from "../../shared/records.ts";
import { isPassedThrough } from "../domain/routing/path-rules.ts";
import { type Billed, type BilledAnswer, bill, NOTHING_BILLED } from "../domain/usage/billing.ts";
import { authenticate } from "./access/authenticate.ts";
import { beforeAdmission } from "./access/authenticate-now.ts";
import type { AdmissionSubject } from "./access/freshness.ts";
import { checkPath, resolveModel } from "./access/resolve-model.ts";
import { admit, type Slot } from "./admission/admit.ts";
import { prepare } from "./admission/prepare.ts";
import { type RequestEnd, Settler } from "./admission/settle.ts";
import { parseCall, parseOther } from "./body/parse-call.ts";
import { cacheMissFor, lookupResponse } from "./cache/response-cache.ts";
import { AlreadySettled, type Call, ClientGone, type ParsedCall, type Prepared } from "./call/context.ts";
import { type PipelineInput, startCall } from "./call/start-call.ts";
import { relay } from "./relay/relay.ts";
import { answerCall } from "./reply/answer-call.ts";
import { keepOpenUntilBodyRead } from "./reply/unread-body-reply.ts";
import { cancelAnswer, type UpstreamAnswer } from "./upstream/attempt.ts";
import { forward } from "./upstream/forward.ts";

/** What a request asks for, and the model that answers it: as it is known, or read anew by the same rules. */
interface Wanted {
  readonly parsed: ParsedCall;
  readonly model: ModelRecord;
  readonly modelAnew: () => Promise<ModelRecord>;
}

/** Answers a request on a model-resolved route. Never throws. */
export async function run(received: PipelineInput): Promise<Response> {
  return await answer(received, async (call) => {
    const parsed = await parseCall(call);
    const modelAnew = async (): Promise<ModelRecord> => await resolveModel(call, parsed.modelName);
    return { parsed, model: await modelAnew(), modelAnew };
  });
}

/**
 * The same for any other path: 404 `unknown endpoint` unless it is a POST to a path that is passed through, and its body names
 * a registered model (decisions §17.4, §43.1).
 */
export async function runOther(received: PipelineInput): Promise<Response> {
  return await answer(received, async (call) => {
    const passes = call.request.method === "POST" && isPassedThrough(call.path, call.config.passthroughPaths);
    const read = passes ? await parseOther(call) : null;
    if (read === null) throw new GatewayError("unknown_endpoint");
    const { parsed } = read;
    const modelAnew = async (): Promise<ModelRecord> =>
      await resolveModel(call, parsed.modelName).catch((error: unknown) => {
        const absent = error instanceof GatewayError && error.code === "model_not_found";
        throw absent ? new GatewayError("unknown_endpoint") : error;
      });
    const model = await modelAnew();
    read.check();
    return { parsed, model, modelAnew };
  });
}

async function answer(received: PipelineInput, find: (call: Call) => Promise<Wanted>): Promise<Response> {
  const call = startCall(received);
  return await answerCall(call, async () => await steps(call, find));
}

async function steps(call: Call, find: (call: Call) => Promise<Wanted>): Promise<Response> {
  const principal = await authenticate(call);
  const { parsed, model, modelAnew } = await beforeAdmission(call, async () => {
    checkPath(call);
    return await find(call);
  });
  const prepared = prepare(call, principal, parsed);

  const reload = async (): Promise<AdmissionSubject> => ({
    principal: await authenticate(call),
    model: await modelAnew(),
  });

  let subject: AdmissionSubject = { principal, model };
  let cached = await lookupResponse(call, subject, parsed);
  if (cached.kind === "stale") {
    call.ports.directory.forget(cached.items);
    subject = await reload();
    cached = await lookupResponse(call, subject, parsed);
  }
  if (cached.kind === "stale") throw new GatewayError("key_store_unavailable");
  if (cached.kind === "hit") return cached.response;

  const slot = await admit(call, subject, prepared, reload);
  const settler = new Settler(call, slot);
  let forwarded: UpstreamAnswer | null = null;
  try {
    forwarded = await forward(call, slot.model, parsed, () => settler.upstreamCalled());
    const response = await relay(call, {
      model: slot.model,
      forwarded,
      bill: (answered) => billed(slot.model, prepared, answered),
      settler,
      miss: cacheMissFor(cached, slot.model),
    });
    return keepOpenUntilBodyRead(call, response, parsed.outgoing);
  } catch (error) {
    call.facts.failure = error;
    settler.end(endOf(call, slot, prepared, error));
    if (forwarded !== null) cancelAnswer(forwarded);
    throw new AlreadySettled(error);
  }
}

/** How a request ends that has a slot and no answer: whoever leaves or crashes while an upstream works owes its estimate. */
function endOf(call: Call, slot: Slot, prepared: Prepared, error: unknown): RequestEnd {
  if (error instanceof GatewayError) return { statusCode: error.status };
  const { upstreamStatus, upstreamUnderWay } = call.facts;
  const owed = upstreamUnderWay || (upstreamStatus >= 200 && upstreamStatus < 300);
  const statusCode = error instanceof ClientGone ? 499 : 500;
  return { statusCode, billed: owed ? billed(slot.model, prepared, null) : NOTHING_BILLED };
}

function billed(model: ModelRecord, prepared: Prepared, answered: BilledAnswer | null): Billed {
  return bill(model, prepared.estimate, prepared.measure(), answered);
}
