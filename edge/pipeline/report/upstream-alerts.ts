/**
 * Which ends of upstream calls operators hear of (docs/rules/alerts.md#issues-and-texts): no answer at all, an answer
 * that is the upstream's own fault, a stream that broke. Each is an alert, and one line of the log with its request; of
 * a stream that broke the call's own line says so, too. Details are the gateway's own words: names, statuses and
 * counts.
 */
import { issues } from "../../../shared/alerts.ts";
import { GatewayError } from "../../../shared/errors.ts";
import type { ModelRecord } from "../../../shared/records.ts";
import type { Call } from "../call/context.ts";

/** How far a request went before it was given up. */
interface Effort {
  readonly attempts: number;
  readonly endpoints: number;
}

/** Nothing came that the client could be given. */
export function reportUnanswered(call: Call, model: ModelRecord, effort: Effort & { readonly reason: string }): void {
  const { reason, attempts, endpoints } = effort;
  call.ports.alerts.raise(issues.upstreamRequestFailed(model.model_name, reason, attempts, endpoints));
  call.ports.log.event("upstream_request_failed", {
    request_id: call.requestId,
    model: model.model_name,
    reason,
    attempts,
    endpoints,
  });
}

/** The answer that the client gets: a 5xx, or a redirect that is not followed, is reported. */
export function reportAnswered(call: Call, model: ModelRecord, status: number, effort: Effort): void {
  if (status >= 500) {
    call.ports.alerts.raise(issues.upstream5xxResponse(model.model_name, status));
    const { model_name } = model;
    call.ports.log.event("upstream_5xx_response", { request_id: call.requestId, model: model_name, status, ...effort });
  } else if (status >= 300 && status < 400)
    reportUnanswered(call, model, { ...effort, reason: `redirect ${status} not followed` });
}

/** A body ended early, after `bytes` of it. Returns what the request failed with. */
export function reportBrokenStream(call: Call, model: ModelRecord, timedOut: boolean, bytes: number): GatewayError {
  const reason = timedOut ? "timed out" : "connection broke";
  call.ports.alerts.raise(issues.upstreamStreamError(model.model_name, reason, bytes));
  call.ports.log.event("upstream_stream_error", { request_id: call.requestId, model: model.model_name, reason, bytes });
  return new GatewayError("upstream_stream_error");
}
