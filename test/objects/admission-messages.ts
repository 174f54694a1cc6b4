/** Admission requests, settlements and rows as the pipeline sends them. */
import type { AdmissionRequest, Settlement } from "../../edge/domain/admission/rpc.ts";
import { type UsageRow, zeroUsageRow } from "../../shared/usage/usage-row.ts";
import { limitsWith } from "../harness/edge/budget/simulation.ts";
import { admissionRequestOf } from "../harness/edge/cell/admission-requests.ts";

export function rowFor(requestId: string, over: Partial<UsageRow> = {}): UsageRow {
  return { ...zeroUsageRow(requestId, Date.now()), tenant_id: crypto.randomUUID(), status_code: 200, ...over };
}

/** The admission request of one tenant for one slot; `over` replaces parts of it. */
export function admissionRequestFor(requestId: string, over: Partial<AdmissionRequest> = {}): AdmissionRequest {
  return admissionRequestOf(requestId, "t1", {
    tenant: { id: "t1", name: "Acme", weight: 100, maxInFlight: null },
    group: { name: "default", weight: 100 },
    model: { name: "m1", admissionWeight: 100, maxInFlight: null },
    revs: [{ kind: "key", id: "k1", rev: 5 }],
    row: rowFor(requestId, { status_code: 499 }),
    limits: limitsWith({}),
    estimate: { inputTokens: 4, outputTokens: 6, costUsd: 0.5 },
    ...over,
  });
}

export function settlementFor(requestId: string, tokens = 10): Settlement {
  return {
    row: rowFor(requestId, { admission: "fast", output_tokens: tokens, total_tokens: tokens }),
    actualTokens: tokens,
  };
}
