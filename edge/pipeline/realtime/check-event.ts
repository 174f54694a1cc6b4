/**
 * Names that an event of the client must not contain (docs/rules/realtime.md#events): fields that steer the upstream, and
 * objects of its account that the tenant was not given. The event, its `session` and its `response` are each read like a body.
 * The items of a session are its own.
 */
import type { Steps } from "../../../shared/steps.ts";
import type { RealtimeEvent } from "../../domain/realtime/realtime-events.ts";
import { decidingFields, type FieldFault, spellingFault } from "../../domain/request/client-fields.ts";
import { mayConcernSteering, steeringFault, steeringWithin } from "../../domain/request/steering-fields.ts";
import { type JsonObject, jsonObjectOf } from "../../domain/wire/json/document.ts";
import { writtenInSteps } from "../../domain/wire/json/write-in-steps.ts";
import type { Call } from "../call/context.ts";
import { inTurns } from "../call/in-turns.ts";
import { fieldError } from "../resolve-model/field-error.ts";
import { writtenCall } from "../resolve-model/json-outgoing.ts";
import { checkNamedObjects } from "../stored/upstream-objects.ts";
import { type OpenSession, withBody } from "./response-call.ts";

/** Throws 400 `validation_failed`, 404 `object_not_found`, or 503. */
export async function checkEvent(session: Call, request: OpenSession, event: RealtimeEvent): Promise<void> {
  const { session: settings, response, ...own } = event;
  if (own["model"] !== undefined || jsonObjectOf(response)?.["model"] !== undefined)
    throw fieldError({ param: "model", message: "model can only be given in session" });
  const fields = [
    ...decidingFields({ ...session.route, estimate: "responses", billedBy: "tokens" }),
    "max_response_output_tokens",
    "truncation",
  ];
  for (const body of [own, jsonObjectOf(settings), jsonObjectOf(response)]) {
    if (body === null) continue;
    const fault = await inTurns(session, fieldFault(body, fields, session.config.passthroughFields));
    if (fault !== null) throw fieldError(fault);
    await checkObjects(session, request, body);
  }
}

function* fieldFault(
  body: JsonObject,
  fields: readonly string[],
  allowed: ReadonlySet<string>,
): Steps<FieldFault | null> {
  const names = Object.keys(body);
  const spelled = spellingFault(names, fields);
  if (spelled !== null) return spelled;
  for (const name of names.filter(mayConcernSteering)) {
    const value = yield* writtenInSteps(body[name]);
    const fault = steeringFault(name, allowed) ?? (yield* steeringWithin(name, value, (inner) => inner, allowed));
    if (fault !== null) return fault;
  }
  return null;
}

async function checkObjects(session: Call, request: OpenSession, body: JsonObject): Promise<void> {
  const { input, item, items, conversation, ...others } = body;
  const isOwn = conversation === undefined || conversation === "auto" || conversation === "none";
  const named = { ...others, ...(isOwn ? {} : { conversation }), items: [items, input, item] };
  const parsed = await inTurns(
    session,
    writtenCall(named, request.parsed.modelName, () => false),
  );
  await checkNamedObjects(session, withBody(request, parsed));
}
