/**
 * The table of contents of a request: the nine steps of design §3, in order. The order is readable here and nowhere else.
 */
import { GatewayError } from "../../shared/errors.ts";
import { bill, NOTHING_BILLED } from "../domain/outcome.ts";
import { admit, type Slot, type Subject } from "./admit.ts";
import { abandon, type Forwarded } from "./attempt.ts";
import { authenticate } from "./authenticate.ts";
import { beforeAdmission } from "./authenticate-now.ts";
import { type Call, ClientGone, type Prepared, Settled } from "./context.ts";
import { forward } from "./forward.ts";
import { prepare } from "./prepare.ts";
import { type Received, receive } from "./receive.ts";
import { refuse } from "./refuse.ts";
import { relay } from "./relay.ts";
import { checkPath, parseCall, resolveModel } from "./resolve-model.ts";
import { lookupResponse } from "./response-cache.ts";
import { type Ending, Settler } from "./settle.ts";

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
  let forwarded: Forwarded | null = null;
  try {
    forwarded = await forward(call, slot.model, parsed, () => settler.upstreamCalled());
    return relay(call, slot, prepared, forwarded, settler, cached.kind === "miss" ? cached.miss : null);
  } catch (error) {
    settler.end(endOf(call, slot, prepared, error));
    if (forwarded !== null) abandon(forwarded);
    throw new Settled(error);
  }
}

/** How a request ends that has a slot and no answer: whoever leaves or crashes while an upstream works owes its estimate. */
function endOf(call: Call, slot: Slot, prepared: Prepared, error: unknown): Ending {
  if (error instanceof GatewayError) return { statusCode: error.status };
  const { upstreamStatus, upstreamUnderWay } = call.facts;
  const owed = upstreamUnderWay || (upstreamStatus >= 200 && upstreamStatus < 300);
  const billed = owed ? bill(slot.model, prepared.estimate, prepared.measure(), null) : NOTHING_BILLED;
  return { statusCode: error instanceof ClientGone ? 499 : 500, billed };
}
