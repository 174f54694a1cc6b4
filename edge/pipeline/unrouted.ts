/**
 * Requests that no slot is needed for: the registry listing, and the detail probes that go to an upstream (decisions §17.4).
 * They pass the tenant's gates but no scheduler and no budget. The listing writes no row; a probe writes one that costs
 * nothing.
 */
import { GatewayError } from "../../shared/errors.ts";
import type { ModelRecord } from "../../shared/records.ts";
import { NOTHING_BILLED } from "../domain/outcome.ts";
import { authenticateNow } from "./authenticate-now.ts";
import { type Call, ClientGone, type ParsedCall, Settled } from "./context.ts";
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
import { logEnd, tellEnd } from "./tell-end.ts";
import { rowOf } from "./usage-record.ts";

/** What a model's name follows in the path of its detail. */
const DETAIL = "/v1/models/";

/** `GET /v1/models`: every registered model, by id; with a body that names a model it goes to that model's upstream. */
export async function listModels(received: Received): Promise<Response> {
  return await answer(received, async (call) => {
    const probe = await parseProbe(call);
    return probe === null ? await listing(call) : await forwardProbe(call, probe);
  });
}

/** `GET /v1/models/{id}`: what the model's upstream says of it. */
export async function describeModel(received: Received): Promise<Response> {
  return await answer(received, async (call) => {
    return await forwardProbe(call, parseDetail(call, DETAIL));
  });
}

async function answer(received: Received, work: (call: Call) => Promise<Response>): Promise<Response> {
  const call = receive(received);
  return await answerFor(call, async () => {
    await authenticateNow(call);
    checkPath(call);
    return await work(call);
  });
}

async function listing(call: Call): Promise<Response> {
  const [models] = await Promise.all([call.ports.directory.models(), readLevel(call)]);
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

async function forwardProbe(call: Call, probe: ParsedCall): Promise<Response> {
  const model = await modelOf(call, probe.modelName);
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
