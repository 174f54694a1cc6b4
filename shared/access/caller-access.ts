/**
 * Whether a caller may be served, and with which models: the key that it presents and the key's tenant together
 * (docs/rules/errors.md#refusal-order, docs/rules/keys.md#expiry, docs/rules/keys.md#rotation). Pure: the clock is an
 * argument, so a copy in memory is never used beyond the end of its key or secret, however long it is kept.
 */

import type { ErrorCode } from "../errors.ts";
import type { ResolvedKey, ResolvedTenant } from "../records.ts";
import { ACCESS_REFUSALS, type AccessTerms, accessRefusal, isModelPermitted, openUntilMs } from "./access-window.ts";

/** The ends of a key and of its current secret. */
type KeyEnds = Pick<ResolvedKey, "expires_at_ms" | "secret_until_ms">;

/** The lists of models of a key and its tenant. */
interface ModelLists {
  readonly key: Pick<ResolvedKey, "allowed_models">;
  readonly tenant: Pick<ResolvedTenant, "allowed_models">;
}

/** The codes of {@link callerRefusal}. */
export const CALLER_REFUSALS = [
  "invalid_api_key",
  "api_key_disabled",
  "api_key_expired",
  "tenant_not_found",
  ...ACCESS_REFUSALS,
] as const satisfies readonly ErrorCode[];

/**
 * The error code of the first check that refuses a key at an instant, or null when it may be served. `invalid_api_key`: its
 * secret was replaced and is no longer admitted, so it identifies nobody.
 */
export function callerRefusal(
  key: KeyEnds & Pick<ResolvedKey, "disabled"> & { readonly tenant: AccessTerms | null },
  nowMs: number,
): (typeof CALLER_REFUSALS)[number] | null {
  if (key.secret_until_ms !== null && nowMs >= key.secret_until_ms) return "invalid_api_key";
  if (key.disabled) return "api_key_disabled";
  if (key.expires_at_ms !== null && nowMs >= key.expires_at_ms) return "api_key_expired";
  return key.tenant === null ? "tenant_not_found" : accessRefusal(key.tenant, nowMs);
}

/**
 * The time until which a caller that is served at `nowMs` is certain to be served while its records do not change, epoch
 * ms; null: without end. After this time it must be checked again.
 */
export function servedUntilMs(
  { key, tenant }: { readonly key: KeyEnds; readonly tenant: AccessTerms },
  nowMs: number,
): number | null {
  const ends = [openUntilMs(tenant, nowMs), key.expires_at_ms, key.secret_until_ms].filter((end) => end !== null);
  return ends.length === 0 ? null : Math.min(...ends);
}

/** True when both the tenant's list and the key's permit a model (docs/rules/keys.md#allowed-models). */
export function mayUseModel({ key, tenant }: ModelLists, modelName: string): boolean {
  return isModelPermitted(tenant, modelName) && isModelPermitted(key, modelName);
}
