/**
 * Requests that no slot is needed for: the registry listing, and the detail probes that go to an upstream (decisions §17.4).
 * They pass the tenant's gates but no scheduler and no budget, and rest on current records like an admission (decisions
 * §43.3). The listing writes no row; a probe writes one that costs nothing.
 */
import { GatewayError } from "../../shared/errors.ts";
import type { ModelRecord } from "../../shared/records.ts";
import { NOTHING_BILLED } from "../domain/usage/billing.ts";
import { authenticate } from "./access/authenticate.ts";
import { beforeAdmission } from "./access/authenticate-now.ts";
import { type AdmissionSubject, modelRev, principalRevs, readUntilCurrent, subjectRevs } from "./access/freshness.ts";
import { checkPath, resolveModel } from "./access/resolve-model.ts";
import type { RequestEnd } from "./admission/settle.ts";
import { parseDetail, parseProbe } from "./body/parse-call.ts";
import { AlreadySettled, type Call, ClientGone, type ParsedCall, type Principal } from "./call/context.ts";
import { type PipelineInput, startCall } from "./call/start-call.ts";
import { relay } from "./relay/relay.ts";
import { answerCall } from "./reply/answer-call.ts";
import { readLevel } from "./reply/rate-limit.ts";
import { gatewayHeaders } from "./reply/response-headers.ts";
import { logEnd, reportEnd } from "./report/report-end.ts";
import { usageRowOf } from "./report/usage-row.ts";
import { DEFAULT_UPSTREAM } from "./upstream/default-upstream.ts";
import { forward } from "./upstream/forward.ts";

/** What a model's name follows in the path of its detail. */
const DETAIL = "/v1/models/";

/** `GET /v1/models`: every registered model, by id; with a body that names a model it goes to that model's upstream. */
export async function listModels(received: PipelineInput): Promise<Response> {
  return await answer(received, async (call, principal) => {
    const probe = await beforeAdmission(call, async () => {
      checkPath(call);
      return await parseProbe(call);
    });
    return probe === null ? await listing(call, principal) : await forwardProbe(call, principal, probe);
  });
}

/** `GET /v1/models/{id}`: what the model's upstream says of it. */
export async function describeModel(received: PipelineInput): Promise<Response> {
  return await answer(received, async (call, principal) => {
    const probe = await beforeAdmission(call, async () => {
      checkPath(call);
      return parseDetail(call, DETAIL);
    });
    return await forwardProbe(call, principal, probe);
  });
}

async function answer(
  received: PipelineInput,
  work: (call: Call, principal: Principal) => Promise<Response>,
): Promise<Response> {
  const call = startCall(received);
  return await answerCall(call, async () => await work(call, await authenticate(call)));
}

interface Registry {
  readonly principal: Principal;
  readonly models: readonly ModelRecord[];
}

async function listing(call: Call, known: Principal): Promise<Response> {
  const read = async (principal: Principal): Promise<Registry> => ({
    principal,
    models: await call.ports.directory.models(),
  });
  const revsOf = ({ principal, models }: Registry) => [...principalRevs(call, principal), ...models.map(modelRev)];
  const again = async (): Promise<Registry> => await read(await authenticate(call));
  const { models } = await readUntilCurrent(call, await read(known), revsOf, again);
  await readLevel(call);
  const data = models.map((model) => ({
    id: model.model_name,
    object: "model",
    created: Math.floor(model.created_at_ms / 1000),
    owned_by: "gateway",
    model_type: model.model_type,
    enabled: model.enabled,
  }));
  logEnd(call, usageRowOf(call, { statusCode: 200, admission: "fast" }));
  return Response.json({ object: "list", data }, { headers: gatewayHeaders(call) });
}

/** The record of a name, behind the gates of its model; a name that nobody registered is the default upstream's. */
async function modelOf(call: Call, name: string): Promise<ModelRecord> {
  try {
    return await resolveModel(call, name);
  } catch (error) {
    if (error instanceof GatewayError && error.code === "model_not_found") return DEFAULT_UPSTREAM;
    throw error;
  }
}

async function forwardProbe(call: Call, known: Principal, probe: ParsedCall): Promise<Response> {
  const read = async (principal: Principal): Promise<AdmissionSubject> => ({
    principal,
    model: await beforeAdmission(call, async () => await modelOf(call, probe.modelName)),
  });
  const revsOf = (subject: AdmissionSubject) =>
    subject.model === DEFAULT_UPSTREAM ? principalRevs(call, subject.principal) : subjectRevs(call, subject);
  const again = async (): Promise<AdmissionSubject> => await read(await authenticate(call));
  const { model } = await readUntilCurrent(call, await read(known), revsOf, again);
  await readLevel(call);
  const end = ({ statusCode, ttftMs = 0 }: RequestEnd): void => {
    const row = usageRowOf(call, { statusCode, ttftMs, admission: "fast" });
    reportEnd(call, row);
    call.waitUntil(call.ports.admission.record(row));
  };
  try {
    const forwarded = await forward(call, model, probe, () => undefined);
    const settler = { end, abandon: () => end({ statusCode: 500 }) };
    return await relay(call, { model, forwarded, bill: () => NOTHING_BILLED, settler, miss: null });
  } catch (error) {
    call.facts.failure = error;
    if (error instanceof ClientGone) end({ statusCode: 499 });
    else end({ statusCode: error instanceof GatewayError ? error.status : 500 });
    throw new AlreadySettled(error);
  }
}
