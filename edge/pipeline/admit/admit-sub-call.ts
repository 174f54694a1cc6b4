/**
 * The permit of a sub-call (docs/rules/settlement-and-rows.md#sub-calls). It is not a slot: it never waits, no gate refuses it,
 * nothing is reserved for it and nobody else waits because of it. It makes the Cell an owner of the call's row: the use of the
 * call is charged once, at its end, even if that creates a debt, and even if its Worker dies.
 */
import { GatewayError } from "../../../shared/errors.ts";
import { NO_AMOUNTS } from "../../domain/budget/amounts.ts";
import { ClientGone } from "../call/client-gone.ts";
import type { Call } from "../call/context.ts";
import { type Prepared, StageFailure } from "../call/known.ts";
import { usageRowOf } from "../call/report/usage-row.ts";
import { type AdmittedRequest, admissionMessage } from "./admit.ts";

/**
 * The sub-call with its permit. `requests`: how many requests per minute it counts as when it ends. Throws the failure of 503
 * `scheduler_unavailable`.
 */
export async function admitSubCall(call: Call, request: Prepared, requests = 0): Promise<AdmittedRequest> {
  const row = usageRowOf(call, request, { statusCode: 499, admission: "boon", failure: new ClientGone() });
  const message = { ...admissionMessage(call, request), need: { ...NO_AMOUNTS, requests }, row };
  try {
    const admitted = await call.ports.admission.admit(message);
    if (admitted.verdict !== "granted") throw new GatewayError("scheduler_unavailable");
    const { permit } = admitted;
    permit.whenLost?.(() => call.interruption.interrupt(new GatewayError("scheduler_unavailable")));
    return { ...request, message, permit, admission: "boon" };
  } catch (error) {
    // The Cell may have the sub-call nevertheless.
    throw new StageFailure(error, { ...request, queueEntryUnknown: true });
  }
}
