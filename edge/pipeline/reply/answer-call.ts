/**
 * The answer to a request that ended in an error: the one error body (decisions §1), its headers, and a row unless the
 * request's own settlement writes it or it met no route (decisions §23.4). Internals go to the log, never to the client.
 */
import { GatewayError } from "../../../shared/errors.ts";
import type { UsageRow } from "../../../shared/usage-row.ts";
import { AlreadySettled, type Call, ClientGone } from "../call/context.ts";
import { logEnd, reportEnd } from "../report/report-end.ts";
import { usageRowOf } from "../report/usage-row.ts";
import { readLevel } from "./rate-limit.ts";
import { gatewayHeaders } from "./response-headers.ts";
import { answerBeforeBodyRead } from "./unread-body-reply.ts";

/** Undoes what is on the list, each of it once. */
function cleanUp(call: Call): void {
  for (let undo = call.cleanups.shift(); undo !== undefined; undo = call.cleanups.shift()) undo();
}

/**
 * The answer of a call's steps, or to their error. Never throws. A client that leaves does not end them: the runtime would cut
 * them off wherever they are, and what they hold would never be given back.
 */
export async function answerCall(call: Call, steps: () => Promise<Response>): Promise<Response> {
  const answering = answer(call, steps);
  call.waitUntil(answering);
  return await answering;
}

async function answer(call: Call, steps: () => Promise<Response>): Promise<Response> {
  try {
    return await steps();
  } catch (error) {
    return await refuse(call, error);
  } finally {
    cleanUp(call);
  }
}

/** Answers an error, once the request has let go of everything. Never throws. */
async function refuse(call: Call, thrown: unknown): Promise<Response> {
  const settled = thrown instanceof AlreadySettled;
  const error = thrown instanceof AlreadySettled ? thrown.cause : thrown;
  call.facts.failure ??= error;
  cleanUp(call);
  if (error instanceof ClientGone) {
    if (!settled) reportEnd(call, usageRowOf(call, { statusCode: 499, admission: "queued" }));
    return new Response(null, { status: 499 });
  }
  const known = error instanceof GatewayError ? error : new GatewayError("internal_error", { cause: error });
  if (!settled) {
    const row = usageRowOf(call, { statusCode: known.status, admission: "rejected" });
    if (known.code === "unknown_endpoint") logEnd(call, row);
    else call.waitUntil(handIn(call, row));
  }
  // A Cell that is away is not asked once more for a header.
  if (known.code !== "scheduler_unavailable") await readLevel(call);
  const retry = known.status === 400 ? { "x-should-retry": "false" } : {};
  return answerBeforeBodyRead(call, known.body, {
    status: known.status,
    headers: { ...gatewayHeaders(call), ...retry, ...known.headers },
  });
}

/** A place that the Cell may hold for the request ends with this row, whichever of the two arrives first. */
async function handIn(call: Call, row: UsageRow): Promise<void> {
  const { admission } = call.ports;
  reportEnd(call, row);
  await (call.facts.queueEntryUnknown ? admission.settleOrphan(row) : admission.record(row));
}
