/**
 * Spans of a call: one step in a span, and sending all of them with the call's row (docs/rules/tracing.md#spans). Only
 * the spans of traced keys and tenants are kept, and the choices of the auto router; keeping them never delays an answer and never makes it fail.
 */
import type { UsageRow } from "../../../../shared/usage/usage-row.ts";
import type { OpenSpan, SpanName } from "../../../domain/trace/trace.ts";
import type { Call } from "../context.ts";
import type { Known } from "../known.ts";

/** Runs a step in a span; when it throws, the span is marked as failed. */
export async function withSpan<T>(call: Call, name: SpanName, step: (span: OpenSpan) => Promise<T>): Promise<T> {
  const span = call.trace.begin(name, call.ports.clock());
  try {
    return await step(span);
  } catch (error) {
    span.fail();
    throw error;
  } finally {
    span.end(call.ports.clock());
  }
}

/** Sends a span that ended after its call had ended. */
export function sendLateSpan(call: Call, known: Known, span: OpenSpan): void {
  if (isTraced(known)) call.ports.spans.send(call.requestId, [span.record("proxy_request", call.ports.clock())]);
}

/**
 * Sends the spans of a call that ends with this row. Of a call that is not traced, only the choice of its model is kept
 * (docs/rules/auto-router.md#explanation).
 */
export function sendSpans(call: Call, known: Known, row: UsageRow): void {
  const context = call.traceContext?.sampled === true ? call.traceContext : null;
  const wasChosen = call.trace.count("auto_route") > 0;
  if (!isTraced(known) && !wasChosen && context === null) return;
  const attributes = {
    path: call.path,
    model: row.model,
    served_model: row.served_model,
    status: row.status_code,
    admission: row.admission,
    cell: row.cell,
    endpoint: known.upstream.endpoint,
    attempts: call.trace.count("upstream"),
    session_id: row.session_id,
  };
  const spans = call.trace.records({ statusCode: row.status_code, attributes }, row.ts_ms);
  const kept = isTraced(known) ? spans : spans.filter(({ span_name }) => span_name === "auto_route");
  if (kept.length > 0) call.ports.spans.send(call.requestId, kept);
  if (context !== null) {
    const { apiBase } = known.upstream;
    call.ports.traces.add({ context, method: call.request.method, apiBase, row, spans });
  }
}

/** Whether the call's spans are kept. */
export function isTraced({ principal }: Known): boolean {
  return principal?.key.tracing_enabled === true || principal?.tenant.tracing_enabled === true;
}
