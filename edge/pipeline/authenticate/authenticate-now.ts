/**
 * The caller, as the Cell knows it now. Admission refuses outdated copies; a request that is never admitted compares its own,
 * so that after a revocation the very next request is refused for it, whatever its other faults
 * (docs/rules/freshness.md#write-path, docs/rules/errors.md#refusal-order).
 */
import { GatewayError } from "../../../shared/errors.ts";
import type { Call } from "../call/context.ts";
import { type Authenticated, type Known, StageFailure } from "../call/known.ts";
import { authenticate, checkTime } from "./authenticate.ts";
import { principalRevs, readUntilCurrent } from "./freshness.ts";

/** The input, with the principal, which is read again if the Cell knows a newer one. Throws the failure of 401, 403, or 503. */
export async function authenticateNow<K extends Known>(call: Call, known: K): Promise<K & Authenticated> {
  const caller = await authenticate(call, known);
  const revsOf = ({ principal }: Authenticated) => principalRevs(call, principal);
  return await readUntilCurrent(call, caller, revsOf, async (read) => await authenticate(call, read));
}

/**
 * Runs steps that come after the credential and before admission. The caller gets their refusal only when its own
 * access is still valid; when that cannot be found out, their refusal stands. A caller whose time ends meanwhile is
 * refused for that.
 */
export async function beforeAdmission<T>(call: Call, caller: Authenticated, steps: () => Promise<T>): Promise<T> {
  const done = await inOrder(call, caller, steps);
  await checkTime(call, caller);
  return done;
}

/** The steps, or the refusal that comes first (docs/rules/errors.md#refusal-order). */
async function inOrder<T>(call: Call, caller: Authenticated, steps: () => Promise<T>): Promise<T> {
  try {
    return await steps();
  } catch (error) {
    const failure = StageFailure.of(error, caller);
    const { cause: refusal } = failure;
    if (!(refusal instanceof GatewayError) || refusal.status >= 500) throw failure;
    throw await authenticateNow(call, failure.known).then(
      (known) => new StageFailure(refusal, known),
      (newer: unknown) => {
        const { cause, known } = StageFailure.of(newer, failure.known);
        return new StageFailure(cause instanceof GatewayError && cause.status < 500 ? cause : refusal, known);
      },
    );
  }
}
