/**
 * Checks the address of an upstream that failed, for models with "Debug upstream failures"
 * (docs/rules/upstream-calls.md#diagnostics). It starts when the answer is decided and never delays it.
 */
import type { ModelRecord } from "../../../shared/records.ts";
import { OpenSpan } from "../../domain/trace/trace.ts";
import { clientStatus } from "../../domain/usage/billing.ts";
import type { Call } from "../call/context.ts";
import type { Known, Resolved } from "../call/known.ts";
import { sendLateSpan } from "../call/report/spans.ts";

/** Checks the address when the client gets a 502 or 504; `upstreamStatus` null: the upstream did not answer. */
export function diagnoseUpstream(call: Call, request: Resolved, apiBase: string, upstreamStatus: number | null): void {
  if (!request.model.debug_diagnostics) return;
  if (upstreamStatus !== null && clientStatus(upstreamStatus) !== 502) return;
  call.waitUntil(look(call, request, request.model, apiBase));
}

async function look(call: Call, known: Known, model: ModelRecord, apiBase: string): Promise<void> {
  const span = new OpenSpan("upstream_diagnostics", call.ports.clock());
  const { dnsOk, addresses, portOpen, elapsedMs, error } = await call.ports.diagnostics.check(apiBase);
  call.ports.log.event("upstream_diagnostics", {
    request_id: call.requestId,
    model: model.model_name,
    host: new URL(apiBase).host,
    dns_ok: dnsOk,
    addresses: addresses.join(" "),
    port_open: portOpen,
    elapsed_ms: elapsedMs,
    error,
  });
  span.set({ dns_ok: dnsOk, addresses, port_open: portOpen, elapsed_ms: elapsedMs, error });
  if (!dnsOk || !portOpen) span.fail();
  span.end(call.ports.clock());
  sendLateSpan(call, known, span);
}
