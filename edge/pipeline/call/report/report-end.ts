/**
 * The end of a call as operators see it: one wide line of the log for each call, for every outcome, and its spans. Written
 * once, by the step that ends the call first, from the facts known then. It never holds a prompt, an answer, a credential, a
 * path or a query; of the client's own texts it holds only those of the row, and the name of an unregistered model.
 */
import { GatewayError } from "../../../../shared/errors.ts";
import { rootCause } from "../../../../shared/text/root-cause.ts";
import type { UsageRow } from "../../../../shared/usage/usage-row.ts";
import { refusedCaller } from "../../../domain/request/refused-caller.ts";
import { printable } from "../../../domain/wire/text/printable.ts";
import type { LogFields } from "../../../ports.ts";
import { ClientGone } from "../client-gone.ts";
import { type Call, MODEL_TEXT_MAX } from "../context.ts";
import type { Known } from "../known.ts";
import { isTraced, sendSpans } from "./spans.ts";

/** The facts of an end that the log reports in addition to its row. */
export interface EndDetails {
  /** The error that the call failed with, as it was thrown; absent when it did not fail. */
  readonly failure?: unknown;
  /** The client took nothing of its answer, and was cut off. */
  readonly readerStalled?: boolean;
}

/** Reports a call that ends with this row. Only the first report of a call counts. */
export function reportEnd(call: Call, known: Known, row: UsageRow, details: EndDetails = {}): void {
  if (!call.endReport.take()) return;
  const { events } = call.boonRuns;
  if (events.length > 0) call.ports.events.count(events);
  sendSpans(call, known, row);
  log(call, known, row, details);
}

/** Logs the end of a call that leaves no row and no spans (docs/rules/settlement-and-rows.md#clients-that-leave). */
export function logEnd(call: Call, known: Known, row: UsageRow, details: EndDetails = {}): void {
  if (call.endReport.take()) log(call, known, row, details);
}

function log(call: Call, known: Known, row: UsageRow, details: EndDetails): void {
  const fields = fieldsOf(call, known, row, details);
  const line = isRefusal(call, row) ? { ...fields, ...refusedCaller(call.request) } : fields;
  call.ports.log.event("request", line, row.status_code >= 500 ? "error" : "info");
}

/** Refused before it could be admitted: not by a limit, and not because the client left. */
function isRefusal({ parentId }: Call, { admission, status_code: status }: UsageRow): boolean {
  return admission === "rejected" && parentId === null && status >= 400 && status < 429;
}

function fieldsOf(
  call: Call,
  known: Known,
  row: UsageRow,
  { failure = null, readerStalled = false }: EndDetails,
): LogFields {
  const { trace, traceContext } = call;
  const { outcomes } = known.upstream;
  const spent = trace.durations(row.ts_ms);
  return {
    msg: `${call.request.method} ${row.request_type} ${row.status_code}`,
    request_id: row.request_id,
    parent_request_id: call.parentId ?? undefined,
    cell: row.cell,
    tenant_id: row.tenant_id,
    key_id: row.key_id,
    model: row.model || printable(known.modelText, MODEL_TEXT_MAX),
    served_model: known.asked === null ? undefined : row.served_model,
    mcp_server: known.mcpServer ?? undefined,
    request_type: row.request_type,
    method: call.request.method,
    status: row.status_code,
    error: row.error_code === "" ? null : row.error_code,
    reason: reasonOf(failure),
    client_gone: row.error_code === "client_gone",
    reader_stalled: readerStalled || undefined,
    boons_warning: call.boonRuns.warnings.join() || undefined,
    admission: row.admission,
    cache: row.cache_status,
    endpoint: row.endpoint,
    upstream_status: row.upstream_status,
    attempts: row.attempts,
    retries: outcomes.retry ?? 0,
    failovers: outcomes.failover ?? 0,
    timeouts: outcomes.timeout ?? 0,
    input_tokens: row.input_tokens,
    output_tokens: row.output_tokens,
    estimated_tokens: row.estimated_tokens,
    cost_usd: row.cost_usd,
    auth_ms: spent.auth_resolve ?? 0,
    cache_ms: spent.cache_lookup ?? 0,
    admission_ms: spent.admission ?? 0,
    queue_wait_ms: row.queue_wait_ms,
    upstream_ms: (spent.upstream ?? 0) + (spent.mcp_request ?? 0),
    ttft_ms: row.ttft_ms,
    total_ms: row.total_ms,
    gateway_ms: row.gateway_ms,
    traced: isTraced(known),
    trace_id: traceContext?.traceId,
  };
}

/** Why the call failed; undefined for a refusal that has no other cause than its code. */
function reasonOf(failure: unknown): string | undefined {
  const cause = failure instanceof GatewayError ? failure.options.cause : failure;
  return cause === undefined || cause === null || cause instanceof ClientGone ? undefined : rootCause(cause);
}
