/**
 * The permit of a sub-call (docs/rules/settlement-and-rows.md#sub-calls). The request that it belongs to has passed the
 * gates and holds its slot meanwhile; a sub-call that waited for a slot or for tokens could wait for its own request
 * for ever. Therefore the Cell counts it as a request that runs already: it never waits, no budget refuses it, nothing
 * is reserved for it, and its usage is charged at its end, even if that makes a debt.
 */
import { NO_AMOUNTS } from "../../domain/budget/amounts.ts";
import type { Call } from "../call/context.ts";
import { type Prepared, StageFailure } from "../call/known.ts";
import { usageRowOf } from "../report/usage-row.ts";
import { type AdmittedRequest, admissionMessage } from "./admit.ts";

/** The sub-call with its permit. Throws the failure of 503 `scheduler_unavailable`. */
export async function admitSubCall(call: Call, request: Prepared): Promise<AdmittedRequest> {
  const row = usageRowOf(call, request, { statusCode: 499, admission: "boon" });
  const message = { ...admissionMessage(call, request), need: NO_AMOUNTS, row };
  try {
    const permit = await call.ports.admission.adopt(message);
    return { ...request, message, permit, admission: "boon", atOnce: true, sessionLost: null };
  } catch (error) {
    // The Cell may count the sub-call all the same.
    throw new StageFailure(error, { ...request, queueEntryUnknown: true });
  }
}
