/**
 * Which upstreams a request may be sent to, and in which order (docs/rules/upstream-calls.md#endpoint-order). It does
 * not decide how often: the retry plan does. Invariant: every endpoint is in the result at most once, and an order
 * without chance or sessions is the same for every request.
 */

import { accessOf, type UpstreamAccess } from "../../../shared/network/upstream-access.ts";
import type { ModelRecord, ResolvedEndpoint } from "../../../shared/records.ts";
import { fnv1a64 } from "../wire/bytes/fnv1a.ts";

/** One upstream of a model. */
export interface Target {
  /** Its name in this isolate's memory of failures; another address is another name. */
  readonly key: string;
  /** The endpoint's name; "" for an upstream that is not an endpoint. */
  readonly name: string;
  /** The operator's own default upstream, not an address that an admin registered. */
  readonly isDefault: boolean;
  readonly apiBase: string;
  readonly access: UpstreamAccess;
  /** As stored; null: the request is sent without a credential. */
  readonly credential: string | null;
}

/** The inputs of the order other than the model. */
export interface OrderOptions {
  /** "" if the request has none. */
  readonly sessionId: string;
  /** Uniform in [0, 1). */
  readonly fraction: () => number;
  /** The endpoint failed so often recently that every other one is tried before it. */
  readonly isDemoted: (key: string) => boolean;
  /** The upstream of models without any address. */
  readonly defaultBase: string;
  /** Every enabled upstream of the model, also the unhealthy ones. */
  readonly every?: boolean;
}

type OrderedModel = UpstreamAccess &
  Pick<ModelRecord, "api_base" | "api_key" | "endpoints" | "endpoint_selection_mode">;

/** The upstreams of a model in the order in which they are tried; at least one. */
export function orderTargets(model: OrderedModel, options: OrderOptions): readonly Target[] {
  const enabled = model.endpoints.filter((endpoint) => endpoint.enabled);
  const isOwn = model.api_base !== "";
  const own = ownTarget(model, isOwn ? model.api_base : options.defaultBase, !isOwn);
  if (options.every === true) return [...targetsOf(model, enabled, options), own];
  const healthy = enabled.filter((endpoint) => endpoint.health_status !== "unhealthy");
  if (healthy.length > 0) return targetsOf(model, healthy, options);
  return isOwn || enabled.length === 0 ? [own] : targetsOf(model, enabled, options);
}

function targetsOf(
  model: OrderedModel,
  endpoints: readonly ResolvedEndpoint[],
  options: OrderOptions,
): readonly Target[] {
  const targets = inMode(model, endpoints, options).map((endpoint) => ({
    key: `${endpoint.id} ${endpoint.api_base}`,
    name: endpoint.name,
    isDefault: false,
    apiBase: endpoint.api_base,
    access: accessOf(model, endpoint.auth_scheme),
    credential: present(endpoint.api_key) ?? present(model.api_key),
  }));
  const last = targets.filter((target) => options.isDemoted(target.key));
  return last.length === 0 ? targets : [...targets.filter((target) => !last.includes(target)), ...last];
}

function inMode(
  model: OrderedModel,
  endpoints: readonly ResolvedEndpoint[],
  options: OrderOptions,
): readonly ResolvedEndpoint[] {
  switch (model.endpoint_selection_mode) {
    case "failover":
      return endpoints.toSorted((a, b) => a.priority - b.priority || compareText(a.name, b.name));
    case "load_balance":
      return byChance(endpoints, options.fraction);
    case "session_hash":
      return options.sessionId === "" ? byChance(endpoints, options.fraction) : bySession(endpoints, options.sessionId);
    default:
      return model.endpoint_selection_mode satisfies never;
  }
}

/** Weighted random order: descending u^(1/weight), compared as ln(u)/weight, which large weights do not round together. */
function byChance(endpoints: readonly ResolvedEndpoint[], fraction: () => number): readonly ResolvedEndpoint[] {
  return endpoints
    .map((endpoint) => ({ endpoint, key: Math.log(fraction()) / endpoint.weight }))
    .toSorted((a, b) => (a.key === b.key ? 0 : b.key - a.key))
    .map((entry) => entry.endpoint);
}

/**
 * Rendezvous hashing: each session ranks the endpoints by its own hash, so that an endpoint that leaves moves only its own
 * sessions.
 */
function bySession(endpoints: readonly ResolvedEndpoint[], sessionId: string): readonly ResolvedEndpoint[] {
  const encoder = new TextEncoder();
  const session = encoder.encode(`${sessionId}\u0000`);
  return endpoints
    .map((endpoint) => ({ endpoint, rank: fnv1a64([session, encoder.encode(endpoint.id)]) }))
    .toSorted((a, b) => compareText(b.rank, a.rank))
    .map((entry) => entry.endpoint);
}

function ownTarget(model: OrderedModel, apiBase: string, isDefault: boolean): Target {
  const credential = present(model.api_key);
  return { key: apiBase, name: "", isDefault, apiBase, access: accessOf(model), credential };
}

function present(secret: string | null): string | null {
  return secret === "" ? null : secret;
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
