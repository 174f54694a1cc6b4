/**
 * The one way from a request to its answer, for every kind of route: its steps run, and their error becomes the one
 * error body (docs/rules/errors.md#data-plane-codes), its headers, and a usage row. No row is written here when the
 * request's own settlement writes it, or when no route matched (docs/rules/settlement-and-rows.md#refusals). Internal
 * details go to the log, never to the client.
 */
import { type ErrorCode, GatewayError } from "../../../shared/errors.ts";
import type { UsageRow } from "../../../shared/usage/usage-row.ts";
import { readTags, TAGS_HEADER } from "../../domain/request/attribution.ts";
import { sessionOfHeaders } from "../../domain/request/session-id.ts";
import { errorDocument } from "../../domain/wire/error-form.ts";
import { ClientGone } from "../call/client-gone.ts";
import type { Call } from "../call/context.ts";
import { AlreadySettled, type CallAnswer, type Known, NOTHING_KNOWN, StageFailure } from "../call/known.ts";
import { logEnd, reportEnd } from "../call/report/report-end.ts";
import { usageRowOf } from "../call/report/usage-row.ts";
import { readLevel } from "../reply/rate-limit.ts";
import { gatewayHeaders } from "../reply/response-headers.ts";
import { answerBeforeBodyRead } from "../reply/unread-body-reply.ts";
import { answerEarly } from "./keep-alive.ts";
import { type PipelineInput, startCall } from "./start-call.ts";

/** Refusals of requests that name no service of the gateway. */
const ROWLESS: ReadonlySet<string> = new Set<ErrorCode>([
  "unknown_endpoint",
  "websocket_unsupported",
  "realtime_upgrade_required",
]);

/** The steps of one kind of route; `known`: the facts about its requests before the first step. */
type Steps = (call: Call, known: Known) => Promise<CallAnswer>;

/**
 * The answer of a route's steps, or the answer to their error. Never throws. A client that leaves does not end the steps: the
 * runtime would stop them at any point, and their resources would never be released.
 */
export async function answer(input: PipelineInput, steps: Steps, known: Known = NOTHING_KNOWN): Promise<CallAnswer> {
  const call = startCall(input);
  const { headers } = input.request;
  const tags = readTags(headers.get(TAGS_HEADER));
  const stated = { session: sessionOfHeaders(headers), tags: typeof tags === "string" ? tags : "" };
  const answering = answerCall(call, steps, { ...known, ...stated });
  call.waitUntil(answering);
  const early = call.headDue.promise.then((request) => answerEarly(call, request, answering));
  return await Promise.race([answering, early]);
}

async function answerCall(call: Call, steps: Steps, known: Known): Promise<CallAnswer> {
  try {
    return await steps(call, known);
  } catch (error) {
    return await refuse(call, StageFailure.of(error, known));
  } finally {
    cleanUp(call);
  }
}

/** Runs every function on the list once. */
function cleanUp(call: Call): void {
  for (let undo = call.cleanups.shift(); undo !== undefined; undo = call.cleanups.shift()) undo();
}

/** Answers a failure, after everything that the request holds was released. Never throws. */
async function refuse(call: Call, failure: StageFailure): Promise<CallAnswer> {
  const { known } = failure;
  // A client that is cut off at the end of a stop did not leave.
  const cause = failure.cause instanceof ClientGone ? (call.interruption.failure ?? failure.cause) : failure.cause;
  const settled = failure instanceof AlreadySettled;
  cleanUp(call);
  if (cause instanceof ClientGone) {
    if (!settled) {
      const admission = known.queueEntryUnknown ? "queued" : "rejected";
      const row = usageRowOf(call, known, { statusCode: 499, admission, failure: cause });
      call.waitUntil(handInRefusal(call, known, row, cause));
    }
    return { response: new Response(null, { status: 499 }), known };
  }
  const error = cause instanceof GatewayError ? cause : new GatewayError("internal_error", { cause });
  if (!settled) {
    const row = usageRowOf(call, known, { statusCode: error.status, admission: "rejected", failure: cause });
    if (ROWLESS.has(error.code)) logEnd(call, known, row, { failure: cause });
    else call.waitUntil(handInRefusal(call, known, row, cause));
  }
  // A Cell that is unreachable is not called again for a header.
  const level = error.code === "scheduler_unavailable" ? known.level : await readLevel(call, known);
  const retry = error.status === 400 ? { "x-should-retry": "false" } : {};
  const response = answerBeforeBodyRead(call, errorDocument(error.body, call), {
    status: error.status,
    headers: { ...gatewayHeaders(call, { ...known, level }), ...retry, ...error.headers },
  });
  return { response, known };
}

/** The error of a failed internal call of the gateway, whose row is on its way. */
export function causeOf(call: Call, error: unknown): unknown {
  if (!(error instanceof StageFailure)) return error;
  const { cause, known } = error;
  if (error instanceof AlreadySettled) return cause;
  const statusCode = cause instanceof GatewayError ? cause.status : 500;
  const row = usageRowOf(call, known, { statusCode, admission: "rejected", failure: cause });
  call.waitUntil(handInRefusal(call, known, row, cause));
  return cause;
}

/**
 * Hands in the row of a request that was refused, or left before it was admitted. A place that the Cell may hold for the request ends with this row,
 * whichever of the two arrives first.
 */
async function handInRefusal(call: Call, known: Known, row: UsageRow, failure: unknown): Promise<void> {
  const { admission } = call.ports;
  reportEnd(call, known, row, { failure });
  await (known.queueEntryUnknown ? admission.settleOrphan(row) : admission.record(row));
}
