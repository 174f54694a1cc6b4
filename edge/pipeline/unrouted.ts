/**
 * Requests that no slot is needed for: the registry listing, and the detail probes that go to an upstream (decisions §17.4).
 * They pass the tenant's gates but no scheduler and no budget, and rest on current records like an admission (decisions
 * §43.3). The listing writes no row; a probe writes one that costs nothing.
 */
import { GatewayError } from "../../shared/errors.ts";
import type { ModelRecord } from "../../shared/records.ts";
import { NOTHING_BILLED } from "../domain/outcome.ts";
import { authenticate } from "./authenticate.ts";
import { beforeAdmission } from "./authenticate-now.ts";
import { type Call, ClientGone, type ParsedCall, type Principal, Settled } from "./context.ts";
import { DEFAULT_UPSTREAM } from "./default-upstream.ts";
import { forward } from "./forward.ts";
import { parseDetail, parseProbe } from "./parse-call.ts";
import { readLevel } from "./rate-limit.ts";
import { type Received, receive } from "./receive.ts";
import { answerFor } from "./refuse.ts";
import { relay } from "./relay.ts";
import { checkPath, resolveModel } from "./resolve-model.ts";
import { gatewayHeaders } from "./response-headers.ts";
import type { Ending } from "./settle.ts";
import { currentOf, modelRev, principalRevs, type Subject, subjectRevs } from "./still-current.ts";
import { logEnd, tellEnd } from "./tell-end.ts";
import { rowOf } from "./usage-record.ts";

/** What a model's name follows in the path of its detail. */
const DETAIL = "/v1/models/";

/** `GET /v1/models`: every registered model, by id; with a body that names a model it goes to that model's upstream. */
export async function listModels(received: Received): Promise<Response> {
  return await answer(received, async (call, principal) => {
    const probe = await beforeAdmission(call, async () => {
      checkPath(call);
      return await parseProbe(call);
    });
    return probe === null ? await listing(call, principal) : await forwardProbe(call, principal, probe);
  });
}

/** `GET /v1/models/{id}`: what the model's upstream says of it. */
export async function describeModel(received: Received): Promise<Response> {
  return await answer(received, async (call, principal) => {
    const probe = await beforeAdmission(call, async () => {
      checkPath(call);
      return parseDetail(call, DETAIL);
    });
    return await forwardProbe(call, principal, probe);
  });
}

async function answer(
  received: Received,
  work: (call: Call, principal: Principal) => Promise<Response>,
): Promise<Response> {
  const call = receive(received);
  return await answerFor(call, async () => await work(call, await authenticate(call)));
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
  const { models } = await currentOf(call, await read(known), revsOf, again);
  await readLevel(call);
  const data = models.map((model) => ({
    id: model.model_name,
    object: "model",
    created: Math.floor(model.created_at_ms / 1000),
    owned_by: "gateway",
    model_type: model.model_type,
    enabled: model.enabled,
  }));
  logEnd(call, rowOf(call, { statusCode: 200, admission: "fast" }));
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
  const read = async (principal: Principal): Promise<Subject> => ({
    principal,
    model: await beforeAdmission(call, async () => await modelOf(call, probe.modelName)),
  });
  const revsOf = (subject: Subject) =>
    subject.model === DEFAULT_UPSTREAM ? principalRevs(call, subject.principal) : subjectRevs(call, subject);
  const again = async (): Promise<Subject> => await read(await authenticate(call));
  const { model } = await currentOf(call, await read(known), revsOf, again);
  await readLevel(call);
  const end = ({ statusCode, ttftMs = 0 }: Ending): void => {
    const row = rowOf(call, { statusCode, ttftMs, admission: "fast" });
    tellEnd(call, row);
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
    throw new Settled(error);
  }
}
