/**
 * The final row of a request: as settled, or completed from the row skeleton of the admission request when the request is
 * lost (docs/rules/admission.md#membership, docs/rules/budgets.md#term-budgets,
 * docs/rules/settlement-and-rows.md#clients-that-leave). The Cell fills in cell, admission and queue wait; the Worker fills
 * in the rest.
 */
import { CALLER_REFUSALS } from "../../../shared/access/caller-access.ts";
import type { ErrorCode } from "../../../shared/errors.ts";
import type { UsageRow } from "../../../shared/usage/usage-row.ts";
import { totalTokens } from "../usage/billing.ts";
import type { AdmissionEntry } from "./admission-entry.ts";
import type { Settlement, SlotTaken } from "./rpc.ts";

/**
 * A settled row with what only the Cell knows. `slot` null: the request left after `sinceMs` without a slot, which is its
 * queue wait. A refusal stays `rejected`, a sub-call `boon`.
 */
export function settledRow(settlement: Settlement, slot: SlotTaken | null, cell: string, sinceMs: number): UsageRow {
  const { row } = settlement;
  const queueWaitMs = slot?.queueWaitMs ?? Math.max(0, Math.round(sinceMs));
  return {
    ...row,
    cell,
    admission: row.admission === "rejected" || row.admission === "boon" ? row.admission : (slot?.admission ?? "queued"),
    queue_wait_ms: queueWaitMs,
    // time that the Worker took for the wait, and that was not, was spent in the gateway
    gateway_ms: Math.max(0, row.gateway_ms + row.queue_wait_ms - queueWaitMs),
  };
}

/**
 * The errors with which the gateway itself ends an answer: it stops, or the caller is refused by now
 * (docs/rules/keys.md#running-requests).
 */
export const ENDED_BY_GATEWAY: ReadonlySet<string> = new Set<ErrorCode>([
  "gateway_stopping",
  "invalid_token",
  ...CALLER_REFUSALS,
]);

/**
 * The tokens that a row charges, by the row alone: an answer that was refused after the upstream had worked keeps its
 * tokens in the row, and charges none (docs/rules/boons.md#answers). A client that left, or whose stream the gateway ended, pays
 * for them.
 */
export function chargedTokens(row: Pick<UsageRow, "status_code" | "total_tokens" | "error_code">): number {
  const { status_code: status, total_tokens: tokens, error_code: error } = row;
  return status >= 400 && status !== 499 && !ENDED_BY_GATEWAY.has(error) ? 0 : tokens;
}

/**
 * The settlement of a request that is lost: at the estimate when it ran, else nothing used and nothing charged. The status is
 * 499, because no client is left to answer.
 */
export function lostSettlement(
  { request, state, arrivedMs }: Pick<AdmissionEntry, "request" | "state" | "arrivedMs">,
  nowMs: number,
): Settlement {
  const ran = state === "running";
  const { estimate, row } = request;
  const inputTokens = ran ? estimate.inputTokens : 0;
  const outputTokens = ran ? estimate.outputTokens : 0;
  const actualTokens = totalTokens({ inputTokens, outputTokens });
  return {
    actualTokens,
    row: {
      ...row,
      ts_ms: nowMs,
      admission: row.admission === "boon" ? "boon" : state === "refused" ? "rejected" : "queued",
      status_code: 499,
      error_code: "client_gone",
      attempts: ran ? Math.max(row.attempts, 1) : row.attempts,
      input_tokens: inputTokens,
      output_tokens: outputTokens,
      total_tokens: actualTokens,
      total_ms: Math.max(0, Math.round(nowMs - arrivedMs)),
      cost_usd: ran ? estimate.costUsd : 0,
    },
  };
}
