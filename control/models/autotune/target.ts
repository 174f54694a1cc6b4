/**
 * Chooses the upstream of a model that is probed (docs/rules/autotune.md#report,
 * docs/rules/upstream-calls.md#endpoint-order): the one that a request without a session would be sent to first, in
 * failover order. Pure.
 */

import { accessOf, type UpstreamAccess } from "../../../shared/network/upstream-access.ts";

/** An upstream as the record of the model or endpoint states it. */
interface TargetSource {
  /** Null: the model's. */
  readonly auth_scheme: string | null;
  readonly api_base: string;
  readonly api_key: string | null;
}

export interface EndpointSource extends TargetSource {
  readonly name: string;
  readonly priority: number;
  readonly enabled: boolean;
  readonly health_status: string;
}

export interface LoadTarget {
  readonly access: UpstreamAccess;
  readonly apiBase: string;
  /** As stored; null: none. */
  readonly credential: string | null;
  /** The operator's own default upstream, not an address that an admin registered. */
  readonly isDefault: boolean;
}

/** There is always a target: models without any address use the default upstream. */
export function loadTarget(
  model: TargetSource & UpstreamAccess,
  endpoints: readonly EndpointSource[],
  defaultBase: string,
): LoadTarget {
  const enabled = endpoints
    .filter((endpoint) => endpoint.enabled)
    .sort((a, b) => a.priority - b.priority || (a.name < b.name ? -1 : 1));
  const own = model.api_base === "" ? undefined : model;
  const chosen = enabled.find(({ health_status }) => health_status !== "unhealthy") ?? own ?? enabled[0];
  return {
    access: accessOf(model, chosen?.auth_scheme),
    apiBase: chosen?.api_base ?? defaultBase,
    credential: chosen?.api_key || model.api_key || null,
    isDefault: chosen === undefined,
  };
}
