/**
 * Ends a running call whose caller would be refused by now, with that refusal (docs/rules/keys.md#running-requests). The records of
 * an isolate's calls are compared with the Cell's together (running-callers.ts); a call whose records have changed reads them again
 * itself.
 */
import { GatewayError } from "../../../shared/errors.ts";
import type { Call } from "../call/context.ts";
import { type Authenticated, StageFailure } from "../call/known.ts";
import { authenticate, checkTime } from "./authenticate.ts";
import { keyRevs } from "./freshness.ts";

/** How often a call looks, ms: with the Cell's answer a change is noticed within 4 s. */
const LOOK_EVERY_MS = 1_000;

/** `endsByTime`: the call also ends with the time of its key, secret or tenant, without any change. */
export function watchCaller(call: Call, caller: Authenticated, endsByTime = false): void {
  if (!call.config.endsStreamsOnRevoke) return;
  const { callers } = call.memory;
  let known = caller;
  const running = { revs: keyRevs(call, known.principal.key), isOld: false, failedMs: Number.NEGATIVE_INFINITY };
  const check = async (): Promise<void> => {
    try {
      if (running.isOld) {
        running.isOld = false;
        // The check creates nothing: a key of an identity that was deleted is made again by its next use only.
        const identity = known.identity && { ...known.identity, jitProvision: false };
        known = await authenticate(call, { ...known, identity });
        running.revs = keyRevs(call, known.principal.key);
      } else if (endsByTime) await checkTime(call, known);
    } catch (error) {
      const { cause } = StageFailure.of(error, known);
      // What could not be read is still older than the Cell knows, and is read again after its next answer.
      if (cause instanceof GatewayError && cause.status < 500) call.interruption.interrupt(cause);
    }
  };
  call.interruption.watch(() => {
    const look = (): void => {
      callOff = call.timer.after(LOOK_EVERY_MS, look);
      void check();
      void callers.ask(running, call.ports);
    };
    let callOff = call.timer.after(LOOK_EVERY_MS, look);
    callers.add(running);
    return () => {
      callers.delete(running);
      callOff();
    };
  });
}
