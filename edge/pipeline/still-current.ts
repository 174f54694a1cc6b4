/**
 * Whether a refusal may rest on a copy that the store could not confirm. The Cell knows of every change that was confirmed
 * (design §5): what it calls stale refuses nobody, and is not served by either.
 */
import { GatewayError } from "../../shared/errors.ts";
import type { RevItem } from "../../shared/internal.ts";
import type { Call } from "./context.ts";

/** Returns when the Cell knows nothing newer, or cannot be asked. Throws 503 `key_store_unavailable`. */
export async function mustBeCurrent(call: Call, items: readonly RevItem[]): Promise<void> {
  const stale = await call.ports.admission.staleAmong(items).catch(() => []);
  if (stale.length === 0) return;
  call.ports.directory.forget(stale);
  throw new GatewayError("key_store_unavailable");
}
