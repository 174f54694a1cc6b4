/**
 * Who is asking, as the Cell knows it now. Admission refuses copies that are out of date; a request that is never admitted
 * asks for itself, so that after a revocation the very next request is told of it, whatever else is wrong (decisions
 * §2.6, §17.3).
 */
import { GatewayError } from "../../../shared/errors.ts";
import type { Call, Principal } from "../call/context.ts";
import { authenticate } from "./authenticate.ts";
import { principalRevs, readUntilCurrent } from "./freshness.ts";

/** The principal, read anew when a newer one is known. Throws 401, 403, or 503. */
export async function authenticateNow(call: Call): Promise<Principal> {
  const again = async (): Promise<Principal> => await authenticate(call);
  return await readUntilCurrent(call, await again(), (principal) => principalRevs(call, principal), again);
}

/**
 * Runs steps that come after the credential and before admission. What they refuse is told only to a caller who is still
 * known; when that cannot be found out, their own refusal stands.
 */
export async function beforeAdmission<T>(call: Call, steps: () => Promise<T>): Promise<T> {
  try {
    return await steps();
  } catch (refusal) {
    if (!(refusal instanceof GatewayError) || refusal.status >= 500) throw refusal;
    const newer = await authenticateNow(call).then(
      () => null,
      (error: unknown) => (error instanceof GatewayError && error.status < 500 ? error : null),
    );
    throw newer ?? refusal;
  }
}
