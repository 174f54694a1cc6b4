/**
 * Which ends of upstream calls are reported to operators (docs/rules/alerts.md#issues-and-texts): no answer at all, an
 * answer that is the upstream's own fault, a stream that broke. Each is an alert, and one line of the log with its
 * request; a stream that broke is also in the call's own line. Details are the gateway's own words: names, statuses and
 * counts.
 */
import { issues } from "../../../../shared/alerts.ts";
import { GatewayError } from "../../../../shared/errors.ts";
import type { ModelRecord } from "../../../../shared/records.ts";
import type { Call } from "../context.ts";

/** The attempts for a request before it was given up. */
interface Effort {
  readonly attempts: number;
  readonly endpoints: number;
}

interface Unanswered extends Effort {
  readonly reason: string;
  /** Says more of the last attempt, for the log. */
  readonly cause?: string | undefined;
}

/** Reports that no upstream gave an answer that the client could get. */
export function reportUnanswered(call: Call, model: ModelRecord, effort: Unanswered): void {
  const { reason, cause, attempts, endpoints } = effort;
  call.ports.alerts.raise(issues.upstreamRequestFailed(model.model_name, reason, attempts, endpoints));
  call.ports.log.event("upstream_request_failed", {
    request_id: call.requestId,
    model: model.model_name,
    reason: cause === undefined ? reason : `${reason}: ${cause}`,
    attempts,
    endpoints,
  });
}

/** Reports an answer that the client gets when it is a 5xx, or a redirect that is not followed. */
export function reportAnswered(call: Call, model: ModelRecord, status: number, effort: Effort): void {
  if (status >= 500) {
    call.ports.alerts.raise(issues.upstream5xxResponse(model.model_name, status));
    const { model_name } = model;
    call.ports.log.event("upstream_5xx_response", { request_id: call.requestId, model: model_name, status, ...effort });
  } else if (status >= 300 && status < 400)
    reportUnanswered(call, model, { ...effort, reason: `redirect ${status} not followed` });
}

/** Reports a body that ended early, or with an error, after `bytes` of it. Returns the failure of the request. */
export function reportBrokenStream(call: Call, model: ModelRecord, reason: string, bytes: number): GatewayError {
  call.ports.alerts.raise(issues.upstreamStreamError(model.model_name, reason, bytes));
  call.ports.log.event("upstream_stream_error", { request_id: call.requestId, model: model.model_name, reason, bytes });
  return new GatewayError("upstream_stream_error");
}
