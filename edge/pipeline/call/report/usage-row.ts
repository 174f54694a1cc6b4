/**
 * The usage row of a call at any point of its way (docs/rules/settlement-and-rows.md#rows): the facts known so far, and zero
 * values for the rest.
 */
import { GatewayError } from "../../../../shared/errors.ts";
import { NIL_UUID, type UsageRow, zeroUsageRow } from "../../../../shared/usage/usage-row.ts";
import { type Billed, NOTHING_BILLED, totalTokens } from "../../../domain/usage/billing.ts";
import { energyUsed } from "../../../domain/usage/energy.ts";
import { ClientGone } from "../client-gone.ts";
import type { Call } from "../context.ts";
import type { Known, Resolved } from "../known.ts";

/** The parts of a row that only the end of a request knows. */
interface UsageRowEnd {
  readonly statusCode: number;
  readonly admission: UsageRow["admission"];
  readonly billed?: Billed;
  readonly ttftMs?: number;
  /** The error that the call failed with, as it was thrown; absent when it did not fail. */
  readonly failure?: unknown;
}

/** The row of a call that ends now, from the known facts. */
export function usageRowOf(call: Call, known: Known, end: UsageRowEnd): UsageRow {
  const { principal, session, estimate, model, asked, upstream } = known;
  const billed = end.billed ?? NOTHING_BILLED;
  const nowMs = call.ports.clock();
  const totalMs = Math.max(0, nowMs - call.arrivedMs);
  // the Cell measures the wait by its own clock
  const queueWaitMs = Math.min(known.queueWaitMs, totalMs);
  const upstreamMs = call.trace.spentMs("upstream", nowMs) + call.trace.spentMs("mcp_request", nowMs);
  return {
    ...zeroUsageRow(call.requestId, nowMs),
    tenant_id: principal?.tenant.id ?? NIL_UUID,
    key_id: principal?.key.key_id ?? NIL_UUID,
    // Only registered names: rows are added up by model for ever, and a client can invent any number of names.
    model: (asked ?? model)?.model_name ?? "",
    served_model: upstream.model?.model_name ?? "",
    upstream_model: upstream.model?.upstream_model ?? "",
    request_type: principal?.tenant.synthetic === true ? "benchmark" : call.route.requestType,
    session_id: session.id,
    session_id_source: session.source,
    admission: end.admission,
    cache_status: known.cacheStatus,
    cell: call.ports.admission.cell,
    device_id: known.identity?.deviceId ?? "",
    tags: known.tags,
    end_user: known.endUser,
    weight: principal?.tenant.weight ?? 0,
    status_code: end.statusCode,
    upstream_status: known.upstream.status,
    error_code: errorCodeOf(end.failure ?? null),
    endpoint: known.upstream.endpoint,
    attempts: call.trace.count("upstream"),
    input_tokens: billed.inputTokens,
    output_tokens: billed.outputTokens,
    total_tokens: totalTokens(billed),
    cached_tokens: billed.cachedTokens,
    cache_write_tokens: billed.cacheWrittenTokens,
    audio_input_tokens: billed.audioInputTokens,
    image_input_tokens: billed.imageInputTokens,
    reasoning_tokens: billed.reasoningTokens,
    audio_output_tokens: billed.audioOutputTokens,
    image_output_tokens: billed.imageOutputTokens,
    input_seconds: billed.inputSeconds,
    estimated_tokens: estimate?.totalTokens ?? 0,
    queue_wait_ms: queueWaitMs,
    ttft_ms: end.ttftMs ?? 0,
    total_ms: totalMs,
    gateway_ms: Math.max(0, totalMs - queueWaitMs - upstreamMs),
    cost_usd: billed.costUsd,
  };
}

/**
 * The code of the error that the client got, or would have got; "" when the gateway's side of the call did not fail: an
 * upstream's own error that is passed on has no code of the gateway.
 */
function errorCodeOf(failure: unknown): string {
  if (failure instanceof GatewayError) return failure.code;
  if (failure instanceof ClientGone) return "client_gone";
  return failure === null ? "" : "internal_error";
}

/**
 * The row of a request that held a slot, with the energy of the time after its queue (docs/rules/energy.md#readings).
 * The row is complete before the power reading is fetched, so that the time of fetching is not counted.
 */
export async function withEnergy(
  call: Call,
  { model, energy }: Pick<Resolved, "model" | "energy">,
  row: UsageRow,
): Promise<UsageRow> {
  const terms = energy?.terms;
  if (terms == null || !terms.enabled) return row;
  const reading = await call.ports.energy.reading();
  const servedMs = row.total_ms - row.queue_wait_ms;
  return { ...row, ...energyUsed(terms, reading, model.energy_slots_per_node, servedMs) };
}
