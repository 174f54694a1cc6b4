/**
 * The table of contents of a request: the nine steps of design §3, in order. The order is readable here and nowhere else.
 */
import { GatewayError } from "../../shared/errors.ts";
import { bill, NOTHING_BILLED } from "../domain/outcome.ts";
import { admit, type Subject } from "./admit.ts";
import { authenticate } from "./authenticate.ts";
import { beforeAdmission } from "./authenticate-now.ts";
import { type Call, ClientGone, Settled } from "./context.ts";
import { forward } from "./forward.ts";
import { prepare } from "./prepare.ts";
import { type Received, receive } from "./receive.ts";
import { refuse } from "./refuse.ts";
import { relay } from "./relay.ts";
import { checkPath, parseCall, resolveModel } from "./resolve-model.ts";
import { lookupResponse } from "./response-cache.ts";
import { Settler } from "./settle.ts";

/** Answers a request on a model-resolved route. Never throws. */
export async function run(received: Received): Promise<Response> {
  const call = receive(received);
  try {
    return await steps(call);
  } catch (error) {
    return await refuse(call, error);
  }
}

async function steps(call: Call): Promise<Response> {
  let principal = await authenticate(call);
  const [parsed, model] = await beforeAdmission(call, async () => {
    checkPath(call);
    const body = await parseCall(call);
    return [body, await resolveModel(call, body.modelName)] as const;
  });
  const prepared = prepare(call, principal, parsed);

  let cached = await lookupResponse(call, principal, model, parsed);
  if (cached.kind === "stale-key") {
    call.ports.directory.forget([{ kind: "key", id: principal.key.key_hash, rev: principal.key.rev + 1 }]);
    principal = await authenticate(call);
    await resolveModel(call, parsed.modelName);
    cached = await lookupResponse(call, principal, model, parsed);
  }
  if (cached.kind === "hit") return cached.response;

  const reload = async (): Promise<Subject> => ({
    principal: await authenticate(call),
    model: await resolveModel(call, parsed.modelName),
  });
  const slot = await admit(call, { principal, model }, prepared, reload);
  const settler = new Settler(call, slot);
  try {
    const forwarded = await forward(call, slot.model, parsed, () => settler.upstreamCalled());
    return relay(call, slot, prepared, forwarded, settler, cached.kind === "miss" ? cached.miss : null);
  } catch (error) {
    if (error instanceof ClientGone) {
      const owed = call.facts.upstreamUnderWay;
      const billed = owed ? bill(slot.model, prepared.estimate, prepared.measure(), null) : NOTHING_BILLED;
      settler.end({ statusCode: 499, billed });
    } else {
      settler.end({ statusCode: error instanceof GatewayError ? error.status : 500 });
    }
    throw new Settled(error);
  }
}
