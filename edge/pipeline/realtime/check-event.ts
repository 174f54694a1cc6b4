/**
 * What an event of the client may not name (docs/rules/realtime.md#events): fields that steer the upstream, and objects of its
 * account that the tenant was not given. The items of a session are its own.
 */
import type { RealtimeEvent } from "../../domain/realtime/realtime-events.ts";
import { steeringFault } from "../../domain/request/steering-fields.ts";
import { jsonObjectOf } from "../../domain/wire/json/document.ts";
import type { Call } from "../call/context.ts";
import { inTurns } from "../call/in-turns.ts";
import { fieldError } from "../resolve-model/field-error.ts";
import { writtenCall } from "../resolve-model/json-outgoing.ts";
import { checkNamedObjects } from "../stored/upstream-objects.ts";
import { type OpenSession, withBody } from "./response-call.ts";

/** Throws 400 `validation_failed`, 404 `object_not_found`, or 503. */
export async function checkEvent(session: Call, request: OpenSession, event: RealtimeEvent): Promise<void> {
  const settings = jsonObjectOf(event["session"]) ?? jsonObjectOf(event["response"]) ?? {};
  for (const name of Object.keys(settings)) {
    const fault = steeringFault(name, session.config.passthroughFields);
    if (fault !== null) throw fieldError(fault);
  }
  const { input, conversation, ...others } = settings;
  const isOwn = conversation === undefined || conversation === "auto" || conversation === "none";
  const body = { ...others, ...(isOwn ? {} : { conversation }), items: [input, event["item"]] };
  const parsed = await inTurns(
    session,
    writtenCall(body, request.parsed.modelName, () => false),
  );
  await checkNamedObjects(session, withBody(request, parsed));
}
