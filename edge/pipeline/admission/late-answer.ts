/** The Cell's answer to a request that did not wait for it any longer (docs/rules/admission.md#between-owners). */
import type { AdmissionOutcome } from "../../ports.ts";
import type { Call } from "../call/context.ts";
import type { Prepared } from "../call/known.ts";
import { usageRowOf } from "../report/usage-row.ts";

/** Gives back what the answer holds; its request was refused because the answer did not come. */
export async function giveBack(call: Call, request: Prepared, late: AdmissionOutcome): Promise<void> {
  if (late.verdict === "stale") return;
  await late.permit.settle({
    row: usageRowOf(call, request, { statusCode: 503, admission: "rejected" }),
    actualTokens: 0,
  });
}
