/** Admission requests and exchanges for tests. */

import type { ExchangeMessage } from "../../../../edge/domain/admission/exchange-messages.ts";
import type { AdmissionRequest } from "../../../../edge/domain/admission/rpc.ts";
import { NO_AMOUNTS } from "../../../../edge/domain/budget/amounts.ts";
import { zeroUsageRow } from "../../../../shared/usage/usage-row.ts";
import { type Caps, limitsWith } from "../budget/simulation.ts";

/** A message without content. */
export const EMPTY_MESSAGE: ExchangeMessage = {
  n: 0,
  ends: [],
  departures: [],
  records: [],
  hits: [],
  returns: [],
  asks: [],
};

/** A request for 10 tokens of model `m`, by a tenant with these caps; without caps nothing limits it. */
export function admissionRequestOf(
  requestId: string,
  tenant: string,
  over: Partial<AdmissionRequest> = {},
  caps: Caps = {},
): AdmissionRequest {
  const limits = limitsWith(caps);
  return {
    requestId,
    tenant: { id: tenant, name: tenant, weight: 100, maxInFlight: null },
    group: { name: "g", weight: 1 },
    model: { name: "m", admissionWeight: 100, maxInFlight: null },
    costTokens: 10,
    revs: [{ kind: "tenant", id: tenant, rev: 1 }],
    openUntilMs: null,
    waitedMs: null,
    row: zeroUsageRow(requestId, 0),
    limits: { ...limits, tenant: { ...limits.tenant, id: tenant } },
    need: { bucketTokens: 10, termTokens: 10, nanoUsd: 0 },
    estimate: { inputTokens: 4, outputTokens: 6, costUsd: 1 },
    ...over,
  };
}

/** The same as a sub-call: it reserves nothing, and its row says what it is. */
export function subCallOf(request: AdmissionRequest): AdmissionRequest {
  return { ...request, need: NO_AMOUNTS, row: { ...request.row, admission: "boon" } };
}
