/**
 * The answer to a request that ended in an error: the one error body (decisions §1), its headers, and a row unless the
 * request's own settlement writes it. Internals go to the log, never to the client.
 */
import { GatewayError } from "../../shared/errors.ts";
import type { UsageRow } from "../../shared/usage-row.ts";
import { type Call, ClientGone, Settled } from "./context.ts";
import { readLevel } from "./rate-limit.ts";
import { gatewayHeaders } from "./response-headers.ts";
import { rowOf } from "./usage-record.ts";

/** Answers an error. Never throws. */
export async function refuse(call: Call, thrown: unknown): Promise<Response> {
  const settled = thrown instanceof Settled;
  const error = thrown instanceof Settled ? thrown.cause : thrown;
  if (error instanceof ClientGone) return new Response(null, { status: 499 });
  const known = error instanceof GatewayError ? error : new GatewayError("internal_error", { cause: error });
  if (known.status >= 500) {
    const cause = known.options.cause;
    call.ports.log.event("request_failed", {
      request_id: call.requestId,
      code: known.code,
      status: known.status,
      reason: cause instanceof Error ? cause.name : null,
    });
  }
  if (!settled) call.waitUntil(handIn(call, rowOf(call, { statusCode: known.status, admission: "rejected" })));
  await readLevel(call);
  return Response.json(known.body, { status: known.status, headers: { ...gatewayHeaders(call), ...known.headers } });
}

/** A place that the Cell may hold for the request ends with this row, whichever of the two arrives first. */
async function handIn(call: Call, row: UsageRow): Promise<void> {
  const { admission } = call.ports;
  await (call.facts.placeUnknown ? admission.settleOrphan(row) : admission.record(row));
}
